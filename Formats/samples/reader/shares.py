"""Shares, members, participants and what is said of users, read as Record.md says; see store.py."""
from base import Damage
from rows import need
from xxhash import xxh3_128_intdigest

# Keyspaces in the partition of a zone, in that of a share, and the store's own.
NAMES = {8: "members", 9: "shareRoots", 10: "shareRows", 11: "participants", 13: "zoneShares",
         14: "formerParticipants", 32: "shares", 33: "shareLinks", 34: "participations",
         35: "identities", 36: "addresses", 37: "roles", 52: "growingShares",
         53: "participationHorizons"}
OF_SHARES = (10, 11, 14)


def known(holds, word):
    """Anything else is of a newer format."""
    if not holds:
        raise Damage("format.newer " + word)


def rest(c):
    """Extensions, or nothing."""
    if c.left():
        c.extensions()
    need(not c.left())


def hash128(c):
    return c.number(8) << 64 | c.number(8)


def membership(c, former=False):
    """Share, since and place."""
    share, since = c.varint(32), c.varint()
    place = c.varint(32) if since else 0
    need(place <= 256)
    if former:
        need(since and (share or place))
    return share, since, place


def sharing(c, flags):
    """What a record says of shares."""
    r = dict(member=None, left=None, shareRecord=None)
    if flags & 1024:
        r["member"] = membership(c)
        need(r["member"][0] and (flags & 2 or not r["member"][1]))
    if flags & 2048:
        need(flags & 2)
        r["left"] = membership(c, former=True)
        if r["member"]:
            need(not r["member"][1] and r["member"][0] != r["left"][0])
    if flags & 4096:
        need(flags & 1024)
        r["shareRecord"] = c.text(least=1)
    return r


def share(c):
    s = dict(number=c.varint(32))
    need(0 < s["number"] < 1 << 31)
    s["began"], s["state"] = c.varint(), c.number(1)
    known(s["state"] in (1, 2, 3), "state")
    s["permission"] = c.number(1)
    known(1 <= s["permission"] <= 3, "permission")
    s["link"], s["record"], s["root"] = hash128(c), c.text(least=1), c.text()
    need(s["root"] or s["state"] != 3)
    rest(c)
    return s


def members(c):
    old, new, _, count = c.varint(32), c.varint(32), c.number(8), c.varint()
    need(old != new and 1 <= count <= 256)
    items = []
    for _ in range(count):
        item = dict(name=c.text(least=1), type=c.varint(32), version=c.varint())
        need(item["version"])
        item["length"] = c.varint(32)
        need(40 <= item["length"] <= 48 + (16 << 20) and item["length"] % 8 == 0)
        item["left"] = None
        if old:
            since, place = c.varint(), 0
            need(since)
            place = c.varint(32)
            need(place <= 256)
            item["left"] = (old, since, place)
        items.append(item)
    need(not c.left())
    return dict(old=old, new=new, items=items)


def participation_horizon(c):
    user, through = c.varint(32), c.number(8)
    need(user)
    need(not c.left())
    return user, through


def participant(c):
    p = dict(share=c.varint(32))
    need(p["share"])
    p["id"], p["user"], p["role"] = hash128(c), c.varint(32), c.number(1)
    known(1 <= p["role"] <= 4, "role")
    p["permission"] = c.number(1)
    known(1 <= p["permission"] <= 3, "permission")
    p["status"] = c.number(1)
    known(1 <= p["status"] <= 3, "status")
    need(p["status"] != 2 or p["user"])
    p["since"] = c.varint()
    need(p["status"] != 1 or not p["since"])
    need(abs(c.signed()) < 1 << 53)
    kind = c.number(1)
    known(kind <= 3, "lookup kind")
    need(bool(c.text(1024)) == bool(kind))
    rest(c)
    return p


def address_kind(c):
    kind = c.number(1)
    known(1 <= kind <= 2, "address kind")
    return bytes([kind])


