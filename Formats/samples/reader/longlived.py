"""Long-lived requests and what became of them, read as Record.md and Index.md say; see store.py."""
from rows import need
from shares import known, length, rest
from subscriptions import big, content, flag, kind_of
from xxhash import xxh3_128_intdigest

NAMES = {49: "requests", 50: "requestStates"}
# In microseconds.
WEEK, DAY = 604_800_000_000, 86_400_000_000
LONG = 4096


def caller(c):
    high, low = c.number(8), c.number(8)
    return (high << 64 | low).to_bytes(16, "big"), c.text(least=1)


def optional_text(c):
    return c.text(LONG) if flag(c) else None


def optional_bytes(c, most):
    size = c.varint()
    need(size <= most + 1)
    return c.take(size - 1) if size else None


def texts(c):
    count = c.varint()
    need(count <= c.left() + 1)
    return [c.text(LONG) for _ in range(count - 1)] if count else None


def many(c, one):
    count = c.varint()
    need(count <= c.left())
    return [one(c) for _ in range(count)]


def zone(c):
    return c.text(LONG), c.text(LONG)


def name(c):
    return zone(c), c.text(LONG)


def small(c, limit, word="flags"):
    value = c.number(1)
    known(value <= limit, word)
    return value


def page(c):
    need(c.varint() <= 10_000)


def field(c):
    key, flags = c.text(LONG), small(c, 7)
    if flags & 1:
        need(not flags & 4)
        return key
    kind = c.number(1)
    known(kind & 31 <= (6 if kind & 64 else 8) and not kind & 128 and kind not in (0, 64),
          "field kind")
    need(not kind & 64)
    size = c.varint()
    c.take(size)
    return key


def participant(c):
    c.take(16)
    known(1 <= c.number(1) <= 4, "role")
    known(1 <= c.number(1) <= 3, "permission")
    optional_text(c)
    small(c, 3, "lookup kind")
    c.text(LONG)


def share_edit(c):
    if small(c, 3, "share edit") in (1, 2):
        name(c)
    small(c, 3, "permission")
    count = c.varint()
    need(count <= c.left() + 1)
    for _ in range(1, count):
        participant(c)


def save(c):
    name(c)
    small(c, 2, "save policy")
    flags = small(c, 15)
    c.text(LONG)
    if flags & 4:
        c.varint()
    if small(c, 3, "parent") > 1:
        c.text(LONG)
        small(c, 2, "action")
    keys = [key.encode() for key in many(c, field)]
    need(keys == sorted(set(keys)))
    if flags & 8:
        share_edit(c)


def item(c):
    kind = c.number(1)
    need(1 <= kind <= 2)
    if kind == 1:
        return save(c)
    name(c)
    optional_text(c)
    optional_text(c)


def sort(c):
    c.text(LONG)
    if small(c, 3) & 2:
        c.take(64)


def changes(c):
    zone(c)
    small(c, 3)
    optional_bytes(c, 1024)
    optional_bytes(c, 1024)
    texts(c)
    texts(c)
    page(c)


def zone_item(c):
    known(1 <= c.number(1) <= 3, "zone item")
    zone(c)


def subscription_item(c):
    action = c.number(1)
    known(1 <= action <= 3, "subscription item")
    c.text(LONG)
    if action == 3:
        return
    kind = kind_of(c)
    if kind == 1:
        c.text(LONG)
        c.text(65_536)
        if flag(c):
            zone(c)
        c.number(1)
    else:
        if kind == 2:
            zone(c)
        optional_text(c)
    if flag(c):
        content(c)


def call(c, kind):
    if kind == 1:
        small(c, 2, "save policy")
        flag(c)
        optional_bytes(c, LONG)
        texts(c)
        many(c, item)
    elif kind == 2:
        many(c, name)
        zone(c)
    elif kind == 3:
        many(c, name)
        texts(c)
    elif kind == 4:
        c.text(LONG)
        c.text(65_536)
        many(c, sort)
        if flag(c):
            zone(c)
        texts(c)
        page(c)
        optional_bytes(c, 65_536)
    elif kind == 5:
        many(c, changes)
    elif kind == 7:
        many(c, zone_item)
    elif kind == 8:
        many(c, subscription_item)
    else:
        optional_bytes(c, 1024)
        page(c)


def request(c):
    r = dict(users=[0], names=[])
    r["caller"], r["id"] = caller(c)
    known(1 <= c.number(1) <= 3, "scope")
    small(c, 2, "priority")
    c.text()
    c.text()
    r["point"] = c.varint(52)
    kind = c.number(1)
    known(1 <= kind <= 8, "request")
    flag(c)
    need(c.signed() == 0 or kind in (4, 8))
    need(kind not in (1, 2, 7, 8) or not r["point"])
    call(c, kind)
    rest(c)
    return r


def request_state(c):
    s = dict(users=[0], names=[])
    s["caller"], s["id"] = caller(c)
    s["request"] = c.varint(52)
    need(s["request"])
    s["submitted"] = c.signed()
    s["state"], last = c.number(1), 0
    known(1 <= s["state"] <= 3, "state")
    if s["state"] == 1:
        count = c.varint()
        need(count <= c.left())
        for _ in range(count):
            start, length_ = c.varint(31), c.varint(31)
            need(start >= last if length_ else start == 0 and count == 1)
            last = start + length_
            c.varint(31)
            c.text(1024)
    rest(c)
    return s


DECODERS = {61: request, 62: request_state}


class Requests:
    def __init__(self, secret):
        self.secret = secret
        # By what stands in the keys behind the keyspace: the row, when the commit was, and from when
        # on its week is counted.
        self.rows = {space: {} for space in NAMES}

    def copy(self):
        other = Requests(self.secret)
        other.rows = {space: dict(rows) for space, rows in self.rows.items()}
        return other

    def apply(self, f, time):
        if f["kind"] not in DECODERS:
            return
        d = f["decoded"]
        key = d["caller"] + big(xxh3_128_intdigest(d["id"].encode(), seed=self.secret), 16)
        is_end = f["kind"] == 62 and d["state"] > 1
        now = max(time, d.get("submitted", time))
        row = (f["version"], length(f) << 1 | is_end, f["offset"]), time, now
        requests, states = self.rows[49], self.rows[50]
        if f["kind"] == 61:
            requests[key] = row
            states.pop(key, None)
        else:
            states[key] = row
            if is_end:
                requests.pop(key, None)
        for name, (_, committed, begin) in list(states.items()):
            if committed + DAY < now or begin + WEEK < now:
                requests.pop(name, None)
            if begin + WEEK < now:
                del states[name]
        for name, (_, _, begin) in list(requests.items()):
            if begin + WEEK < now:
                del requests[name]

    def compare(self, here):
        """Names the keyspaces of a checkpoint that say anything else; `here` are its rows by key.
        That of times has no more than these, and may have rows too many."""
        for space, name_ in NAMES.items():
            found = {key[5:]: (x["first"], x["second"], x["stamp"]) for key, x in here.items()
                     if key[:5] == bytes(4) + bytes([space])}
            if found != {key: row for key, (row, _, _) in self.rows[space].items()}:
                print(f"  keyspace {name_} differs")
