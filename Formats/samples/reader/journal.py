"""Manifest and journal, read as Manifest.md and Journal.md say; see store.py."""
import struct

import compacted
from base import MASK, VERSION, Cursor, Damage, features, u
from xxhash import xxh3_64_intdigest

# By kind of entry; filled by store.py.
DECODERS = {}
# Kinds whose frames carry the number of a zone that is known.
IN_ZONE = (32, 33, 40, 41, 44, 47, 49, 50, 51, 56)


class Manifest:
    def __init__(self, data, name):
        # What is wrong with one of the two copies.
        self.fault = None
        if len(data) > 256 << 20:
            raise Damage("manifest.length", name)
        try:
            length = self.read(data, name)
            place = 128 + 16 * len(self.ancestors) + 80 * len(self.segments)
            copy = -(-(place + length) // 4096) * 4096
            whole = data[place + length:] == (
                bytes(copy - place - length) + data[:place] + struct.pack("<Q", place))
            if not whole:
                self.fault = Damage("manifest.copy", name, copy)
        except Damage as damage:
            copy = u(data, len(data) - 8, 8) if len(data) >= 8 else len(data)
            start = len(data) - 8 - copy
            if damage.kind.startswith("format.newer") or start < 0 or start % 4096:
                raise
            try:
                length = self.read(data[start:-8], name)
            except Damage as own:
                raise own if own.kind.startswith("format.newer") else damage
            self.fault = damage
        place = 128 + 16 * len(self.ancestors) + 80 * len(self.segments)
        self.checkpoint, self.checkpoint_fault = None, None
        if length:
            self.checkpoint_fault = self.read_checkpoint(data[place:place + length], length)

    def read(self, data, name):
        """All but the checkpoint, whose length it returns."""
        def need(condition, kind, byte=0):
            if not condition:
                raise Damage("manifest." + kind, name, byte)

        need(128 <= len(data), "length", len(data))
        need(data[:8] == bytes.fromhex("8953544d0d0a1a0a"), "magic")
        stated = int(name[9:], 16)
        count = u(data, 12, 4)
        ancestors = u(data, 112, 4)
        rows = 120 + 16 * ancestors
        check = rows + 80 * count
        need(count <= 1 << 20 and ancestors < 4096 and len(data) >= check + 8, "length", 12)
        need(xxh3_64_intdigest(data[:check], seed=stated) == u(data, check, 8), "checksum")
        if u(data, 10, 2) > VERSION:
            raise Damage(f"format.newer {u(data, 10, 2)}", name, 10)
        features(data, 72, name)
        self.generation = u(data, 16, 8)
        need(self.generation == stated, "generation", 16)
        self.store, self.epoch, self.incarnation = data[24:40], u(data, 52, 4), u(data, 48, 2)
        self.secret = u(data, 40, 8)
        if data[50] not in (1, 2):
            raise Damage("format.newer environment", name, 50)
        need(data[51] == 0, "reserved", 51)
        need(u(data, 84, 4) == 0, "reserved", 84)
        need(u(data, 116, 4) == 0, "reserved", 116)
        need(self.generation < MASK and u(data, 48, 2) < 4096 and self.epoch < (1 << 32) - 1,
             "number", 48)
        self.lineage, self.ancestors = u(data, 104, 8), []
        for place in range(120, rows, 16):
            incarnation, end = u(data, place + 8, 8) >> 52, u(data, place + 8, 8) % (1 << 52)
            before = self.ancestors[-1] if self.ancestors else (-1, 0)
            need(before[0] < incarnation < self.incarnation and before[1] <= end,
                 "ancestor", place)
            self.ancestors.append((incarnation, end))
        self.segments = []
        for index in range(count):
            place = rows + 80 * index
            base, state, salt, end, first, last, number, cleared, *times = struct.unpack_from(
                "<8Q2q", data, place)
            state, length, limit = state & 255, state >> 8, base + (state >> 8) // 8
            packed = state in (5, 6)
            segment = dict(
                base=base, state=state, length=length, salt=salt, end=end, chain=first,
                endChain=last, limit=end if packed else limit, first=base + 512, number=number,
                cleared=cleared, times=times, packed=packed,
                file="compacted-%016x" % number if packed else "journal-%016x" % base)
            if not 1 <= state <= 6:
                raise Damage("format.newer state", name, place)
            need(
                length <= 1 << 28 and base <= end <= segment["limit"]
                and max(base, end, cleared) < 1 << 52 and packed == (number > 0)
                and (packed or cleared == 0), "segment", place)
            need(state not in (1, 4) or index == count - 1, "order", place)
            need(not self.segments or self.segments[-1]["limit"] <= base, "order", place)
            self.segments.append(segment)
        return u(data, 64, 8)

    def version(self, offset):
        """That of what the journal has at an offset."""
        found = [incarnation for incarnation, end in self.ancestors if offset < end]
        return (found + [self.incarnation])[0] << 52 | offset

    def read_checkpoint(self, data, length):
        """What is wrong with the checkpoint as far as the manifest goes, or None."""
        if len(data) != length or length < 72:
            return "length"
        if xxh3_64_intdigest(data[:-8], seed=self.generation) != u(data, length - 8, 8):
            return "checksum"
        names = ("offset", "chain", "entries", "commits", "least", "greatest", "last")
        c = dict(zip(names, struct.unpack_from("<QQQQqqq", data)))
        if max(c["entries"], c["commits"]) > 1 << 32:
            return "totals"
        cursor, count = Cursor(data[64:-8]), u(data, 56, 4)
        try:
            c["files"] = [cursor.text() for _ in range(count)] if count <= 1 << 16 else [""]
        except (Damage, UnicodeDecodeError):
            return "files"
        if u(data, 60, 4) or not all(n.startswith("index-") for n in c["files"]):
            return "files"
        if len(cursor.data) - cursor.place > 32 << 20:
            return "length"
        if not any(s["first"] <= c["offset"] <= s["end"] and not s["packed"]
                   for s in self.segments):
            return "offset"
        c["state"] = cursor.take(cursor.left())
        self.checkpoint = c
        return None


def newest(files):
    names = [n for n in files if n.startswith("manifest-") and len(n) == 25
             and all(c in "0123456789abcdef" for c in n[9:])]
    if names:
        name = max(names)
        return Manifest(files[name], name), name
    stray = sorted(n for n in files if n.startswith("journal-") and len(n) == 24
                   and all(c in "0123456789abcdef" for c in n[8:]))
    if not stray:
        raise Damage("none")
    raise Damage("file.missing", "manifest-*, beside " + stray[0])


def frame(data, place, end, offset, salt):
    """The header of a whole frame, its payload not yet looked at; or the name of the fault."""
    if place + 40 > min(end, len(data)):
        return "frame.length"
    last = data[place + 23] >= 0x80
    at = 32 if last else 24
    if place + at + 16 > min(end, len(data)):
        return "frame.length"
    head = data[place:place + at + 16]
    if not any(head):
        return "frame.no frame"
    if xxh3_64_intdigest(head[8:], seed=(salt + offset) & MASK) != u(head, 0, 8):
        return "frame.header checksum"
    f = dict(check=u(head, 8, 8), length=u(head, 16, 4), ordinal=u(head, 20, 4) & 0x7FFFFFFF,
             last=last, version=u(head, at, 8), zone=u(head, at + 8, 4), kind=head[at + 12],
             time=u(head, 24, 8) if last else None, offset=offset, place=place, content=place + at)
    f["end"] = place + (at + 16 + f["length"] + 7) // 8 * 8
    f["entry"] = f["kind"] & 0x7F >= 32
    for fault, broken in [
        ("field length", f["length"] > 16 << 20), ("field kind", f["kind"] == 0),
        (f"newer flags {head[at + 13]}", head[at + 13]), ("field reserved", u(head, at + 14, 2)),
        ("field ordinal", not f["entry"] and (f["ordinal"] or f["last"])),
        ("field version", f["entry"] and not f["version"] & (1 << 52) - 1),
        ("length", f["end"] > end),
    ]:
        if broken:
            return "frame." + fault
    return f


def whole(data, place, end, offset, salt):
    f = frame(data, place, end, offset, salt)
    if isinstance(f, str):
        return f
    if xxh3_64_intdigest(data[f["content"]:f["end"]]) != f["check"]:
        return "frame.payload checksum"
    start = f["content"] + 16
    if any(data[start + f["length"]:f["end"]]):
        return "frame.field padding"
    f["payload"] = data[start:start + f["length"]]
    return f


def refuse_field(segment, fault, offset, kinds=("frame.field", "frame.newer")):
    """Refuses what no crash makes: a checksum that holds, and a field that the format forbids."""
    if fault.startswith(kinds):
        raise Damage(fault, segment["file"], (offset - segment["base"]) * 8, offset)


def group_header(f):
    return dict(zip(("epoch", "count", "length", "durable", "chain"),
                    struct.unpack("<IIQQQ", f["payload"])))


def keeps_limits(g):
    return 72 <= g["length"] <= 1 << 28 and g["length"] % 8 == 0


def group(data, segment, place, epoch, chain):
    """A group: (header, frames, fault, offset of the fault)."""
    offset = segment["base"] + place // 8
    f = whole(data, place, segment["length"], offset, segment["salt"])
    if isinstance(f, str):
        return None, [], f, offset
    if f["kind"] != 1:
        return None, [], "group.kind", offset
    if f["length"] != 32:
        return None, [], "group.fields", offset
    g = group_header(f)
    g["end"] = place + g["length"]
    if (not keeps_limits(g) or g["end"] > segment["length"]
            or g["durable"] > offset or g["epoch"] < epoch):
        return None, [], "group.fields", offset
    if g["chain"] != chain:
        return None, [], "chain", offset
    frames, at = [f], f["end"]
    while at < g["end"]:
        here = segment["base"] + at // 8
        f = whole(data, at, g["end"], here, segment["salt"])
        if not isinstance(f, str) and f["kind"] == 1:
            f = "group.kind"
        if isinstance(f, str):
            return g, frames, f, here
        frames.append(f)
        at = f["end"]
    if len(frames) - 1 != g["count"]:
        return g, frames, "group.frameCount", offset
    return g, frames, None, None


def chain_after(chain, frames):
    return xxh3_64_intdigest(b"".join(struct.pack("<Q", f["check"]) for f in frames), seed=chain)


class Journal:
    def __init__(self, files):
        self.files = files
        self.manifest, self.name = newest(files)
        self.commits, self.dropped, self.fault, self.last_time = [], 0, None, 0
        # Of the open commit what was read, and the ordinal of its next entry.
        self.open, self.next = None, 0
        # How many names, users and zones there are, and the indexes: of complete commits, and with
        # the open one.
        self.known, self.given = [0, 0, 0, ()], [0, 0, 0, ()]
        # What the whole journal says at the place of the checkpoint.
        self.seen = None
        self.end, self.row = 0, "K"
        chain = self.manifest.segments[0]["chain"] if self.manifest.segments else 0
        for segment in self.manifest.segments:
            data = (self.packed_header if segment["packed"] else self.header)(segment)
            self.totals = [0, 0, 0, 0]
            if segment["state"] != 1:
                if segment["state"] == 3 and segment["end"] == segment["first"]:
                    continue
                if segment["chain"] != chain:
                    row = "D" if segment["state"] == 4 else "A"
                    raise Damage("chain", segment["file"], 0, None, row)
                chain = (self.packed if segment["packed"] else self.closed)(segment, data)
            else:
                if segment["chain"] != chain:
                    raise Damage("chain", segment["file"], 0, None, "A")
                self.active(segment, data)
        if self.open:
            start = self.open[0]
            for segment in self.manifest.segments:
                low = max(start["offset"], segment["base"])
                high = self.end if segment["state"] == 1 else segment["end"]
                if low < high:
                    self.dropped += (high - low) * 8
            self.end = start["offset"]
            self.row = "E" if self.row == "K" else self.row

    def header(self, segment):
        name = segment["file"]

        def need(condition, kind, byte=0, offset=None):
            if not condition:
                raise Damage(kind, name, byte, offset, "A")

        need(name in self.files, "file.missing")
        data = self.files[name]
        need(len(data) == segment["length"], "file.length", len(data))
        need(data[:8] == bytes.fromhex("8953544a0d0a1a0a"), "segment.magic")
        need(xxh3_64_intdigest(data[:4088]) == u(data, 4088, 8), "segment.checksum")
        if u(data, 10, 2) > VERSION:
            raise Damage(f"format.newer {u(data, 10, 2)}", name, 10)
        features(data, 96, name)
        if u(data, 60, 4) != 1:
            raise Damage(f"format.newer layout {u(data, 60, 4)}", name, 60)
        if data[154] not in (1, 2):
            raise Damage("format.newer environment", name, 154)
        length = u(data, 40, 8)
        need(16384 <= length <= 1 << 28 and length % 4096 == 0, "segment.size", 40)
        ancestors = u(data, 156, 4)
        need(u(data, 12, 4) == 4096 and not any(data[108:112]) and u(data, 152, 2) < 4096
             and data[155] == 0 and ancestors <= 200
             and not any(data[160 + 16 * ancestors:4088]),
             "segment.reserved", 96)
        need((u(data, 32, 8), data[16:32], u(data, 48, 8), length, u(data, 80, 8)) == (
            segment["base"], self.manifest.store, segment["salt"], segment["length"],
            segment["chain"]), "segment.identity")
        return data

    def packed_header(self, segment):
        return compacted.header(self.files, self.manifest.store, segment)

    def packed(self, segment, data):
        if self.open:
            raise Damage("commit", segment["file"], 0, None, "A")
        for frames in compacted.blocks(segment, data):
            self.take(frames, segment)
        self.next = u(data, 128, 4)
        self.open = [] if self.next and segment["state"] == 5 else None
        self.last_time, self.end = struct.unpack_from("<q", data, 104)[0], segment["end"]
        return segment["endChain"]

    def look(self, segment, place, chain):
        c = self.manifest.checkpoint
        if c and c["offset"] == segment["base"] + place // 8:
            self.seen = (chain, *self.totals, self.last_time, self.open is None)

    def checkpoint_fault(self):
        """Why the checkpoint, if there is one, is of no use; of what reads the journal alone."""
        c, m = self.manifest.checkpoint, self.manifest
        if c is None:
            return m.checkpoint_fault
        if self.seen is None or self.seen[0] != c["chain"]:
            return "chain"
        said = (c["chain"], c["entries"], c["commits"], c["least"], c["greatest"], c["last"], True)
        return None if self.seen == said else "journal"

    def closed(self, segment, data):
        place, epoch, chain, name = 4096, 0, segment["chain"], segment["file"]
        end = (segment["end"] - segment["base"]) * 8
        while place < end:
            self.look(segment, place, chain)
            g, frames, fault, where = group(data, segment, place, epoch, chain)
            if fault and (g is None or where < segment["end"]):
                refuse_field(segment, fault, where, "frame.newer")
                row = "D" if segment["state"] == 4 else "A"
                raise Damage(fault, name, (where - segment["base"]) * 8, where, row)
            before, kept = list(self.totals), [f for f in frames if f["offset"] < segment["end"]]
            self.take(kept, segment)
            last, chain, epoch = (g, frames, chain), chain_after(g["chain"], kept), g["epoch"]
            place = g["end"]
        if segment["state"] == 2 and end > 4096:
            g, frames, start = last
            f = frames[-1]
            said = f["kind"] == 2 and f["length"] == 48 and struct.unpack("<QQQQqq", f["payload"])
            if said != (segment["chain"], start, *before):
                where = g["end"] - g["length"]
                raise Damage("trailer", name, where, segment["base"] + where // 8, "A")
        if chain != segment["endChain"]:
            raise Damage("chain", name, 0, None, "D" if segment["state"] == 4 else "A")
        if segment["state"] in (3, 4):
            self.open = None
        self.look(segment, end, chain)
        self.end = segment["end"]
        return chain

    def active(self, segment, data):
        place, epoch, chain, last = 4096, 0, segment["chain"], None
        while True:
            self.look(segment, place, chain)
            g, frames, fault, where = group(data, segment, place, epoch, chain)
            if fault:
                refuse_field(segment, fault, where)
                self.take([f for f in frames if f["offset"] < where], segment)
                break
            self.take(frames, segment)
            place, epoch, last = g["end"], g["epoch"], frames[-1]["kind"]
            chain = chain_after(chain, frames)
        self.end = where
        damage = Damage(fault, segment["file"], (where - segment["base"]) * 8, where)
        self.row = damage.row = self.decide(segment, data, g, where, last)
        if self.row in "DB":
            raise damage
        self.fault = None if self.row in "KE" else damage

    def decide(self, segment, data, part, x, last):
        m = self.manifest
        if segment["end"] > x:
            return "D"
        if part is None and last == 2:
            return "K"
        start = (x - segment["base"]) * 8
        groups, durable, other = False, False, False
        for at in range(start + 8, segment["length"], 8):
            if not any(data[at:at + 8]):
                continue
            f = frame(data, at, 1 << 63, segment["base"] + at // 8, segment["salt"])
            if isinstance(f, str):
                continue
            if f["kind"] == 1:
                f = whole(data, at, 1 << 63, f["offset"], segment["salt"])
                if isinstance(f, str) or f["length"] != 32 or not keeps_limits(group_header(f)):
                    continue
                groups = True
                durable |= group_header(f)["durable"] > x
            elif not groups:
                other = True
        if durable:
            return "B"
        if groups:
            return "C"
        if part is not None or other:
            return "J"
        if not any(data[start:]):
            return "E"
        stale = any(not isinstance(frame(data, start, 1 << 63, s["base"] + start // 8, s["salt"]),
                                   str) for s in m.segments if s is not segment)
        return "G" if stale else "F"

    def take(self, frames, segment):
        for f in frames:
            def damage(kind):
                return Damage(kind, segment["file"], f["place"], f["offset"])

            if f["entry"]:
                # Of a compacted segment each takes effect at once: its commit is complete.
                if f["ordinal"] == 0 or segment["packed"]:
                    self.open, self.next, self.given = [], f["ordinal"], list(self.known)
                self.totals[0] += 1
                if self.open is None or self.next != f["ordinal"]:
                    raise damage("commit")
                self.next += 1
            if f["kind"] not in DECODERS and f["kind"] not in (1, 2) and f["kind"] < 0x80:
                raise damage(f"frame.unknown kind {f['kind']}")
            f["damage"] = damage("payload.content")
            if f["kind"] in IN_ZONE and not 0 < f["zone"] <= self.given[2]:
                raise f["damage"]
            if f["kind"] in DECODERS:
                try:
                    f["decoded"] = DECODERS[f["kind"]](Cursor(f["payload"]))
                except (Damage, UnicodeDecodeError) as fault:
                    newer = str(fault).startswith("format.newer")
                    raise damage(str(fault)) if newer else f["damage"]
            if f["kind"] in (37, 38, 39, 44):
                stated = f["decoded"]
                stated = stated if f["kind"] in (38, 44) else stated[f["kind"] == 37]
                if stated + (f["kind"] == 44) > f["offset"]:
                    raise f["damage"]
            if f["kind"] in (54, 55) and f["decoded"]["number"] >= f["offset"]:
                raise f["damage"]
            if f["kind"] == 65 and max(f["decoded"]["number"], f["decoded"]["last"]) >= f["offset"]:
                raise f["damage"]
            if f["kind"] == 62 and f["decoded"]["request"] >= f["offset"]:
                raise f["damage"]
            if f["kind"] == 59 and f["decoded"]["start"] >= f["offset"]:
                raise f["damage"]
            if f["kind"] == 4:
                self.check_preamble(f)
            if not f["entry"]:
                continue
            if not self.give(f["kind"], f.get("decoded")):
                raise f["damage"]
            self.open.append(f)
            if f["last"]:
                n, time = self.totals, struct.unpack("<q", struct.pack("<Q", f["time"]))[0]
                n[2] = min(n[2], time) if n[1] else time
                n[3] = max(n[3], time) if n[1] else time
                n[1] += 1
                self.last_time = time
            if f["last"] or segment["packed"]:
                self.known = list(self.given)
                self.commits.append(self.open)
                self.open = None

    def check_preamble(self, f):
        """That all it names lies before it; and, as a verification, that it says what is there."""
        p = f["decoded"]
        if any(offset >= f["offset"] for _, offset in p["locations"]):
            raise f["damage"]
        complete = [e for commit in self.commits for e in commit]
        entries = [[e for e in some if e["kind"] == 36 and e["decoded"]["names"]]
                   for some in (complete, complete + (self.open or []))]
        if not any(self.agrees(p, some) for some in entries):
            print(f"  preamble at {f['offset']} differs")

    @staticmethod
    def agrees(p, entries):
        """Whether a preamble finds every name, by its locations and the entries behind them."""
        names = [name for e in entries for name in e["decoded"]["names"]]
        found = list(p["names"])
        starts = [number for number, _ in p["locations"]][1:] + [p["count"]]
        for (number, offset), end in zip(p["locations"], starts):
            behind = [e for e in entries if e["offset"] >= offset]
            if not behind or (behind[0]["decoded"]["first"], behind[0]["offset"]) != (number, offset):
                return False
            there = [name for e in behind for name in e["decoded"]["names"]]
            found += there[len(found) - number:end - number]
        return p["count"] == len(names) and found == names

    def give(self, kind, d):
        """Takes the numbers that an entry gives; whether they are in order."""
        names, users, zones, indexes = self.given
        if kind == 34:
            self.given[2] = max(zones, d["number"])
            return d["number"] <= zones + 1 and d["database"] <= users
        if kind == 49:
            self.given[2] = max(zones, d["number"])
            return d["number"] <= zones if d["began"] else d["number"] == zones + 1
        if kind in (32, 33):
            stated = [m for m in (d.get("member"), d.get("left")) if m]
            return all(share <= zones for share, _, _ in stated)
        if kind == 50:
            return max(d["old"], d["new"]) <= zones
        if kind == 51:
            return d["share"] <= zones
        if kind in (52, 53, 63):
            return (d["user"] if kind == 52 else d[0]) <= users
        if 54 <= kind <= 62:
            return max(d["users"]) <= users and max(d["names"], default=-1) < names
        if kind == 35:
            self.given[1] = d[0]
            return d[0] == users + 1
        if kind == 36:
            self.given[0] += len(d["names"])
            return d["first"] == names and all(
                max(column[:2]) < self.given[0] for column in d["columns"])
        if kind == 46:
            number, state, *rest = d
            here = list(indexes)
            if number < len(here):
                good = here[number] == [here[number][0], *rest] and here[number][0] != 3
                here[number] = [state, *rest]
            else:
                good = number == len(here)
                here.append([state, *rest])
            self.given[3] = tuple(here)
            return good and all(x < names or x >= 65536 for x in (rest[0], *rest[1]))
        return True