def profile(c):
    """The identity of a user: by what its addresses are compared, and hashes of what no user has."""
    i = dict(user=c.varint(32))
    need(i["user"])
    i["status"] = c.number(1)
    known(i["status"] <= 4, "account status")
    known(c.number(1) < 2, "flags")
    c.text(), c.text()
    i["addresses"], count = [], c.varint()
    need(count <= 32)
    for _ in range(count):
        kind, text, compared = address_kind(c), c.text(least=1), c.text(1024)
        need(compared != text)
        address = kind + (compared or text).encode()
        need(address not in i["addresses"])
        i["addresses"].append(address)
    i["former"], count = [], c.varint()
    need(count <= 4096)
    for _ in range(count):
        i["former"].append(hash128(c))
        need(i["former"][-2:] == sorted(set(i["former"][-2:])))
    rest(c)
    return i


def role_name(text):
    return (1 <= len(text) <= 255 and text.isascii() and text.replace("_", "a").isalnum()
            and text[0].isalpha())


def roles(c):
    user, count = c.varint(32), c.varint()
    need(user and count <= 1000)
    found = [c.text() for _ in range(count)]
    need(found == sorted(set(found)) and all(map(role_name, found)))
    rest(c)
    return user, found


def length(f):
    """Of the frame that an entry has, or had before it was compacted."""
    return (40 + 8 * bool(f["last"]) + len(f["payload"]) + 7) // 8 * 8


def row(membership, version):
    """The place in the feed of its share that a record of that version has."""
    _, since, place = membership
    return (since, place - 1) if place and version < since else (version, 0)


