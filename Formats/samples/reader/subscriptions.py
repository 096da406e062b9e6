"""Subscriptions and what they notify of, read as Record.md and Index.md say; see store.py."""
from base import MASK, Cursor
from rows import need
from shares import known, length, rest
from xxhash import xxh3_64_intdigest, xxh3_128_intdigest

NAMES = {38: "subscriptions", 39: "subscriptionAnchors", 40: "subscriptionNumbers",
         41: "subscriptionChanges", 42: "notifications", 43: "notificationTimes",
         44: "notificationCounts", 45: "badges", 46: "readMarks", 54: "notificationPolicy",
         55: "zoneNotifications"}
# Where segments were compacted rows of these may be there that had gone.
COME_BACK = (42, 43, 44, 46, 55)
# In microseconds; of a user.
LIFETIME, LIMIT = 2_592_000_000_000, 10_000
QUERY, MATCHES, READ_MARK, ZONES = 1, 1, 2, 3


def flag(c):
    value = c.number(1)
    need(value < 2)
    return value


def user_number(c):
    user = c.varint(32)
    need(user)
    return user


def time_of(c):
    time = c.signed()
    need(abs(time) < 1 << 60)
    return time


def place(c):
    """The number of a subscription, or another offset."""
    number = c.number(8)
    need(0 < number < 1 << 52)
    return number


def kind_of(c):
    kind = c.number(1)
    known(1 <= kind <= 3, "subscription kind")
    return kind


def anchors(c):
    found, count = [], c.varint()
    need(count <= 1024)
    for _ in range(count):
        field, kind = c.text(), c.number(1)
        known(kind <= 7, "anchor kind")
        parameter, in_zone = c.number(1), flag(c)
        found.append(((field, kind, parameter, in_zone), c.number(8), c.number(8)))
    return found


def texts(c, most):
    count = c.varint()
    need(count <= most)
    return [c.text() for _ in range(count)]


def content(c):
    """What rows of anchors say of it: 32 where it badges, 64 where it names fields."""
    there, fields = c.varint(), []
    known(there < 1 << 18, "flags")
    for bit in range(15):
        if there >> bit & 1 and bit < 11:
            c.text(4096)
        elif there >> bit & 1:
            fields += texts(c, 64 if bit < 14 else 3)
    return 32 * (there >> 15 & 1) + 64 * bool(fields)


def subscription(c):
    s = dict(flags=c.varint())
    known(s["flags"] < 32, "flags")
    s["user"], s["scope"] = user_number(c), c.number(1)
    known(1 <= s["scope"] <= 3, "scope")
    s["kind"] = kind_of(c)
    need(s["kind"] in {1: (1,), 2: (1, 2, 3), 3: (3,)}[s["scope"]])
    need(s["kind"] == QUERY or not s["flags"])
    s["id"], s["type"] = c.text(least=1), c.text(least=s["kind"] == QUERY)
    s["zone"] = c.text(least=s["kind"] == 2, limit=0 if s["kind"] == 3 else 255)
    c.text(65536 if s["kind"] == QUERY else 0)
    s["info"] = content(c) if flag(c) else 0
    s["number"], s["former"] = c.varint(52), ("", [])
    if s["number"]:
        s["former"] = c.text(), anchors(c)
        need(c.varint(52) <= (s["number"] if s["kind"] != QUERY else 0))
    s["anchors"] = anchors(c)
    need(s["kind"] == QUERY or not s["anchors"])
    rest(c)
    return s


def removal(c):
    s = dict(user=user_number(c), scope=c.number(1))
    known(1 <= s["scope"] <= 3, "scope")
    s["id"], s["number"] = c.text(least=1), place(c)
    s["former"] = c.text(), anchors(c)
    rest(c)
    return s


def value(c):
    """The number of a field whose value notifications bring."""
    field, kind, data = c.varint(32), c.number(1), None
    known(kind < 9 or 32 <= kind < 41 or 65 <= kind < 71 or 96 <= kind < 103, "field kind")
    need(kind in (1, 2, 3, 4, 6, 7))
    data = Cursor(c.take(c.varint()))
    need(data.left() <= 4096)
    if kind == 7:
        need(data.number(1) <= 2 and 1 <= data.left() <= 255)
    if kind in (1, 7):
        data.take(data.left()).decode()
    elif kind == 2:
        data.signed()
    else:
        data.take(64 if kind == 6 else 8)
    need(not data.left())
    return field


def matches(c):
    flags = c.varint()
    known(flags < 2, "flags")
    m = dict(time=time_of(c))
    if flags:
        c.number(8)
    m["changers"], m["types"], m["fields"], m["counts"] = {user_number(c)}, set(), set(), {}
    count = c.varint()
    need(1 <= count <= 256)
    for _ in range(count):
        change(c, m)
    rest(c)
    return m


