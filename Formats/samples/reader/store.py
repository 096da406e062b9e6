#!/usr/bin/env python3
"""Reads stores as the pages of Formats say, and compares with what expected.txt holds.

Written from those pages alone, to show that nothing is missing in them. It needs the module
xxhash and is no part of the gate:

    python3 reader/store.py valid/* damaged/*
"""
import base64
import hashlib
import os
import re
import struct
import sys
from itertools import zip_longest

sys.dont_write_bytecode = True

from assets import Chunks
from base import Cursor, Damage, u
from devices import DECODERS as OF_DEVICES, Devices
from index import declared, in_use, index, state
from journal import DECODERS, Journal
from longlived import DECODERS as OF_REQUESTS, Requests
from rows import Rows, built_rows, declared_index, index_rows
from shares import (Shares, members, membership, participant, participation_horizon, profile, roles,
                    share, sharing)
from subscriptions import DECODERS as OF_SUBSCRIPTIONS, Subscriptions
from archive import files_of
from lines import system_fields, token_line
from xxhash import xxh3_64_intdigest

# What an opening for writing deletes, where nothing lists it.
STRAY = re.compile("(journal|compacted|manifest)-[0-9a-f]{16}(.new)?|index-.*")
KINDS = [None, "string", "int64", "double", "date", "bytes", "location", "reference", "asset"]


def need(condition):
    if not condition:
        raise Damage("payload.content")


def ended(c, decoded):
    need(not c.left())
    return decoded


def known(bits, mask, word):
    """Other bits are of a newer format."""
    if bits & ~mask:
        raise Damage("format.newer " + word)


def field_kind(c, ofColumn=False):
    """Sorts of values in the low bits, with 32 for lists and 64 for encrypted fields; of a column also 0:
    none, and 128 more: strings are compared as bytes."""
    kind = c.number(1)
    if ofColumn and not kind:
        return 0
    binary, kind = ofColumn and kind & 128, kind & 127 if ofColumn else kind
    sort, most = kind & 31, 6 if kind & 64 else 8
    if kind & 128 or sort > most or not sort and kind & 96 == 64 or not kind:
        raise Damage("format.newer field kind")
    if binary and kind not in (1, 33):
        raise Damage("payload.content")
    return kind


def cascade_links(c):
    return [(c.varint(32), c.text()) for _ in range(c.varint())]


