"""Indexes, read and walked through as Index.md says; see store.py."""
import struct
from collections import Counter

from base import MASK, VERSION, Cursor, Damage, u
from journal import DECODERS
from rows import declared_index
from xxhash import xxh3_64_intdigest

# Of the samples that are indexes alone.
STORE = struct.pack("<QQ", 0x0011223344556677, 0x8899AABBCCDDEEFF)
SALTS = (0x47B6137B, 0x44974D91, 0x8824AD5B, 0xA2B7289D, 0x705495C7, 0x2DF1424B, 0x9EFC4947,
         0x5C6BFB31)
FOOTER = ("number", "least", "greatest", "entries", "removed", "drops", "filter", "cells",
          "directory")


def order(entry):
    """Of a key the newest first."""
    return entry["key"], -entry["stamp"]


def description(data):
    """The runs, each a list of tables."""
    c = Cursor(data)

    def need(holds):
        if not holds:
            raise Damage("index.description", "description", c.place)

    need(c.varint() == 1)

    def bound():
        return dict(key=c.take(c.varint()), stamp=c.varint())

    def table():
        t = dict(zip(("number", "length", "footer"), (c.varint() for _ in range(3))))
        t["first"], t["last"] = bound(), bound()
        t.update(zip(FOOTER[1:], [c.varint() for _ in FOOTER[1:]]))
        t["greatest"] += t["least"]
        t["keyspaces"] = [tuple(c.varint() for _ in range(3)) for _ in range(c.varint())]
        need(32 < t["filter"] < t["directory"] < t["footer"] < t["length"] < 1 << 24)
        need(41 <= t["footer"] - t["directory"] <= 1 << 16)
        need(order(t["first"]) <= order(t["last"]))
        return t

    try:
        following = c.varint()
        runs = [[table() for _ in range(c.varint())] for _ in range(c.varint())]
    except Damage:
        need(False)
    numbers = [t["number"] for run in runs for t in run]
    need(following <= 1 << 40 and len(set(numbers)) == len(numbers))
    need(max(numbers, default=-1) < following)
    for run in runs:
        need(all(order(a["last"]) < order(b["first"]) for a, b in zip(run, run[1:])))
    need(not c.left())
    return runs


def window(c):
    """What is kept of something: policy and amount, from where on, and what that depends on."""
    policy = c.number(1)
    amount = c.varint() if policy in (1, 2) else 0
    begin, latest, parts = c.varint(52), c.number(8), []
    for _ in range(c.varint()):
        parts.append((struct.unpack("<q", c.take(8))[0], c.varint(52)))
    numbers = [number for number, _ in parts]
    if policy > 3 or amount > 1 << 60 or numbers != sorted(set(numbers)):
        raise Damage("state")
    return policy, amount, begin, latest, parts


