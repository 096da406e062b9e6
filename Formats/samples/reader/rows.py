"""Declared indexes and their rows, read as Record.md and Index.md say; see store.py."""
import hashlib
import math
import struct

from base import Cursor, Damage
from xxhash import xxh3_64_intdigest, xxh3_128_intdigest

FORMS = [None, "hash", "number", "prefix", "word", "cell", "digest"]
STATES = [None, "building", "complete", "dropped"]
# By form: the kinds of fields that it fits, and how long its values are.
FITS = [(), (1, 5, 7, 33, 34, 35, 36, 39), (2, 3, 4), (1,), (1, 33), (6,)]
LENGTHS = [0, 8, 9, 22, 8, 8, 16]
# System fields that can be columns.
SYSTEM = {65536: "___createTime", 65537: "___createdBy", 65538: "___modTime", 65539: "___modifiedBy"}
# Beside the number of a column whose strings are bytes.
BINARY = 1 << 17
STOP_WORDS = set("""a an and are as at be but by for if in into is it no not of on or such that the
    their then there these they this to was will with""".split())


def need(condition):
    if not condition:
        raise Damage("payload.content")


def declared_index(c):
    """Number, state, type, columns, 2^17 more where their strings are bytes, and form."""
    number, state = c.varint(32), c.number(1)
    need(number < 65536)
    if not 1 <= state <= 3:
        raise Damage("format.newer state")
    kind, count = c.varint(32), c.varint(32)
    need(count < 8)
    columns = tuple(c.varint(32) for _ in range(count + 1))
    form = c.number(1)
    if not 1 <= form <= 6:
        raise Damage("format.newer form")
    fields = {column & ~BINARY for column in columns}
    need(kind < 65536 and max(fields) < 65540)
    need(len(fields) == len(columns) and (count == 0 or form not in (4, 5)))
    return number, state, kind, columns, form


def row_value(c):
    length = c.number(1)
    need(8 <= length <= 22)
    return c.take(length)


