"""Tokens and system fields, read as Token.md and SystemFields.md say; see store.py."""
import base64
import struct

from base import Cursor, Damage, u
from xxhash import xxh3_64_intdigest


def token_line(line):
    try:
        data = base64.b64decode(line, validate=True)
    except ValueError:
        return "refused base64"
    if len(data) < 2:
        return "refused length"
    scope, amid = data[1] & 127, data[1] >> 7
    more = {1: "<QQ", 2: "<QQ", 4: "<QQIQI", 5: "<QQI"}.get(scope, "<")
    length = (46 if scope in (1, 4) else 42) + struct.calcsize(more) * amid
    whole = amid and len(data) == length
    parts = struct.unpack_from(more, data, length - 4 - struct.calcsize(more)) if whole else ()
    position = u(data, 34 if scope in (1, 4) else 30, 8)
    for word, holds in [
        ("format", data[0] == 1), ("scope", scope in (1, 2, 4, 5) or data[1] == 7), ("length", len(data) == length),
        ("checksum", xxh3_64_intdigest(data[:-4]) & 0xFFFFFFFF == u(data, len(data) - 4, 4)),
        ("fetchFloor", not amid or scope > 2 or parts and parts[0]),
        ("ordinal", not amid or scope != 4 or parts and parts[4] < 256),
        ("bound", not amid or scope < 3 or parts and parts[0] >= max(position, 1)),
        ("head", not amid or scope < 3 or parts and parts[1] >= parts[0]),
    ]:
        if not holds:
            return "refused " + word
    high, low, lineage, database = struct.unpack_from("<QQQI", data, 2)
    zone = u(data, 30, 4) if scope in (1, 4) else 0
    words = ["fetchFloor", "fetchHead"] if scope in (1, 2, 7) else ["bound", "head", "share", "row", "ordinal"]
    parts = parts or (0,) * 5
    if scope == 5:
        # The last zone of the round stands where the zone of another token does.
        zone, words = parts[2], words[:2]
    return (f"{[0, 'zone', 'database', 0, 'shared-zone', 'shared-database', 0, 'store'][scope]} "
            f"store {high:016x}{low:016x} "
            f"lineage {lineage:016x} database {database} zone {zone} position {position} "
            + " ".join(f"{word} {part}" for word, part in zip(words, parts)))


def system_fields(data):
    c = Cursor(data[:-4])

    def need(holds, kind, byte=None):
        if not holds:
            raise Damage(kind if "." in kind else "systemFields." + kind, byte=c.place if byte is None else byte)

    def part(read, *numbers):
        start = c.place
        try:
            return read(*numbers)
        except Damage:
            # A number that goes on to the end is truncated, any other is not in its shortest form.
            cut = read == c.take or all(byte >= 0x80 for byte in c.data[start:])
            need(False, "truncated" if cut else "integer", start)

    def text():
        start, length = c.place, part(c.varint)
        need(length <= len(c.data), "count", start)
        need(length <= c.left(), "truncated", start)
        try:
            return c.take(length).decode()
        except UnicodeDecodeError:
            need(False, "text", start)

    try:
        need(len(data) > 4, "truncated", 0)
        need(data[0], "format", 0)
        need(data[0] == 1, "format.newer format", 0)
        check = int.from_bytes(data[-4:], "little")
        need(xxh3_64_intdigest(c.data) & 0xFFFFFFFF == check, "checksum", len(c.data))
        _, flags = part(c.take, 2)
        need(flags < 4, "format.newer flags")
        zone, owner, record, kind = text(), text(), text(), text()
        line = f"{zone} of {owner}: {kind} {record}"
        if flags & 1:
            version = int.from_bytes(part(c.take, 8), "little")
            need(version, "version")
            created, modified = part(c.signed), part(c.signed)
            need(max(abs(created), abs(modified)) < 1 << 53, "date")
            creator, modifier = (
                "_%016x%016x" % tuple(u(part(c.take, 8), 0, 8) for _ in range(2))
                for _ in range(2))
            line += f" tag {version} created {created} by {creator} modified {modified} by {modifier}"
        if flags & 2:
            line += f" parent {text()}"
        need(not c.left(), "length")
    except Damage as damage:
        return f"refused {damage.kind} byte {damage.byte}"
    return line