def change(c, m):
    """One of the changes of matches, added to what these say."""
    known(1 <= c.number(1) <= 3, "reason")
    c.text(least=1)
    m["types"].add(c.varint(32))
    m["changers"].add(user_number(c))
    fields, count = [], c.varint()
    need(count <= 4096)
    for _ in range(count):
        fields.append(value(c))
        need(fields[-2:] == sorted(set(fields[-2:])))
    m["fields"].update(fields)
    user, count = 0, c.varint()
    need(1 <= count <= 4096)
    for _ in range(count):
        user, matched = group(c, user)
        m["counts"][user] = m["counts"].get(user, 0) + matched


def group(c, before):
    """The user of a group, and how many subscriptions it has."""
    user = c.varint() + before
    need(before < user < 1 << 32)
    badge, number, badges, count = c.varint(), 0, 0, c.varint()
    need(badge <= 1 << 32 and 1 <= count <= 4096)
    for _ in range(count):
        step = c.varint()
        badges |= step & 1
        need(step >> 1)
        number += step >> 1
        need(number < 1 << 52)
    need(bool(badge) == bool(badges))
    return user, count


def read_mark(c):
    m = dict(user=user_number(c), time=time_of(c))
    kind_of(c)
    m["number"], m["offset"], m["zone"] = place(c), place(c), c.number(4)
    rest(c)
    return m


def zone_notifications(c):
    n = dict(user=user_number(c), time=time_of(c), number=place(c), count=c.varint())
    need(1 <= n["count"] <= 4096)
    n["last"] = 0
    for _ in range(n["count"]):
        n["last"] += c.varint()
        need(0 < n["last"] < 1 << 52)
        need(c.varint(32))
    rest(c)
    return n


def badge(c):
    b = dict(user=user_number(c), value=c.varint(32))
    rest(c)
    return b


def policy(c):
    p = dict(lifetime=c.varint(), count=c.varint())
    need(0 < p["lifetime"] <= 1 << 60 and 0 < p["count"] <= 1 << 20)
    need(not c.left())
    return p


def using(decode):
    """With the numbers of users and names that an entry uses."""
    def read(c):
        d = decode(c)
        own = [d["user"]] if "user" in d else [*d["changers"], *d["counts"]]
        names = [*d["types"], *d["fields"]] if "types" in d else []
        return dict(d, users=own, names=names)
    return read


DECODERS = {54: using(subscription), 55: using(removal), 56: using(matches),
            57: using(read_mark), 58: using(badge), 64: policy,
            65: using(zone_notifications)}


def big(number, size=4):
    return (number & (1 << 8 * size) - 1).to_bytes(size, "big")


def location(f):
    return f["version"], length(f) << 1, f["offset"]