def record(c):
    r, flags = {}, c.varint(32)
    known(flags, 16383, "flags")
    need(flags & 1 or not flags & 2)
    need(flags & 2 or not flags & 48)
    r["type"], r["modifier"], r["modified"] = c.varint(32), c.varint(32), c.signed()
    r["device"] = c.number(8) if flags & 8192 else 0
    r["creator"], r["created"] = r["modifier"], r["modified"]
    if flags & 66:
        r["creator"], r["created"] = c.varint(32), c.signed()
    need(max(abs(r["modified"]), abs(r["created"])) < 1 << 53)
    r["previous"] = c.varint() if flags & 1 else 0
    need(r["previous"] or not flags & 1)
    r["replaced"] = c.varint(32) if flags & 2 else 0
    r["name"] = c.text()
    r["parent"] = c.text() if flags & 4 else None
    r["formerParent"] = c.text() if flags & 16 else None
    r["formerCascadeLinks"] = cascade_links(c) if flags & 32 else None
    r["origin"] = (c.varint(32), c.varint()) if flags & 64 else None
    r["assets"] = (c.varint(), c.varint()) if flags & 128 else (0, 0)
    need(max(r["assets"]) <= 1 << 60 and any(r["assets"]) == bool(flags & 128))
    need(flags & 2 or not r["assets"][1])
    r["rows"] = index_rows(c) if flags & 512 else []
    r.update(sharing(c, flags))
    if flags & 256:
        c.extensions()
    # What follows may also be checked when the record is read; see Record.md, "Validity".
    count = c.varint()
    need(count <= c.left() // 4)
    width = c.number(1) if count else 1
    need(width in (1, 2, 4))
    columns = [(c.number(2), field_kind(c)) for _ in range(count)]
    numbers = [number for number, _ in columns]
    need(numbers == sorted(set(numbers)))
    ends = [c.number(width) for _ in range(count)]
    need(ends == sorted(ends) and width == (4 if c.left() >> 16 else 2 if c.left() >> 8 else 1))
    starts = [0] + ends
    r["fields"] = [(*column, c.take(end - start)) for column, start, end in zip(columns, starts, ends)]
    return ended(c, r)


def tombstone(c):
    t = dict(type=c.varint(32), deleter=c.varint(32), deleted=c.signed(), previous=c.varint())
    t["replaced"] = c.varint(32)
    t["name"] = c.text()
    if c.left():
        flags = c.varint(32)
        need(flags)
        known(flags, 127, "flags")
        t["parent"] = c.text() if flags & 1 else None
        t["cascadeLinks"] = cascade_links(c) if flags & 2 else []
        t["destination"] = c.varint(32) if flags & 4 else None
        t["assets"] = c.varint() if flags & 8 else 0
        need(t["assets"] <= 1 << 60)
        t["rows"] = index_rows(c) if flags & 16 else []
        t["left"] = membership(c, former=True) if flags & 32 else None
        t["device"] = c.number(8) if flags & 64 else 0
    return ended(c, t)


def zone(c):
    z = dict(number=c.varint(32), database=c.varint(32), state=c.number(1),
             capabilities=c.number(1), sources=c.number(2), device=c.number(8), name=c.text())
    need(0 < z["number"] < 1 << 31 and z["database"] < 1 << 31)
    if not 1 <= z["state"] <= 4:
        raise Damage("format.newer state")
    need(z["sources"] <= 256 and (z["name"] == "") == (z["state"] == 4))
    known(z["capabilities"], 15, "capabilities")
    if z["sources"]:
        c.number(8)
        through = [(c.take(32), c.number(8))[1] for _ in range(z["sources"])]
        need(max(through) == through[0])
    if c.left():
        c.extensions()
    return ended(c, z)


def identity(c):
    return "_%016x%016x" % (c.number(8), c.number(8))


def user(c):
    number, name, created, _ = c.varint(32), identity(c), c.signed(), c.text()
    need(0 < number < 1 << 31 and abs(created) < 1 << 53)
    if c.left():
        c.extensions()
    return ended(c, (number, name))


def names(c):
    n = dict(first=c.varint(32), names=[c.text() for _ in range(c.varint())])
    n["columns"] = [(c.varint(32), c.varint(32), field_kind(c, True)) for _ in range(c.varint())]
    need(n["first"] + len(n["names"]) <= 65536)
    return ended(c, n)


def preamble(c):
    p = dict(count=c.varint())
    p["names"] = [c.text() for _ in range(c.varint())]
    p["locations"] = c.locations(p["count"])
    need(len(p["names"]) <= p["count"] <= 65536)
    need((len(p["names"]) < p["count"]) == bool(p["locations"]))
    need(not p["locations"] or p["locations"][0][0] <= len(p["names"]))
    return ended(c, p)


def mark(c):
    time, offset, chain = struct.unpack("<qQQ", c.take(24))
    need(offset < 1 << 52)
    return ended(c, (time, offset, chain, c.text(least=1)))


def mark_removal(c):
    offset = c.number(8)
    need(offset < 1 << 52)
    return ended(c, offset)


def history_policy(c):
    start, policy = c.number(8), c.number(1)
    need(start < 1 << 52)
    if policy > 3:
        raise Damage("format.newer policy")
    amount = c.varint() if policy in (1, 2) else 0
    need(amount <= 1 << 60)
    return ended(c, (start, policy, amount))


def deletion_policy(c):
    policy = c.number(1)
    if policy > 3:
        raise Damage("format.newer policy")
    amount = c.varint() if policy in (1, 2) else 0
    need(amount <= 1 << 60)
    return ended(c, (policy, amount))


def horizon(c):
    return ended(c, c.number(8))


def operation(c):
    o = dict(caller=identity(c), id=c.text(least=1), request=c.take(16))
    o["outcomes"] = [outcome(c) for _ in range(c.varint())]
    if c.left():
        known(c.number(1), 1, "flags")
        c.signed()
    return ended(c, o)


def outcome(c):
    kind = c.number(1)
    known(kind, 3, "outcome")
    if kind == 3:
        return kind, c.varint(), c.varint(), c.text(4096)
    saved = (c.varint(), c.signed()) if kind else ()
    return kind, *saved, *((c.signed(), identity(c)) if kind == 2 else ())


def client_token(c):
    t = dict(caller=identity(c), device=c.text())
    need(c.left() <= 4096)
    t["token"] = c.take(c.left())
    return t


def chunk(c):
    address, segment, place, stored, length = c.take(32), *(c.varint() for _ in range(4))
    need(0 < segment < 1 << 44 and 64 <= place * 8 < 1 << 40)
    need(1 <= stored <= length <= 262144)
    return address, segment, place * 8, stored, length


def chunks(c):
    return ended(c, [chunk(c) for _ in range(c.varint())])


def lost_chunks(c):
    need(c.left() % 32 == 0)
    return [c.take(32) for _ in range(c.left() // 32)]


def schema_text(c):
    need(c.left() <= 1 << 20)
    try:
        return c.take(c.left()).decode()
    except UnicodeDecodeError:
        need(False)


DECODERS.update({4: preamble, 32: record, 33: tombstone, 34: zone, 35: user, 36: names, 37: mark,
                 38: mark_removal, 39: history_policy, 40: operation, 41: client_token, 42: chunks, 43: lost_chunks,
                 44: horizon, 45: deletion_policy, 46: lambda c: ended(c, declared_index(c)),
                 47: lambda c: ended(c, built_rows(c)), 48: schema_text, 49: share, 50: members,
                 51: participant, 52: profile, 53: roles, 63: participation_horizon, **OF_SUBSCRIPTIONS, **OF_DEVICES, **OF_REQUESTS})


def asset(c):
    """Length, digest, depth and extents of an asset, whose value must keep its form to the end."""
    length, digest, depth = c.varint(), c.take(32), c.number(1)
    extents = [(c.take(32), c.varint()) for _ in range(c.varint())]
    need(length <= 1 << 60 and depth <= 7 and len(extents) <= 1000)
    need(all(0 < n and (depth or n <= 262144) for _, n in extents))
    need(sum(n for _, n in extents) == length)
    return ended(c, (length, digest, depth, extents))


def assets(kind, data):
    """The assets in a value."""
    if kind & 31 != 8:
        return []
    if not kind & 32:
        return [asset(Cursor(data))]
    c = Cursor(data)
    return [asset(Cursor(c.take(c.varint()))) for _ in range(c.varint())]


def value(kind, data):
    kind &= 63
    if kind & 32:
        c = Cursor(data)
        parts = [c.take(c.varint()) for _ in range(c.varint())]
        return "[" + " ".join(value(kind & 31, part) for part in parts) + "]"
    if kind == 1:
        text = data.decode().replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
        return f'"{text}"'
    if kind == 2:
        return str(Cursor(data).signed())
    if kind in (3, 4, 6):
        return ",".join("%016x" % u(data, at, 8) for at in range(0, len(data), 8))
    if kind == 5:
        if len(data) > 64:
            return f"{len(data)} bytes of sha256 {hashlib.sha256(data).hexdigest()}"
        return "x" + data.hex()
    if kind == 8:
        length, digest, *_ = asset(Cursor(data))
        return f"{length} bytes of {digest.hex()}"
    return f"{data[0]}:{data[1:].decode()}"


def hashed(kind, data):
    """Of an asset, what does not say how it is stored."""
    if kind & 31 != 8:
        return data
    if kind & 32:
        c = Cursor(data)
        parts = [hashed(8, c.take(c.varint())) for _ in range(c.varint())]
        return varint(len(parts)) + b"".join(varint(len(part)) + part for part in parts)
    length, digest, *_ = asset(Cursor(data))
    return varint(length) + digest


def varint(n):
    out = b""
    while n >= 0x80:
        out += bytes([n & 0x7F | 0x80])
        n >>= 7
    return out + bytes([n])


def text(t):
    return varint(len(t.encode())) + t.encode()


def token(scope, manifest, database, number, position):
    data = bytes([1, scope]) + manifest.store + struct.pack("<QI", manifest.lineage, database)
    data += (struct.pack("<I", number) if scope == 1 else b"") + struct.pack("<Q", position)
    data += struct.pack("<I", xxh3_64_intdigest(data) & 0xFFFFFFFF)
    return "token " + base64.b64encode(data).decode()


def time_of(commit):
    """That of a commit, where its last entry is there."""
    last = commit[-1]
    return struct.unpack("<q", struct.pack("<Q", last["time"]))[0] if last["last"] else None


class Store:
    def __init__(self, journal):
        self.store, self.manifest = journal.manifest.store, journal.manifest
        self.users, self.names, self.zones, self.byName, self.entries = {}, [], {}, {}, {}
        self.activity, self.marks, self.states, places = {}, {}, {}, {}
        self.policy, self.horizons = (0, 0, 0), {}
        self.chunks = Chunks(journal.files, self.store, places)
        self.rows = Rows(self.manifest.secret)
        packed = any(s["packed"] for s in self.manifest.segments)
        self.shares = Shares(self.manifest.secret, packed)
        self.subscriptions = Subscriptions(self.manifest.secret, packed)
        self.devices = Devices(self.manifest.secret)
        self.requests = Requests(self.manifest.secret)
        checkpoint, self.before = journal.manifest.checkpoint, None
        for commit in journal.commits:
            touched = {}
            if checkpoint and not self.before and commit[0]["offset"] >= checkpoint["offset"]:
                self.before = [part.copy() for part in self.parts()]
            if any(f["kind"] == 37 for f in commit):
                before = self.hashes()
            for f in commit:
                kind, d = f["kind"], f.get("decoded")
                if d is not None:
                    self.shares.apply(f, self.entries.get(f["zone"], {}))
                    self.subscriptions.apply(f, time_of(commit))
                    self.devices.apply(f)
                    self.requests.apply(f, time_of(commit))
                if kind in (32, 33):
                    entries = self.entries.setdefault(f["zone"], {})
                    self.rows.replace(f, entries.get(d["name"]))
                    entries[d["name"]] = f
                    touched[f["zone"]] = f["version"] & (1 << 52) - 1
                elif kind == 34:
                    self.zones[d["number"]] = d
                    if d["state"] != 4:
                        self.byName[d["database"], d["name"]] = d["number"]
                        self.activity[d["number"]] = f["offset"]
                    if d["state"] != 1:
                        self.entries.pop(d["number"], None)
                        self.rows.drop(d["number"])
                        touched.pop(d["number"], None)
                elif kind == 35:
                    self.users[d[0]] = d[1]
                elif kind == 36:
                    self.names += d["names"]
                elif kind == 37:
                    self.marks[d[1]] = d, before
                elif kind == 38:
                    self.marks.pop(d, None)
                elif kind == 39:
                    self.policy = d
                elif kind == 46:
                    self.rows.declare(f)
                elif kind == 47:
                    self.rows.build(f, self.entries.get(f["zone"], {}))
                elif kind == 44:
                    self.horizons[f["zone"]] = d
                    touched[f["zone"]] = f["offset"]
                elif kind == 42:
                    places.update((address, where) for address, *where in d)
                elif kind == 43:
                    for address in d:
                        places.pop(address, None)
            self.activity.update(touched)
            if commit[-1]["last"]:
                self.states[commit[-1]["offset"] + 1] = self.hashes()

    def parts(self):
        """What a checkpoint is compared with."""
        return [self.rows, self.shares, self.subscriptions, self.devices, self.requests]

    def databases(self):
        return [(0, "public")] + sorted(self.users.items())

    def living(self, database):
        living = {n: self.zones[i] for (d, n), i in self.byName.items()
                  if d == database and self.zones[i]["state"] == 1}
        for name in ["_defaultZone"] + sorted(set(living) - {"_defaultZone"}):
            zone = living.get(name, dict(number=None, capabilities=0))
            entries = self.entries.get(zone["number"], {})
            yield name, zone, entries, [f for _, f in sorted(entries.items()) if f["kind"] == 32]

    def is_share(self, f):
        """Whether it is the record of a share, which is no part of what is hashed."""
        return self.names[f["decoded"]["type"]] == "cloudkit.share"

    def hashes(self):
        return {name: self.hash(database, 1) for database, name in self.databases()}

    def hash(self, database, system):
        zones = [self.digest(name, [f for f in records if not self.is_share(f)], system)
                 for name, _, _, records in self.living(database)
                 if records or name != "_defaultZone"]
        return hashlib.sha256(varint(len(zones)) + b"".join(zones)).hexdigest()

    def dump(self):
        lines = []
        for database, name in self.databases():
            lines += ["", f"database {name}"]
            for zone_name, z, entries, records in self.living(database):
                lines.append(f"zone {zone_name} capabilities {z['capabilities']}")
                for f in records:
                    lines += self.record(f)
                if z["capabilities"] & 1:
                    horizon = self.horizons.get(z["number"], 0)
                    feed = sorted((f for f in entries.values()
                                   if f["kind"] == 32 or f["offset"] > horizon),
                                  key=lambda f: f["version"])
                    lines += ["changed " + f["decoded"]["name"] for f in feed if f["kind"] == 32]
                    lines += [f"deleted {f['decoded']['name']} {self.names[f['decoded']['type']]}"
                              for f in feed if f["kind"] == 33]
                    last = feed[-1]["version"] if feed else 0
                    last = max(last, self.manifest.version(horizon) if horizon else 0)
                    lines.append(token(1, self.manifest, database, z["number"], last))
            if database:
                lines += self.feed(database)
            for system, word in enumerate(("hash", "system-hash")):
                lines.append(f"{word} {self.hash(database, system)}")
        lines += self.rows.lines(self.names, self.entries)
        for _, ((time, offset, chain, name), state) in sorted(self.marks.items()):
            lines += [f"mark {name} at {time} offset {offset}", "  chain %016x" % chain]
            lines += self.state(state)
        start, policy, _ = self.policy
        if policy:
            # The samples that have a policy keep everything.
            lines.append(f"history from {start}")
            for end, state in sorted(self.states.items()):
                if end > start:
                    lines += [f"state {end}"] + self.state(state)
        return lines

    def state(self, hashes):
        """Who had written by now had written nothing then."""
        empty = hashlib.sha256(varint(0)).hexdigest()
        return [f"  system-hash {name} {hashes.get(name, empty)}" for _, name in self.databases()]

    def feed(self, database):
        feed = sorted((at, self.zones[n]) for n, at in self.activity.items()
                      if self.zones[n]["database"] == database)
        lines = [f"zone-changed {z['name']}" for _, z in feed
                 if z["state"] == 1 and z["capabilities"] & 1]
        lines += [f"zone-{'deleted' if z['state'] == 2 else 'purged'} {z['name']}"
                  for _, z in feed
                  if z["state"] != 1 and z["capabilities"] & 1
                  and self.byName[database, z["name"]] == z["number"]]
        last = self.manifest.version(feed[-1][0]) if feed else 0
        return lines + [token(2, self.manifest, database, 0, last)]

    def fields(self, f):
        return sorted((self.names[number], kind, data) for number, kind, data
                      in f["decoded"]["fields"])

    def record(self, f):
        d = f["decoded"]
        lines = [f"record {d['name']}", f"  type {self.names[d['type']]}", f"  tag {f['version']}",
                 f"  created {d['created']} by {self.users[d['creator']]}",
                 f"  modified {d['modified']} by {self.users[d['modifier']]}"]
        if d["parent"] is not None:
            lines.append(f"  parent {d['parent']}")
        for name, kind, data in self.fields(f):
            word = (KINDS[kind & 31] + "-list" if kind & 31 else "list") if kind & 32 \
                else KINDS[kind & 31]
            if kind & 64:
                word = "encrypted " + word
            lines.append(f"  field {name} {word} {value(kind, data)}")
            lines += [self.chunks.describe(a) for a in assets(kind, data)]
        return lines

    def digest(self, zone_name, records, system):
        total = 0
        for f in records:
            d, fields = f["decoded"], self.fields(f)
            data = text(d["name"]) + text(self.names[d["type"]])
            data += b"\0" if d["parent"] is None else b"\1" + text(d["parent"])
            data += varint(len(fields))
            for name, kind, bits in fields:
                bits = hashed(kind, bits)
                data += text(name) + bytes([kind]) + varint(len(bits)) + bits
            if system:
                data += struct.pack("<Qqq", f["version"], d["created"], d["modified"])
                data += text(self.users[d["creator"]]) + text(self.users[d["modifier"]])
            total += int.from_bytes(hashlib.sha256(data).digest(), "little")
        sum_bytes = (total % (1 << 256)).to_bytes(32, "little")
        return hashlib.sha256(text(zone_name) + varint(len(records)) + sum_bytes).digest()


def describe(files):
    try:
        j = Journal(files)
        store = Store(j)
    except Damage as damage:
        lines = ["opens no"] + ([f"row {damage.row}"] if damage.row else [])
        newer = damage.kind.startswith(("format.newer", "frame.newer", "frame.unknown kind"))
        cause = "newerFormat" if newer else "damaged"
        return lines + [f"cause {cause}", damage.line()]
    listed = {s["file"] for s in j.manifest.segments} | {j.name} | in_use(j)
    # An opening reads from a checkpoint on that is of use.
    begin = j.manifest.checkpoint["offset"] if state(j) else 0
    read = [c for c in j.commits if c[-1]["offset"] >= begin]
    lines = ["opens yes", f"row {j.row}", f"clean {'yes' if j.row == 'K' else 'no'}",
             f"possible-loss {'yes' if j.row in 'CJ' else 'no'}", f"end {j.end}",
             f"commits {sum(c[-1]['last'] for c in read)}", f"dropped-bytes {j.dropped}"]
    lines += [f"discarded {n}" for n in sorted(files)
              if n not in listed and STRAY.fullmatch(n)]
    if j.manifest.checkpoint or j.manifest.checkpoint_fault:
        print("  checkpoint", j.checkpoint_fault() or "whole")
        declared(j, *(store.before or store.parts()))
    store.shares.check(store.zones, store.entries)
    faults = [fault.line() for fault in (j.manifest.fault, j.fault) if fault]
    return lines + faults + store.dump()


def main():
    wrong = 0
    for folder in sys.argv[1:]:
        files = {n: open(os.path.join(folder, n), "rb").read() for n in os.listdir(folder)}
        expected = files.pop("expected.txt").decode().split("\n")[:-1]
        if "description" in files:
            found = index(files)
        elif "tokens.txt" in files:
            found = [token_line(line) for line in files["tokens.txt"].decode().splitlines()]
        elif "system-fields.txt" in files:
            lines = files["system-fields.txt"].decode().splitlines()
            found = [system_fields(bytes.fromhex(line)) for line in lines]
        elif any(n.endswith(".archive") for n in files):
            try:
                found = describe(files_of(files))
            except Damage as damage:
                newer = damage.kind.startswith("format.newer")
                cause = "newerFormat" if newer else "damaged"
                found = ["opens no", f"cause {cause}", damage.line()]
        else:
            found = describe(files)
        same = found == expected
        wrong += not same
        print("same" if same else "DIFFERENT", folder)
        if not same:
            for a, b in zip_longest(found, expected, fillvalue=""):
                if a != b:
                    print("  found   ", a, "\n  expected", b)
                    break
    sys.exit(wrong > 0)


main()
