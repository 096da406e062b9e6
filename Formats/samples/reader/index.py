"""Indexes, read and walked through as Index.md says; see store.py."""
import struct

from journal import DECODERS, MASK, VERSION, Cursor, Damage, u
from xxhash import xxh3_64_intdigest

# Of the samples that are indexes alone.
STORE = struct.pack("<QQ", 0x0011223344556677, 0x8899AABBCCDDEEFF)
SALTS = (0x47B6137B, 0x44974D91, 0x8824AD5B, 0xA2B7289D, 0x705495C7, 0x2DF1424B, 0x9EFC4947,
         0x5C6BFB31)
FOOTER = ("number", "least", "greatest", "entries", "removed", "drops", "filter", "cells", "index",
          "top")


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
        need(32 < t["filter"] < t["index"] < t["top"] < t["footer"] < t["length"] < 1 << 24)
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


def in_use(journal):
    """The files of a checkpoint that is of use."""
    checkpoint = journal.manifest.checkpoint
    if not checkpoint or journal.checkpoint_fault():
        return set()
    c = Cursor(checkpoint["state"])
    try:
        if c.varint() != 1:
            return set()
        c.varint(), c.varint(), DECODERS[36](Cursor(c.take(c.varint())))
        runs = description(c.take(c.left()))
    except (Damage, UnicodeDecodeError):
        return set()
    named = {"index-%016x" % t["number"] for run in runs for t in run}
    return named if named == set(checkpoint["files"]) else set()


class Table:
    def __init__(self, files, t):
        self.t, self.file = t, "index-%016x" % t["number"]
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
        self.need(len(d) >= 80, "footer", place)
        count = u(d, 68, 4)
        self.need(1 <= count <= 256 and len(d) == 80 + 12 * count, "footer", place)
        said = dict(zip(FOOTER, struct.unpack_from("<3Q7I", d, 16)))
        spaces = list(struct.iter_unpack("<3I", d[72:72 + 12 * count]))
        numbers = [space for space, _, _ in spaces]
        self.need(
            all(said[name] == t[name] for name in FOOTER) and spaces == t["keyspaces"]
            and numbers == sorted(set(numbers)) and numbers[-1] < 256
            and all(entries for _, entries, _ in spaces) and said["greatest"] < 1 << 52
            and said["entries"] and said["cells"] and u(d, 72 + 12 * count, 8) == place,
            "footer", place)
        self.need(d[:16] == STORE, "store", place)

    def walk(self):
        t = self.t
        top = self.block(t["top"], t["footer"])
        self.entries = self.below(self.below(top, t["index"], t["top"]), 32, t["filter"])
        e, footer = self.entries, t["footer"]
        for a, b in zip(e, e[1:]):
            self.need(order(a) < order(b), "order", b["place"])
        ends = [order(x) for x in (e[0], e[-1])]
        self.need(ends == [order(t["first"]), order(t["last"])], "order", 32)
        hashes = {xxh3_64_intdigest(x["key"].ljust(47, b"\0") + bytes([len(x["key"])])) for x in e}
        cells = b"".join(self.sealed(at, min(at + 4072, t["index"]))
                         for at in range(t["filter"], t["index"], 4072))
        self.need(len(cells) == 32 * t["cells"], "filter", t["filter"])
        for h in hashes:
            cell = ((h >> 32) * t["cells"]) >> 32
            for i, salt in enumerate(SALTS):
                bit = (h * salt & 0xFFFFFFFF) >> 27
                self.need(u(cells, 32 * cell + 4 * i, 4) >> bit & 1, "filter", t["filter"])
        spaces = {}
        for x in e:
            space = x["key"][4] if len(x["key"]) > 4 else 0
            entries, size = spaces.get(space, (0, 0))
            spaces[space] = entries + 1, size + x["size"]
        counted = [(space, *spaces[space]) for space in sorted(spaces)]
        stamps = [x["stamp"] for x in e]
        self.need((len(e), sum(x["removed"] for x in e), sum(len(x["key"]) == 4 for x in e),
                   min(stamps), max(stamps), counted)
                  == (t["entries"], t["removed"], t["drops"], t["least"], t["greatest"],
                      t["keyspaces"]), "count", footer)

    def below(self, above, place, end):
        """The entries of the blocks that others name, which fill a part of the file."""
        found = []
        for x in above:
            self.need(x["first"] == place and place + x["second"] <= end, "place", x["block"])
            self.need(not x["removed"] and not x["fresh"], "entry", x["place"])
            block = self.block(place, place + x["second"])
            self.need(order(block[0]) == order(x), "place", place)
            found += block
            place += x["second"]
        self.need(place == end, "place", end)
        return found

    def block(self, start, end):
        d = self.sealed(start, end)
        self.need(8 < len(d) <= 65528, "restarts", start)
        count = u(d, len(d) - 2, 2)
        limit = len(d) - 2 - 2 * count
        self.need(count and limit > 8, "restarts", start)
        restarts = [u(d, limit + 2 * i, 2) for i in range(count)]
        c, entries, key, base = Cursor(d[:limit]), [], b"", u(d, 0, 8)
        c.place = 8
        while c.left():
            place, whole = c.place, len(entries) % 16 == 0
            try:
                head, shared = c.number(2), c.number(1)
                alike = head >> 13 & 1
                rest = len(key) - shared if alike else c.number(1)
                sizes = [head >> 2 & 7, head >> 5 & 15, head >> 9 & 15]
                good = (place < 4096 and head < 1 << 14 and max(sizes) < 10
                        and not (whole and (shared or alike)) and shared <= len(key)
                        and 1 <= shared + rest <= 47)
                self.need(good, "entry", start + place)
                # Sizes are the least, so a key that is as long as the one before says so.
                self.need(whole or alike == (shared + rest == len(key)), "entry", start + place)
                key = key[:shared] + c.take(rest)
                stamp = base + c.number(sizes[0])
                words = [stamp if size == 9 else c.number(size) for size in sizes[1:]]
            except Damage as damage:
                self.need(damage.file, "entry", start + place)
                raise
            least = [(stamp - base).bit_length() + 7 >> 3]
            least += [9 if w == stamp and w else w.bit_length() + 7 >> 3 for w in words]
            self.need(sizes == least and stamp < 1 << 52, "entry", start + place)
            entries.append(dict(
                key=key, stamp=stamp, first=words[0], second=words[1], removed=head & 1,
                fresh=head >> 1 & 1, place=start + place, block=start, size=c.place - place))
        self.need(restarts == [x["place"] - start for x in entries[::16]], "restarts", start)
        return entries


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
        newest, drops = {}, {}
        for x in entries:
            if x["stamp"] <= point:
                (drops if len(x["key"]) == 4 else newest).setdefault(x["key"], x)
        for key, x in newest.items():
            drop = drops.get(key[:4])
            if not x["removed"] and not (drop and drop["stamp"] > x["stamp"]):
                lines.append(f"key {key.hex()} {x['stamp']} {x['first']} {x['second']}")
    return lines