def state(journal):
    """Of a checkpoint that is of use the runs of its index and the declared indexes, or None."""
    checkpoint = journal.manifest.checkpoint
    if not checkpoint or journal.checkpoint_fault():
        return None
    c = Cursor(checkpoint["state"])

    def need(holds):
        if not holds:
            raise Damage("state")

    try:
        need(c.varint() == 1)
        need(max(c.varint(32), c.varint(32)) < 1 << 31 and c.varint() <= 1 << 52)
        window(c)
        marks = [c.varint() for _ in range(c.varint())]
        need(sum(marks) < 1 << 52 and all(marks[1:]))
        window(c)
        count = c.varint()
        need(count <= min(65536, c.left() // 7))
        indexes = [(declared_index(c), c.varint()) for _ in range(count)]
        need([index[0] for index, _ in indexes] == list(range(count)))
        names = DECODERS[36](Cursor(c.take(c.varint())))
        locations = c.locations(len(names["names"]))
        need(bool(names["names"]) == bool(locations) and not (locations and locations[0][0]))
        need(not locations or locations[-1][1] < checkpoint["offset"])
        runs = description(c.take(c.left()))
        named = {"index-%016x" % t["number"] for run in runs for t in run}
        need(named == set(checkpoint["files"]))
    except (Damage, UnicodeDecodeError):
        return None
    return runs, indexes


def in_use(journal):
    """The files of a checkpoint that is of use."""
    return set(journal.manifest.checkpoint["files"]) if state(journal) else set()


def declared(journal, rows, *others):
    """Compares what a checkpoint and its tables say of declared indexes, and of what shares.py,
    subscriptions.py, devices.py and longlived.py hold, with what the journal did."""
    found = state(journal)
    if not found:
        return
    runs, indexes = found
    if indexes != rows.indexes:
        print("  indexes of the checkpoint differ")
    tables = [Table(journal.files, t, journal.manifest.store) for run in runs for t in run]
    entries = sorted((x for t in tables for x in t.entries), key=order)
    here = present(entries, MASK)
    last = [x["stamp"] for key, x in here.items() if key == bytes(4) + b"\x1e"]
    if last != ([rows.last] if rows.indexes else []):
        print("  keyspace indexes differs")
    complete = {index[0] for index, start in indexes if start}
    said = {(u4(key), u4(key[5:]), key[9:-16], int.from_bytes(key[-16:], "big"))
            for key in here if key[4:5] == b"\7" and u4(key[5:]) in complete}
    due = {(zone, *row) for zone, some in rows.rows.items() for row in some if row[0] in complete}
    if said != due:
        print("  keyspace declared differs")
    for other in others:
        other.compare(here)


def u4(key):
    return int.from_bytes(key[:4], "big")


def present(entries, point):
    """What is there at a point, by keys, of entries that are in order."""
    newest, drops = {}, {}
    for x in entries:
        if x["stamp"] <= point:
            (drops if len(x["key"]) == 4 else newest).setdefault(x["key"], x)
    return {key: x for key, x in newest.items() if not x["removed"]
            and not (key[:4] in drops and drops[key[:4]]["stamp"] > x["stamp"])}


class Table:
    def __init__(self, files, t, store=STORE):
        self.t, self.file, self.store = t, "index-%016x" % t["number"], store
        self.need(self.file in files, "file.missing", 0)
        self.data = d = files[self.file]
        self.need(len(d) == t["length"], "file.length", len(d))
        self.need(d[:8] == bytes.fromhex("895354490d0a1a0a"), "magic", 0)
        check = xxh3_64_intdigest(d[:24], seed=t["number"])
        self.need(check == u(d, 24, 8), "checksum", 0)
        self.need(u(d, 10, 2) <= VERSION, f"format.newer {u(d, 10, 2)}", 10)
        self.need(u(d, 12, 4) == 0, "reserved", 12)
        self.need(u(d, 16, 8) == t["number"], "number", 16)
        self.footer()
        self.walk()

    def need(self, holds, kind, byte):
        if not holds:
            raise Damage(kind if "." in kind else "index." + kind, self.file, byte)

    def sealed(self, place, end):
        seed = (self.t["number"] + (place << 40)) & MASK
        check = xxh3_64_intdigest(self.data[place:end - 8], seed=seed)
        self.need(end - place >= 8 and check == u(self.data, end - 8, 8), "checksum", place)
        return self.data[place:end - 8]

    def footer(self):
        place, t = self.t["footer"], self.t
        d = self.sealed(place, t["length"])
        self.need(len(d) >= 76, "footer", place)
        count = u(d, 64, 4)
        self.need(1 <= count <= 256 and len(d) == 76 + 12 * count, "footer", place)
        said = dict(zip(FOOTER, struct.unpack_from("<3Q6I", d, 16)))
        spaces = list(struct.iter_unpack("<3I", d[68:68 + 12 * count]))
        numbers = [space for space, _, _ in spaces]
        self.need(
            all(said[name] == t[name] for name in FOOTER) and spaces == t["keyspaces"]
            and numbers == sorted(set(numbers)) and numbers[-1] < 256
            and all(entries for _, entries, _ in spaces) and said["greatest"] < 1 << 52
            and said["entries"] and said["cells"] and u(d, 68 + 12 * count, 8) == place,
            "footer", place)
        self.need(d[:16] == self.store, "store", place)

    def walk(self):
        t = self.t
        place, e, blocks, above = 32, [], [], self.block(t["directory"], t["footer"])
        self.entries = e
        for x in above:
            self.need(32 <= x["first"] and 41 <= x["second"] <= 4096
                      and x["first"] + x["second"] <= t["filter"], "place", t["directory"])
        for x in above:
            self.need(x["first"] == place, "place", t["directory"])
            block = self.block(place, place + x["second"])
            for entry in block:
                self.need(not e or order(e[-1]) < order(entry), "order", place)
                e.append(entry)
            blocks.append((place, x["second"], block))
            place += x["second"]
        self.need(place == t["filter"], "place", t["directory"])
        cells = b"".join(self.sealed(at, min(at + 4072, t["directory"]))
                         for at in range(t["filter"], t["directory"], 4072))
        # Nothing but the greatest blocks that the entries fill, in their one encoding.
        start = 0
        for place, size, block in blocks:
            end = start + len(block)
            self.need(self.data[place:place + size - 8] == encoded(e[start:end]), "entry", place)
            self.need(end == len(e) or len(encoded(e[start:end + 1])) + 8 > 4096, "entry", place)
            start = end
        self.need(len(blocks) <= 1024, "entry", 32)
        keys = {x["key"] for x in e}
        grouped = {k[:21] for k in keys if len(k) > 21 and k[4] in (4, 5)}
        grouped |= {k[:25] for k in keys if len(k) == 41 and k[4] == 7}
        self.filter(cells, keys | grouped)
        firsts = [dict(block[0], first=place, second=size, removed=0, fresh=0, lapsing=0)
                  for place, size, block in blocks]
        self.need(self.data[t["directory"]:t["footer"] - 8] == encoded(firsts), "place",
                  t["directory"])
        ends = [order(x) for x in (e[0], e[-1])]
        self.need(ends == [order(t["first"]), order(t["last"])], "order", 32)
        self.count(e, blocks)

    def filter(self, cells, keys):
        t = self.t
        self.need(t["cells"] == len(keys) // 25 + 1, "filter", t["filter"])
        words = [0] * (8 * t["cells"])
        for key in keys:
            h = xxh3_64_intdigest(key.ljust(47, b"\0") + bytes([len(key)]))
            for i, salt in enumerate(SALTS):
                bit = (h * salt & 0xFFFFFFFF) >> 27
                words[8 * ((h >> 32) * t["cells"] >> 32) + i] |= 1 << bit
        self.need(cells == struct.pack(f"<{len(words)}I", *words), "filter", t["filter"])

    def count(self, e, blocks):
        t, spaces = self.t, {}
        for _, size, block in blocks:
            numbers = Counter(x["key"][4] if len(x["key"]) > 4 else 0 for x in block)
            for number, count in numbers.items():
                entries, taken = spaces.get(number, (0, 0))
                spaces[number] = entries + count, taken + size * count // len(block)
        stamps = [x["stamp"] for x in e]
        self.need((len(e), sum(x["removed"] for x in e), sum(len(x["key"]) == 4 for x in e),
                   min(stamps), max(stamps), [(n, *spaces[n]) for n in sorted(spaces)])
                  == (t["entries"], t["removed"], t["drops"], t["least"], t["greatest"],
                      t["keyspaces"]), "count", t["footer"])

    def block(self, start, end):
        d = self.sealed(start, end)
        self.need(len(d) > 32, "columns", start)
        (base, bases, count, prefix, length, width, stamps, words, form) = (
            u(d, 0, 8), (u(d, 8, 8), u(d, 16, 8)), u(d, 24, 2), *d[26:32])
        self.need(form < 64, "format.newer form", start)
        widths = (words & 15, words >> 4)
        own = (count > 0 and 0 < prefix + width <= 47 and length in (0, prefix + width)
               and stamps <= 7 and max(widths) <= 8 and base < 1 << 52
               and not (form & 4 and form >> 3))
        columns = [width, 0 if length else 1, stamps, *widths, form >> 2 & 1]
        self.need(own and len(d) == 32 + prefix + count * sum(columns), "columns", start)
        places = [32 + prefix + count * sum(columns[:i]) for i in range(6)]
        entries = []
        for number in range(count):
            at = [place + number * size for place, size in zip(places, columns)]
            values = [u(d, a, size) if size else 0 for a, size in zip(at, columns)][2:]
            size = length or d[at[1]]
            self.need(size and prefix <= size <= prefix + width, "entry", start + at[1])
            stamp = base + values[0]
            self.need(stamp < 1 << 52, "entry", start + at[2])
            flags = values[3] if form & 4 else form >> 3
            self.need(flags < 8, "format.newer flags", start + at[5])
            first, second = ((values[1 + i] + bases[i] + (stamp if form >> i & 1 else 0)) & MASK
                             for i in range(2))
            entries.append(dict(
                key=d[32:32 + prefix] + d[at[0]:at[0] + size - prefix], stamp=stamp, first=first,
                second=second, removed=flags & 1, fresh=flags >> 1 & 1,
                lapsing=flags >> 2))
        return entries


def encoded(entries):
    """The one encoding of a block of entries, without its checksum."""
    def column(values):
        """Base, width and what is stored."""
        least = min(values)
        size = (max(values) - least).bit_length() + 7 >> 3
        return least, size, b"".join((v - least).to_bytes(size, "little") for v in values)

    def word(name):
        plain = column([e[name] for e in entries])
        relative = column([(e[name] - e["stamp"]) & MASK for e in entries])
        return (*relative, 1) if relative[1] < plain[1] else (*plain, 0)

    keys = [e["key"] for e in entries]
    prefix, longest = keys[0], max(map(len, keys))
    while not keys[-1].startswith(prefix):
        prefix = prefix[:-1]
    same = {len(key) for key in keys} == {longest}
    stamps, first, second = column([e["stamp"] for e in entries]), word("first"), word("second")
    flags = [e["removed"] | e["fresh"] << 1 | e["lapsing"] << 2 for e in entries]
    alike = len(set(flags)) == 1
    width = longest - len(prefix)
    form = first[3] | second[3] << 1 | (flags[0] << 3 if alike else 4)
    head = struct.pack(
        "<3QH6B", stamps[0], first[0], second[0], len(keys), len(prefix), longest if same else 0,
        width, stamps[1], first[1] | second[1] << 4, form)
    return (head + prefix + b"".join(key[len(prefix):].ljust(width, b"\0") for key in keys)
            + (b"" if same else bytes(map(len, keys))) + stamps[2] + first[2] + second[2]
            + (b"" if alike else bytes(flags)))


def index(files):
    try:
        runs = description(files["description"])
        tables = [[Table(files, t) for t in run] for run in runs]
    except Damage as damage:
        return [damage.line()]
    lines, spaces = [], {}
    for run in runs:
        lines.append(f"run tables {len(run)} entries {sum(t['entries'] for t in run)}")
        for space, *sums in (k for t in run for k in t["keyspaces"]):
            spaces[space] = [a + b for a, b in zip(spaces.get(space, (0, 0)), sums)]
    lines += [f"keyspace {k} entries {n} bytes {size}" for k, (n, size) in sorted(spaces.items())]
    entries = sorted((x for run in tables for t in run for x in t.entries), key=order)
    for name, point in (("700", 700), ("800", 800), ("900", 900), ("now", MASK)):
        lines.append(f"at {name}")
        for key, x in present(entries, point).items():
            lines.append(f"key {key.hex()} {x['stamp']} {x['first']} {x['second']}")
    return lines
