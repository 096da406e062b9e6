"""Assets, read as Assets.md says; see store.py."""
import hashlib

from base import VERSION, Damage, u
from xxhash import xxh3_64_intdigest

LEAST, USUAL, MOST = 16384, 65536, 262144
NUMBERS = [int.from_bytes(hashlib.sha256(bytes([b])).digest()[:8], "little") for b in range(256)]
STRICT, EASY = ((1 << 18) - 1) << 44, ((1 << 14) - 1) << 48


def sha(data):
    return hashlib.sha256(data).digest()


def unpacked(block, length):
    """What an LZ4 block stands for, if that has so many bytes; else None."""
    out, place = bytearray(), 0

    def count(n):
        nonlocal place
        more = n == 15
        while more:
            n, more = n + block[place], block[place] == 255
            place += 1
        return n

    try:
        while True:
            token = block[place]
            place += 1
            literals = count(token >> 4)
            if place + literals > len(block) or len(out) + literals > length:
                return None
            out += block[place:place + literals]
            place += literals
            if place == len(block):
                return bytes(out) if len(out) == length else None
            distance = block[place] | block[place + 1] << 8
            place += 2
            copied = count(token & 15) + 4
            if not 0 < distance <= len(out) or len(out) + copied > length:
                return None
            pattern = bytes(out[-distance:])
            out += (pattern * (copied // distance + 1))[:copied]
    except IndexError:
        return None


def cuts(data):
    """The lengths of the chunks that a writer makes of an asset."""
    while data:
        end, value = min(len(data), MOST), 0
        for place in range(LEAST, end):
            value = (2 * value + NUMBERS[data[place]]) & (1 << 64) - 1
            if not value & (STRICT if place < USUAL else EASY):
                end = place + 1
                break
        yield end
        data = data[end:]


class Chunks:
    """The chunks of a store; `places` is what its journal says of them."""

    def __init__(self, files, store, places):
        self.files, self.store, self.places = files, store, places

    def header(self, name, number):
        def need(holds, word):
            if not holds:
                raise Damage("chunk segment." + word, name, 0)

        need(name in self.files, "missing")
        data = self.files[name]
        need(len(data) >= 64, "length")
        need(data[:8] == bytes.fromhex("895354430d0a1a0a"), "magic")
        need(xxh3_64_intdigest(data[:56]) == u(data, 56, 8), "checksum")
        need(u(data, 10, 2) <= VERSION, "newer format")
        need(not any(data[12:16] + data[48:56]), "reserved")
        need(data[16:32] == self.store, "store")
        need(u(data, 32, 8) == number, "number")
        return data

    def read(self, address):
        """The bytes of a chunk, and where it lies."""
        if address not in self.places:
            raise Damage("asset.chunk")
        number, place, stored, length = self.places[address]
        name = "chunks-%016x" % number
        data = self.header(name, number)

        def need(holds, word):
            if not holds:
                raise Damage("chunk." + word, name, place)

        end = place + 80 + (stored + 7) // 8 * 8
        need(end <= len(data), "length")
        head, body = data[place:place + 80], data[place + 80:end]
        seed = (u(data, 40, 8) + place) & (1 << 64) - 1
        need(xxh3_64_intdigest(head[8:], seed=seed) == u(head, 0, 8), "header checksum")
        encoding = head[24]
        need(encoding < 2, f"newer encoding {encoding}")
        need(not any(head[25:32]), "reserved")
        sizes = u(head, 16, 4), u(head, 20, 4)
        need(0 < sizes[0] and 0 < sizes[1] <= MOST, "lengths")
        need(sizes[0] < sizes[1] if encoding else sizes[0] == sizes[1], "lengths")
        need((head[48:], *sizes) == (address, stored, length), "other")
        need(not any(body[stored:]), "padding")
        body = body[:stored]
        need(xxh3_64_intdigest(body) == u(head, 8, 8), "checksum")
        content = unpacked(body, length) if encoding else body
        need(content is not None, "compression")
        need(sha(head[32:48] + sha(content)) == address, "address")
        return content, name, place

    def extents(self, extents, depth):
        """The chunks of an asset, one after the other."""
        for address, length in extents:
            content, name, place = self.read(address)
            if depth == 0:
                if len(content) != length:
                    raise Damage("chunk.list", name, place)
                yield content
                continue
            rows = [(content[at:at + 32], u(content, at + 32, 8))
                    for at in range(0, len(content), 40)]
            good = (len(content) % 40 == 0 and sum(n for _, n in rows) == length
                    and all(0 < n and (depth > 1 or n <= MOST) for _, n in rows))
            if not good:
                raise Damage("chunk.list", name, place)
            yield from self.extents(rows, depth - 1)

    def describe(self, asset):
        """What an asset holds, or why it cannot be read."""
        length, digest, depth, extents = asset
        whole, total, lengths = hashlib.sha256(), hashlib.sha256(), []
        kept = b""
        try:
            for chunk in self.extents(extents, depth):
                whole.update(chunk)
                total.update(sha(chunk) + len(chunk).to_bytes(8, "little"))
                lengths.append(len(chunk))
                kept += chunk
        except Damage as damage:
            return "    " + damage.line() if damage.file else "    is not there"
        if total.digest() != digest or sum(lengths) != length:
            return "    is another"
        if lengths != list(cuts(kept)):
            return "    was cut elsewhere"
        return f"    holds sha256 {whole.hexdigest()}"