class Subscriptions:
    def __init__(self, secret, packed):
        # Whether segments were compacted.
        self.secret, self.packed = secret, packed
        # Rows by what stands in their keys: the two words and the stamp.
        self.subscriptions, self.anchors, self.numbers, self.changes = {}, {}, {}, {}
        self.badges, self.read, self.counts = {}, {}, {}
        # By user and offset: kind, zone, time, what a read mark has as its key in 46, and how many
        # notifications there are.
        self.notifications = {}
        # The databases of zones that are gone.
        self.gone = {}
        # How long and how many are kept, by the last policy and by the least: where the row is.
        self.policies = {}

    def copy(self):
        other = Subscriptions(self.secret, self.packed)
        for name, some in vars(self).items():
            if isinstance(some, dict):
                setattr(other, name, dict(some))
        return other

    def apply(self, f, time):
        """Takes an entry whose commit has that time; None: it is not known."""
        kind, d, offset = f["kind"], f["decoded"], f["offset"]
        if kind == 34 and d["state"] == 3:
            if time is not None:
                self.forget(time, offset)
            self.take([key for key, (kind, zone, *_) in self.notifications.items()
                       if kind == MATCHES and key[0] == d["database"]
                       and (zone == d["number"] or self.gone.get(zone) == d["database"])],
                      offset)
            self.gone[d["number"]] = d["database"]
        elif kind == 34 and d["state"] == 2:
            self.gone[d["number"]] = d["database"]
        elif kind in (54, 55):
            self.replace(f, d)
        elif kind == 56:
            self.forget(d["time"], offset)
            for user, count in d["counts"].items():
                self.add(user, (MATCHES, f["zone"], d["time"], None, count), offset)
        elif kind == 57:
            self.forget(d["time"], offset)
            key = d["user"], d["offset"], d["number"], d["zone"]
            if key in self.read:
                self.take([(d["user"], self.read[key][2])], offset)
            self.read[key] = location(f)
            self.add(d["user"], (READ_MARK, 0, d["time"], key, 1), offset)
        elif kind == 65:
            self.forget(d["time"], offset)
            self.add(d["user"], (ZONES, 0, d["time"], None, 1), offset)
        elif kind == 58:
            self.badges[d["user"]] = d["value"], length(f) << 1, offset
        elif kind == 64:
            said = d["lifetime"], d["count"]
            least = map(min, said, self.policies.get(1, (LIFETIME, LIMIT)))
            self.policies = {0: (*said, offset), 1: (*least, offset)}

    def kept(self):
        return self.policies.get(0, (LIFETIME, LIMIT))

    def replace(self, f, d):
        database = d["user"] if d["scope"] == 2 else 0
        own = d["user"], d["scope"], xxh3_128_intdigest(d["id"].encode(), seed=self.secret)
        # In the shared scope there are no queries.
        former, waited = d["former"] if d["scope"] < 3 else ("", [])
        if former:
            for key in self.keys(database, former, waited, d["number"]):
                self.anchors.pop(key, None)
            self.numbers.pop((database, d["number"]), None)
            self.change(database, former, f["offset"])
        if f["kind"] == 55:
            self.subscriptions.pop(own, None)
            return
        self.subscriptions[own] = location(f)
        if d["kind"] != QUERY:
            return
        flags = d["flags"] | d["info"]
        for key in self.keys(database, d["type"], d["anchors"], f["offset"]):
            self.anchors[key] = d["user"] | flags << 32, length(f) << 1, f["offset"]
        self.numbers[database, f["offset"]] = location(f)
        self.change(database, d["type"], f["offset"])

    def keys(self, database, kind, anchors, number):
        for (field, *rest), slot, order in anchors:
            shape = b"".join(len_text(t) for t in (kind, field)) + bytes(rest)
            yield database, xxh3_64_intdigest(shape, seed=self.secret), slot, order, number

    def change(self, database, kind, offset):
        self.changes[database, None] = 0, 0, offset
        self.changes[database, xxh3_64_intdigest(kind.encode(), seed=self.secret)] = 0, 0, offset

    def add(self, user, notification, offset):
        self.notifications[user, offset] = notification
        self.count(user, notification[4], offset)
        surplus = self.counts[user][0] - self.kept()[1]
        for key in sorted(key for key in self.notifications if key[0] == user):
            surplus -= self.notifications[key][4]
            if surplus < 0:
                break
            self.take([key], offset, expired=True)

    def count(self, user, change, offset, gone=0):
        number, floor, _ = self.counts.get(user, (0, 0, 0))
        self.counts[user] = number + change, max(floor, gone), offset
        if not any(self.counts[user][:2]):
            del self.counts[user]

    def forget(self, time, offset):
        """Takes what is too old at that time."""
        self.take([key for key, (_, _, then, *_) in self.notifications.items()
                   if then < time - self.kept()[0]], offset, expired=True)

    def take(self, keys, offset, expired=False):
        """Takes notifications; with `expired` for their age or their number."""
        for user, at in keys:
            kind, _, _, key, count = self.notifications.pop((user, at))
            self.count(user, -count, offset, at if expired else 0)
            if kind == READ_MARK and self.read.get(key, (0, 0, 0))[2] == at:
                del self.read[key]

    def table(self):
        """All rows: by key the two words and the stamp."""
        t = {}

        def put(space, value, *parts, partition=0):
            t[big(partition) + bytes([space]) + b"".join(parts)] = value

        for (user, scope, name), row in self.subscriptions.items():
            put(38, row, big(user), bytes([scope]), big(name, 16))
        for (database, *rest), row in self.anchors.items():
            put(39, row, big(database), *(big(part, 8) for part in rest))
        for (database, number), row in self.numbers.items():
            put(40, row, big(database), big(number, 8))
        for (database, kind), row in self.changes.items():
            put(41, row, big(database), b"" if kind is None else big(kind, 8))
        for (user, at), (kind, zone, time, key, count) in self.notifications.items():
            here = count << 40 | kind << 32 | zone
            put(42, (here, time & MASK, at), big(user), big(at, 8))
            put(43, (here, key[1] if key else 0, at), big(time + (1 << 63), 8), big(at, 8),
                big(user))
            if kind == ZONES:
                put(55, (time & MASK, 0, at), big(user), big(at, 8))
        for space, some in ((44, self.counts), (45, self.badges)):
            for user, row in some.items():
                put(space, row, big(user))
        for number, row in self.policies.items():
            put(54, row, bytes([number]))
        for (user, at, number, zone), row in self.read.items():
            put(46, row, big(user), big(at, 8), big(number, 8), big(zone))
        return t

    def compare(self, here):
        """Names the keyspaces of a checkpoint that say anything else; `here` are its rows by key."""
        due = self.table()
        found = {key: (x["first"], x["second"], x["stamp"]) for key, x in here.items()
                 if key[4:5] and key[4] in NAMES}
        for space, name in NAMES.items():
            left, right = ({key: value for key, value in some.items() if key[4] == space}
                           for some in (found, due))
            if self.packed and space in COME_BACK:
                # What came back is no difference, nor that nothing says what went.
                same = all(key in right or space == 44 and not left[key][0] for key in left)
            else:
                same = left == right
            if not same:
                print(f"  keyspace {name} differs")


def len_text(text):
    """As a text stands in an entry; of fewer than 128 * 128 bytes."""
    data = text.encode()
    size = len(data)
    return (bytes([size]) if size < 128 else bytes([size & 127 | 128, size >> 7])) + data
