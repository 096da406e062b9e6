"""Devices and how far they were sent their pushes, read as Record.md and Index.md say; see store.py."""
from rows import need
from shares import known, length, rest
from subscriptions import big, user_number
from xxhash import xxh3_128_intdigest

NAMES = {47: "devices", 48: "pushPositions"}


def device(c):
    d = dict(users=[user_number(c)], names=[])
    state = c.number(1)
    known(state <= 1, "device state")
    d["registered"], d["name"], d["start"] = state == 1, c.text(least=1), 0
    if state:
        known(c.number(1) <= 1, "push environment")
        size = c.varint()
        need(1 <= size <= 4096)
        c.take(size)
        d["start"] = c.varint(52)
    rest(c)
    return d


def push_position(c):
    p = dict(users=[user_number(c)], names=[], name=c.text(least=1))
    size = c.varint()
    need(55 <= size <= 310)
    c.take(size)
    rest(c)
    return p


DECODERS = {59: device, 60: push_position}


class Devices:
    def __init__(self, secret):
        self.secret = secret
        # By what stands in the keys behind the keyspace: the two words and the stamp.
        self.rows = {space: {} for space in NAMES}

    def copy(self):
        other = Devices(self.secret)
        other.rows = {space: dict(rows) for space, rows in self.rows.items()}
        return other

    def apply(self, f):
        if f["kind"] not in DECODERS:
            return
        d = f["decoded"]
        key = big(d["users"][0]) + big(xxh3_128_intdigest(d["name"].encode(), seed=self.secret), 16)
        is_gone = f["kind"] == 59 and not d["registered"]
        row = f["version"], length(f) << 1 | is_gone, f["offset"]
        self.rows[47 if f["kind"] == 59 else 48][key] = row

    def compare(self, here):
        """Names the keyspaces of a checkpoint that say anything else; `here` are its rows by key."""
        for space, name in NAMES.items():
            found = {key[5:]: (x["first"], x["second"], x["stamp"]) for key, x in here.items()
                     if key[:5] == bytes(4) + bytes([space])}
            if found != self.rows[space]:
                print(f"  keyspace {name} differs")
