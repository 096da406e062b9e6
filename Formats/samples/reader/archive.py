"""Archives, read as Backup.md says; see store.py."""
import hashlib
import re

from base import Cursor, Damage, u
from xxhash import xxh3_64_intdigest

VERSION = 1
FILES = 1 << 20
NAME = re.compile(r"(manifest|compacted|chunks)-[0-9a-f]{16}")


def need(holds, kind, name, byte=0):
    if not holds:
        raise Damage("archive." + kind, name, byte)


def head(data, name):
    """The archiveID, by rules 1 to 5."""
    need(len(data) >= 64, "length", name, len(data))
    need(data[:8] == bytes.fromhex("895354420d0a1a0a"), "magic", name)
    need(xxh3_64_intdigest(data[:56]) == u(data, 56, 8), "checksum", name)
    if u(data, 10, 2) > VERSION:
        raise Damage(f"format.newer {u(data, 10, 2)}", name, 10)
    need(not any(data[12:16]) and not any(data[32:56]), "reserved", name, 12)
    return data[16:32]


class Archive:
    def __init__(self, data, name):
        self.data, self.name = data, name
        self.id = head(data, name)
        need(len(data) >= 128, "length", name, len(data))
        foot = len(data) - 64
        place, length = u(data, foot + 48, 8), u(data, foot + 56, 8)
        need(data[foot + 32:foot + 48] == self.id and length <= 256 << 20 and place >= 64
             and place + length == foot, "foot", name, foot)
        table = data[place:foot]
        digest = hashlib.sha256(data[:64] + table).digest()
        need(digest == data[foot:foot + 32], "table", name, place)
        try:
            self.read(Cursor(table), place)
        except (Damage, UnicodeDecodeError) as damage:
            if str(getattr(damage, "kind", "")).startswith("format.newer"):
                raise Damage(damage.kind, name, place)
            need(False, "table", name, place)

    def read(self, c, end):
        self.base, self.store, self.lineage = c.take(16), c.take(16), c.number(8)
        self.start, self.end, self.floor, self.chain = (c.number(8) for _ in range(4))
        c.take(16)
        incarnation, flags, reserved = c.number(2), c.number(1), c.number(5)
        if flags > 1:
            raise Damage("format.newer flags")
        valid = incarnation < 4096 and reserved == 0 and self.start <= self.end
        valid = valid and self.floor <= self.end < 1 << 52
        valid = valid and (any(self.base) or self.start == 0)
        self.zones = []
        for _ in range(c.varint()):
            zone = [c.text(), c.text(), c.varint()]
            flag = c.number(1)
            if flag > 1:
                raise Damage("format.newer flags")
            content = (c.varint(), c.take(32)) if flag else None
            valid = valid and (not content or content[0] <= zone[2])
            self.zones.append(zone + [content])
        self.selection = [(c.text(), c.text()) for _ in range(c.varint())]
        items = [(owner.encode(), zone.encode()) for owner, zone in self.selection]
        valid = valid and items == sorted(set(items))
        valid = valid and all(not o or re.fullmatch(rb"_[0-9a-f]{32}", o) for o, _ in items)
        self.files = [(c.text(), c.varint()) for _ in range(c.varint())]
        names = [n for n, _ in self.files]
        valid = valid and len(set(names)) == len(names) <= FILES
        valid = valid and all(map(NAME.fullmatch, names))
        valid = valid and all(length <= 1 << 40 for _, length in self.files)
        self.parts, at, last = [], 64, (-1, 0)
        for _ in range(c.varint()):
            number, place, length, digest = c.varint(), c.varint(), c.varint(), c.take(32)
            valid = valid and number < len(self.files) and 1 <= length <= 1 << 20
            valid = valid and place + length <= self.files[number][1]
            valid = valid and (number == last[0] + 1 or number == last[0] and place >= last[1])
            if not valid:
                break
            self.parts.append((number, place, length, digest, at))
            last, at = (number, place + length), at + length
        valid = valid and last[0] == len(self.files) - 1 and at == end and not c.left()
        if not valid:
            raise Damage("table")


def base_of(own, archives):
    damage = Damage("archive.base", own.name)
    for name, data in sorted(archives.items()):
        try:
            if head(data, name) != own.base:
                continue
        except Damage:
            continue
        try:
            base = Archive(data, name)
        except Damage as found:
            damage = found
            continue
        if (base.store, base.lineage, base.selection, base.end) == \
                (own.store, own.lineage, own.selection, own.start):
            return base
    raise damage


def files_of(archives):
    """The files of the chain that the last of some archives, by name, ends."""
    last = max(archives)
    chain = [Archive(archives[last], last)]
    while any(chain[0].base):
        own = chain[0]
        need(own.base not in [archive.id for archive in chain], "cycle", own.name)
        chain.insert(0, base_of(own, archives))
    files = {}
    for archive in chain:
        for name, length in archive.files:
            file = files.setdefault(name, bytearray())
            file.extend(bytes(max(0, length - len(file))))
        for number, place, length, digest, at in archive.parts:
            part = archive.data[at:at + length]
            if hashlib.sha256(part).digest() != digest:
                raise Damage("archive.part", archive.name, at)
            files[archive.files[number][0]][place:place + length] = part
    return {name: bytes(data) for name, data in files.items()}