class Shares:
    def __init__(self, secret, packed):
        # Where segments were compacted, not all entries are there, and stamps say less.
        self.secret, self.packed = secret, packed
        # By zone and name: membership and stamp. By share and place: the two words and the stamp.
        self.members, self.rows = {}, {}
        self.roots, self.participants, self.former = {}, {}, {}
        self.shares, self.links, self.participations = {}, {}, {}
        # Where zones were deleted; shares whose end is forgotten; participation horizons by user.
        self.dead, self.over, self.ends = {}, set(), {}
        self.identities, self.addresses, self.roles = {}, {}, {}
        # Of the partitions of shares; none of one that was dropped.
        # A horizon that comes with a drop is no row, and what is gone lapses with it all the same.
        self.horizons, self.forgotten, self.differs = {}, {}, set()

    def hash(self, name):
        data = name if isinstance(name, bytes) else name.encode()
        return xxh3_128_intdigest(data, seed=self.secret)

    def copy(self):
        other = Shares(self.secret, self.packed)
        for name, value in vars(self).items():
            if isinstance(value, dict):
                setattr(other, name, dict(value))
        other.over = set(self.over)
        return other

    def apply(self, f, entries):
        """Takes an entry; `entries` are those of its zone by name, before it."""
        kind, d = f["kind"], f["decoded"]
        if kind in (32, 33):
            self.replace(f, entries.get(d["name"]))
        elif kind == 34 and d["state"] != 1:
            self.dead[d["number"]] = f["offset"]
            for number in self.of_zone(d["number"]):
                self.drop(number)
            for some in (self.members, self.roots):
                for key in [key for key in some if key[0] == d["number"]]:
                    del some[key]
        elif kind == 44:
            for number in self.of_zone(f["zone"]):
                s = self.shares[number]
                self.horizons[number] = (f["offset"], d)
                self.forgotten[number] = d
                if s["state"] == 2 and s["stamp"] <= d:
                    self.drop(number)
                    self.over.add(number)
        elif kind == 49:
            self.begin(f, d)
        elif kind == 50:
            self.move(f, d, entries)
        elif kind == 51:
            self.join(f, d)
        elif kind == 52:
            self.identities[d["user"]] = (d["status"], length(f) << 1, f["offset"])
            now = [self.hash(address) for address in d["addresses"]]
            for address in d["former"]:
                if address not in now:
                    self.addresses.pop(address, None)
            self.addresses.update((address, (d["user"], 0, f["offset"])) for address in now)
        elif kind == 63:
            self.ends[d[0]] = (d[1], length(f) << 1, f["offset"])
            for key in [key for key in self.participations if key[0] == d[0]]:
                _, zone, share, _ = key
                mask = (1 << 52) - 1
                ends = [self.participations[key][0] & mask] if self.participations[key][0] else []
                s = self.shares[share]
                ends += [s["stamp"]] if s["state"] == 2 else []
                ends += [self.dead[zone]] if zone in self.dead else []
                if ends and min(ends) <= d[1]:
                    del self.participations[key]
        elif kind == 53:
            self.roles[d[0]] = (f["version"], length(f) << 1, f["offset"])

    def of_zone(self, zone):
        return [number for number, s in self.shares.items()
                if s["zone"] == zone and number not in self.over]

    def drop(self, number):
        """All that lies in the partition of a share."""
        self.horizons.pop(number, None)
        for some in (self.rows, self.participants, self.former):
            for key in [key for key in some if key[0] == number]:
                del some[key]

    def begin(self, f, d):
        offset, number = f["offset"], d["number"]
        first = d["began"] & (1 << 52) - 1 if d["began"] else offset
        self.shares[number] = dict(d, zone=f["zone"], first=first, stamp=offset)
        root = self.hash(d["root"]) if d["root"] else 0
        self.roots[f["zone"], root] = (number, d["state"], offset)
        self.roots[f["zone"], None] = (number, 0, offset)
        self.links[d["link"]] = (number, 0, offset)

    def join(self, f, d):
        key, here = (d["share"], d["id"]), (f["version"], length(f) << 1, f["offset"])
        if d["status"] == 3:
            self.participants.pop(key, None)
            self.former[key] = (here[0], here[1] | 1, here[2])
        else:
            self.participants[key] = here
        since = f["version"] if d["status"] == 2 and not d["since"] else d["since"]
        if d["user"] and since:
            end = f["version"] if d["status"] == 3 else 0
            self.participations[d["user"], f["zone"], d["share"], since] = (
                end, d["role"] << 8 | d["permission"], f["offset"])

    def leave(self, membership, version):
        """Takes away the row that a record of that version has."""
        if membership:
            self.rows.pop((membership[0], *row(membership, version)), None)

    def replace(self, f, held):
        d, version, offset = f["decoded"], f["version"], f["offset"]
        key, own, left = (f["zone"], self.hash(d["name"])), d.get("member"), d.get("left")
        before, stamp = self.members.pop(key, (None, offset))
        stated = left or (own if own and own[1] else None)
        if not self.packed and before != stated:
            self.differs.add(offset)
        # What is held of the membership counts, whatever the entry says of it.
        self.leave(before, held["version"] if held else 0)
        self.leave(stated, d["previous"])
        if own:
            share, since, place = own
            self.members[key] = (share, since or version, place), stamp if since else offset
            self.rows[share, version, 0] = (since or version, length(f) << 2, offset)
        if left and left[0] and left[0] not in self.over:
            self.rows[left[0], version, 0] = (left[1], length(f) << 2 | 1, offset)

    def move(self, f, d, entries):
        version, offset = f["version"], f["offset"]
        for place, item in enumerate(d["items"]):
            left = item["left"]
            if left and d["old"] not in self.over:
                self.rows[d["old"], version, place] = (left[1], length(f) << 2 | 3, offset)
            held = entries.get(item["name"])
            key = f["zone"], self.hash(item["name"])
            before, _ = self.members.get(key, (None, 0))
            is_there = held is not None and held["version"] == item["version"]
            # A membership of share 0 is none.
            if not self.packed and (
                    not is_there or (before if before and before[0] else None) != left
                    or length(held) != item["length"]):
                self.differs.add(offset)
            if not is_there:
                continue
            self.leave(before, item["version"])
            self.leave(left, item["version"])
            self.members[key] = (d["new"], version, place + 1), offset
            if d["new"]:
                self.rows[d["new"], version, place] = (
                    item["version"], item["length"] << 2 | 2, offset)

    def table(self):
        """All rows: by key the two words and the stamp."""
        t = {}

        def put(partition, space, rest, value):
            t[partition.to_bytes(4, "big") + bytes([space]) + rest] = value

        def number(value, size=4):
            return value.to_bytes(size, "big")

        for (zone, name), ((share, since, place), stamp) in self.members.items():
            put(zone, 8, number(name, 16), (share | place << 32, since, stamp))
        for (zone, root), value in self.roots.items():
            put(zone, 9, b"" if root is None else number(root, 16), value)
        for (share, version, place), value in self.rows.items():
            put(share, 10, number(version, 8) + bytes([place]), value)
        for space, some in ((11, self.participants), (14, self.former)):
            for (share, name), value in some.items():
                put(share, space, number(name, 16), value)
        for share, s in self.shares.items():
            flags = s["permission"] | s["state"] << 8 | (not s["root"]) << 16
            put(0, 32, number(share), (s["zone"] | flags << 32, s["first"], s["stamp"]))
            if s["state"] == 3 and s["zone"] not in self.dead:
                put(0, 52, number(share), (s["zone"], 0, s["stamp"]))
            if (s["zone"], None) in self.roots and share not in self.over:
                put(s["zone"], 13, number(share), (s["state"], 0, s["stamp"]))
        for link, value in self.links.items():
            put(0, 33, number(link, 16), value)
        for (user, zone, share, since), value in self.participations.items():
            put(0, 34, number(user) + number(zone) + number(share) + number(since, 8), value)
        for space, some, size in ((35, self.identities, 4), (36, self.addresses, 16),
                                  (37, self.roles, 4), (53, self.ends, 4)):
            for key, value in some.items():
                put(0, space, number(key, size), value)
        for share, (stamp, through) in self.horizons.items():
            put(share, 0, b"", (through, 0, stamp))
        return t

    def compare(self, here):
        """Names the keyspaces of a checkpoint that say anything else; `here` are its rows by key."""
        due = self.table()
        found = {key: (x["first"], x["second"], x["stamp"]) for key, x in here.items()
                 if len(key) > 4 and self.is_own(key)}
        for space, name in [(0, "horizons"), *NAMES.items()]:
            left, right = ({key: self.loose(space, value) for key, value in some.items()
                            if key[4] == space and not self.has_lapsed(key, value)}
                           for some in (found, due))
            if left != right:
                print(f"  keyspace {name} differs")

    def is_own(self, key):
        partition = int.from_bytes(key[:4], "big")
        return key[4] in NAMES or key[4] == 0 and partition in self.horizons

    def has_lapsed(self, key, value):
        gone = key[4] == 10 and value[1] & 1
        return gone and value[2] <= self.forgotten.get(int.from_bytes(key[:4], "big"), 0)

    def loose(self, space, value):
        return value[:2] if self.packed and space == 8 else value

    def check(self, zones, entries):
        """A record is in its parent's share, and a root and a share record are in their own."""
        for zone in [n for n, z in zones.items() if z["state"] == 1]:
            alive = [s for s in self.shares.values() if s["zone"] == zone and s["state"] == 1]
            own = {s["root"]: s for s in alive if s["root"]}
            own.update((s["record"], s) for s in alive if s["root"])
            living = {n: f for n, f in entries.get(zone, {}).items() if f["kind"] == 32}
            numbers = {s["number"] for s in alive}
            growing = {s["number"]: s["root"] for s in self.shares.values()
                       if s["zone"] == zone and s["state"] == 3}
            for name, f in living.items():
                top, seen = name, set()
                while top in living and top not in own and top not in seen:
                    seen.add(top)
                    top = living[top]["decoded"]["parent"]
                due = own[top]["number"] if top in living and top in own else None
                (found, _, _), _ = self.members.get((zone, self.hash(name)), ((0, 0, 0), 0))
                if (found if found in numbers else None) != due:
                    print(f"  share of the record {name} differs")
                parent = f["decoded"]["parent"]
                if found in growing and name != growing[found] != parent:
                    (above, _, _), _ = self.members.get((zone, self.hash(parent)), ((0, 0, 0), 0))
                    if above != found:
                        print(f"  the record {name} is in a share ahead of its parent")
                root = own.get(name)
                said = root["record"] if root and root["root"] == name else None
                if f["decoded"]["shareRecord"] != said:
                    print(f"  share record of {name} differs")
        for offset in sorted(self.differs):
            print(f"  share of the entry at {offset} differs")