def index_rows(c):
    """Of each row the index, whether it is removed, and the value."""
    count = c.varint()
    need(0 < count <= c.left() // 10)
    rows = []
    for _ in range(count):
        change = c.varint()
        need(change < 1 << 17)
        rows.append((change >> 1, change & 1, row_value(c)))
    return rows


def built_rows(c):
    """The index, and of each record name hash, version and values."""
    index, count = c.varint(32), c.varint()
    need(index < 65536 and count <= c.left() // 18)
    records = []
    for _ in range(count):
        high, low, version, values = c.number(8), c.number(8), c.varint(), c.varint()
        need(version and values <= c.left() // 9)
        records.append((high << 64 | low, version, [row_value(c) for _ in range(values)]))
    return index, records


def bits(kind, data):
    """A number as a sort key has it; of NaN nothing."""
    if kind == 2:
        return (Cursor(data).signed() + (1 << 63)).to_bytes(8, "big")
    number = struct.unpack("<d", data)[0]
    if number != number:
        return None
    word = 0 if number == 0 else struct.unpack("<Q", data)[0]
    return (~word & (1 << 64) - 1 if word >> 63 else word | 1 << 63).to_bytes(8, "big")


def text(data, binary):
    return data if binary else data.decode().casefold().encode()


def element(form, kind, data, binary):
    """What an index has of a value that is no list."""
    if kind in (2, 3, 4):
        number = bits(kind, data)
        if form == 1:
            return number or bytes(8)
        return b"\1" + number if number else bytes(9)
    if kind == 1:
        data = text(data, binary)
    if form == 3:
        return (b"\1" + data.replace(b"\0", b"\0\xff"))[:22].ljust(22, b"\0")
    return xxh3_64_intdigest(data[1:] if kind == 7 else data).to_bytes(8, "big")


def words(data):
    """The words of a text: runs of letters and digits without diacritics, as the samples have them."""
    found = "".join(x if x.isalnum() else " " for x in data.decode().casefold()).split()
    return {xxh3_64_intdigest(word).to_bytes(8, "big") for word in set(found) - STOP_WORDS}


def cell(data):
    latitude, longitude = struct.unpack("<2d", data[:16])
    if not abs(latitude) <= 90 or not abs(longitude) < float("inf"):
        return set()
    if abs(longitude) > 1e7:
        return {b"\xff" * 8}
    part = (math.fmod(longitude, 360) + 180) / 360
    row, column = (min(int(x * 2 ** 32), 2 ** 32 - 1)
                   for x in ((latitude + 90) / 180, part - math.floor(part)))
    bits_ = sum((row >> i & 1) << 2 * i + 1 | (column >> i & 1) << 2 * i for i in range(32))
    return {bits_.to_bytes(8, "big")}


def system_fields(d):
    """The system fields of a record, likewise, by their columns."""
    def date(time):
        return 4, struct.pack("<d", time / 1000 - 978307200)

    def number(value):
        value, data = value << 1, b""
        while value > 127:
            data, value = data + bytes([value & 127 | 128]), value >> 7
        return 2, data + bytes([value])

    return {65536: date(d["created"]), 65537: number(d["creator"]),
            65538: date(d["modified"]), 65539: number(d["modifier"])}


def column(field, binary):
    """What stands for a field among others, which is None or a kind and its bytes."""
    if not field or field[0] not in (1, 2, 3, 4, 5, 7):
        return b"\0"
    kind, data = field
    if kind in (2, 3, 4):
        data = bits(kind, data)
        if data is None:
            return b"\0"
    elif kind == 1:
        data = text(data, binary)
    elif kind == 7:
        data = data[1:]
    length = len(data)
    count = b""
    while length > 127:
        count, length = count + bytes([length & 127 | 128]), length >> 7
    return b"\1" + count + bytes([length]) + data


def combined(form, fields):
    """What an index has of its columns, in their order: of each the field, and whether strings are bytes."""
    if form == 6:
        parts = [column(*field) for field in fields]
        return set() if b"\0" in parts else {hashlib.sha256(b"".join(parts)).digest()[:16]}
    if len(fields) == 1:
        return values(form, *fields[0])
    group = xxh3_64_intdigest(b"".join(column(*f) for f in fields[:-1])).to_bytes(8, "big")
    return {(group + value)[:22] for value in values(form, *fields[-1])}


def values(form, field, binary):
    """What an index has of a field, which is None or a kind and its bytes."""
    if not field or field[0] not in FITS[form]:
        return set() if form in (1, 4, 5) else {bytes(LENGTHS[form])}
    kind, data = field
    if form == 5:
        return cell(data)
    if form == 4:
        c = Cursor(data)
        texts = [c.take(c.varint()) for _ in range(c.varint())] if kind & 32 else [data]
        found = set().union(*map(words, texts))
        return found if len(found) <= 4096 else {b"\xff" * 8}
    if not kind & 32:
        return {element(form, kind, data, binary)}
    c = Cursor(data)
    parts = [c.take(c.varint()) for _ in range(c.varint())]
    return {element(form, kind & 31, part, binary) for part in parts}


class Rows:
    def __init__(self, secret):
        self.secret, self.rows, self.differs = secret, {}, set()
        # Each as its entry says, and from which offset on it is complete, or 0.
        self.indexes, self.last = [], 0

    def hash(self, name):
        return xxh3_128_intdigest(name.encode(), seed=self.secret)

    def declare(self, f):
        index = f["decoded"]
        if index[0] == len(self.indexes):
            self.indexes.append((index, 0))
        start = self.indexes[index[0]][1] or f["offset"] if index[1] == 2 else 0
        self.indexes[index[0]], self.last = (index, start), f["offset"]

    def kept(self, number):
        return number < len(self.indexes) and self.indexes[number][0][1] != 3

    def copy(self):
        other = Rows(self.secret)
        other.indexes, other.last = list(self.indexes), self.last
        other.rows = {zone: set(rows) for zone, rows in self.rows.items()}
        return other

    def of_fields(self, f):
        """All rows that an entry has by its fields, in the indexes of its type that are kept."""
        if f is None or f["kind"] == 33:
            return set()
        d = f["decoded"]
        fields = {number: (kind, data) for number, kind, data in d["fields"]} | system_fields(d)
        try:
            return {(number, value) for (number, state, kind, columns, form), _ in self.indexes
                    if kind == d["type"] and state != 3
                    for value in combined(
                        form, [(fields.get(c & ~BINARY), c & BINARY) for c in columns])}
        except (Damage, UnicodeDecodeError, struct.error):
            return set()

    def replace(self, f, held):
        """Takes a record or tombstone in the place of the entry that is held under its name."""
        d, zone = f["decoded"], f["zone"]
        name, stated = self.hash(d["name"]), d.get("rows", [])
        here = self.rows.setdefault(zone, set())
        old, new = self.of_fields(held), self.of_fields(f)
        if (held["version"] if held else 0) != d["previous"]:
            here.difference_update((i, v, name) for i, v in old)
            here.update((i, v, name) for i, v in new)
            return
        # As a writer states them: what differs, once.
        said = {(i, removed, v) for i, removed, v in stated}
        due = {(i, 1, v) for i, v in old - new} | {(i, 0, v) for i, v in new - old}
        if said != due or len(said) != len(stated):
            self.differs.add(f["offset"])
        for index, removed, value in stated:
            if self.kept(index):
                (here.discard if removed else here.add)((index, value, name))

    def drop(self, zone):
        self.rows.pop(zone, None)

    def build(self, f, entries):
        index, records = f["decoded"]
        if not self.kept(index):
            return
        held = {self.hash(name): entry for name, entry in entries.items()}
        for name, version, all_values in records:
            entry = held.get(name)
            if entry is None or entry["version"] != version:
                continue
            if {(index, v) for v in all_values} != {r for r in self.of_fields(entry) if r[0] == index}:
                self.differs.add(f["offset"])
            self.rows.setdefault(f["zone"], set()).update((index, v, name) for v in all_values)

    def lines(self, names, entries):
        """The indexes, and the rows of those that are complete, which must be those of the fields."""
        for offset in sorted(self.differs):
            print(f"  rows of the entry at {offset} differ")
        due = {zone: {(i, v, self.hash(name)) for name, f in here.items()
                      for i, v in self.of_fields(f)} for zone, here in entries.items()}
        lines = []
        for (number, state, kind, columns, form), _ in self.indexes:
            fields = ",".join(
                (SYSTEM.get(c & ~BINARY) or names[c & ~BINARY]) + (" binary" if c & BINARY else "")
                for c in columns)
            lines.append(f"index {number} {names[kind]} {fields} {FORMS[form]} {STATES[state]}")
            if state != 2:
                continue
            for zone in sorted(set(self.rows) | set(due)):
                found, said = ([r for r in some.get(zone, ()) if r[0] == number]
                               for some in (self.rows, due))
                if set(found) != set(said):
                    print(f"  index {number} differs in zone {zone}")
                lines += [f"  row zone {zone} value {value.hex()} name {name:032x}"
                          for _, value, name in sorted(found)]
        return lines
