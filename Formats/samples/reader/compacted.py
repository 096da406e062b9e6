"""Compacted segments, read as Compacted.md says; see store.py."""
import struct

from assets import unpacked
from base import MASK, VERSION, Cursor, Damage, features, u
from xxhash import xxh3_64_intdigest


def header(files, store, segment):
    """The file of a compacted segment, whose header and footer are right."""
    name = segment["file"]

    def need(holds, kind, byte=0):
        if not holds:
            raise Damage(kind, name, byte, None, "A")

    need(name in files, "file.missing")
    data = files[name]
    need(len(data) == segment["length"] and len(data) >= 296, "file.length", len(data))
    need(data[:8] == bytes.fromhex("895354430d0a1a0a"), "compacted.magic")
    need(xxh3_64_intdigest(data[:248]) == u(data, 248, 8), "compacted.checksum")
    if u(data, 10, 2) > VERSION:
        raise Damage(f"format.newer {u(data, 10, 2)}", name, 10)
    features(data, 112, name)
    need(u(data, 12, 4) == 256 and u(data, 128, 4) < 1 << 31
         and not any(data[124:128] + data[132:248]), "compacted.reserved", 132)
    said = [segment[word] for word in (
        "number", "salt", "base", "end", "chain", "endChain")] + segment["times"]
    own = list(struct.unpack_from("<7Q2q", data, 32))
    need(own.pop(4) <= segment["cleared"], "compacted.identity")
    need(data[16:32] == store and own == said, "compacted.identity")
    footer, count = len(data) - 40, u(data, len(data) - 40, 4)
    pieces = (count + 254) // 255
    top = footer - 8 * pieces
    need(top >= 256, "compacted.footer", footer)
    need(checked(data, segment, top, len(data)), "compacted.checksum", top)
    directory = u(data, footer + 4, 4)
    need(256 <= directory == top - 16 * count - 8 * pieces, "compacted.footer", footer)
    return data


def checked(data, segment, place, end):
    """Whether the checksum holds with which a part of the file ends."""
    seed = (segment["salt"] + place) & MASK
    return xxh3_64_intdigest(data[place:end - 8], seed=seed) == u(data, end - 8, 8)


def blocks(segment, data):
    """The entries of each block, as the frames that they had."""
    count, directory, entries, named = struct.unpack_from("<IIQQ", data, len(data) - 40)
    place, found = 256, 0

    def need(holds, word):
        if not holds:
            raise Damage("compacted." + word, segment["file"], at, None, "A")

    for first in range(0, count, 255):
        at = directory + first * 16 + first // 255 * 8
        end = at + min(255, count - first) * 16
        need(checked(data, segment, at, end + 8), "checksum")
        rows = list(struct.iter_unpack("<QII", data[at:end]))
        for offset, start, length in rows:
            need(length > 24 and 256 <= start <= directory - length
                 and segment["base"] <= offset < segment["end"], "directory")
        for offset, start, length in rows:
            frames = block(segment, data, offset, start, start + length)
            if start != place:
                print(f"  blocks of {segment['file']} differ at {place}")
            place, found = start + length, found + len(frames)
            yield frames
    if (place, found) != (directory, entries) or named > found:
        print(f"  blocks of {segment['file']} differ from its footer")


def block(segment, data, offset, place, end):
    def need(holds, word, at=offset):
        if not holds:
            raise Damage(word, segment["file"], place, at, "A")

    check = xxh3_64_intdigest(data[place + 8:end], seed=(segment["salt"] + place) & MASK)
    need(check == u(data, place, 8), "compacted.checksum")
    raw, stored, first = struct.unpack_from("<IIQ", data, place + 8)
    need(stored <= raw <= 16777344 and stored == end - place - 24 and first == offset,
         "compacted.block")
    content = data[place + 24:end]
    content = content if stored == raw else unpacked(content, raw)
    need(content is not None, "compacted.compression")
    cursor, frames = Cursor(content), []
    while cursor.left() or not frames:
        try:
            f = entry(cursor, frames[-1]["offset"] if frames else offset)
        except Damage as damage:
            if damage.kind.startswith("format.newer"):
                raise Damage(damage.kind, segment["file"], place, offset)
            need(False, "compacted.entry")
        need((f["offset"] > frames[-1]["offset"] if frames else f["offset"] == offset)
             and f["offset"] < segment["end"], "compacted.entry")
        frames.append(dict(f, place=place))
    for f in frames:
        content = struct.pack("<QIBBH", f["version"], f["zone"], f["kind"], 0, 0) + f["payload"]
        need(xxh3_64_intdigest(content + bytes(-len(content) % 8)) == f["check"],
             "frame.payload checksum", f["offset"])
    return frames


def entry(c, before):
    """An entry, whose form is right, as the frame that it had."""
    f = dict(offset=before + c.varint(), entry=True)
    flags = c.number(1)
    if flags > 7:
        raise Damage("format.newer flags")
    f["kind"], f["ordinal"], length = c.number(1), c.varint(31), c.varint()
    f["last"], f["time"] = flags & 1, c.number(8) if flags & 1 else None
    f["version"] = c.number(8) if flags & 2 else f["offset"]
    f["zone"] = c.varint(32) if flags & 4 else 0
    f["check"], f["payload"] = c.number(8), c.take(length)
    if (f["kind"] & 0x7F < 32 or length > 16 << 20
            or not 0 < f["version"] & (1 << 52) - 1 <= f["offset"]):
        raise Damage("compacted.entry")
    return f
