"""What all pages have in common; see store.py."""
VERSION = 1
MASK = (1 << 64) - 1


class Damage(Exception):
    def __init__(self, kind, file="", byte=0, offset=None, row=None):
        super().__init__(kind)
        self.kind, self.file, self.byte, self.offset, self.row = kind, file, byte, offset, row

    def line(self):
        place = "" if self.offset is None else f" offset {self.offset}"
        return f"damage {self.file} byte {self.byte}{place} kind {self.kind}"


def u(data, place, size):
    return int.from_bytes(data[place:place + size], "little")


class Cursor:
    def __init__(self, data):
        self.data, self.place = data, 0

    def take(self, count):
        if self.place + count > len(self.data):
            raise Damage("payload.content")
        self.place += count
        return self.data[self.place - count:self.place]

    def number(self, size):
        return int.from_bytes(self.take(size), "little")

    def varint(self, bits=64):
        value = shift = 0
        while True:
            byte = self.take(1)[0]
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                if (byte == 0 and shift) or value >> bits:
                    raise Damage("payload.content")
                return value
            shift += 7
            if shift > 63:
                raise Damage("payload.content")

    def signed(self):
        value = self.varint()
        return (value >> 1) ^ -(value & 1)

    def text(self, limit=255, least=0):
        length = self.varint()
        if not least <= length <= limit:
            raise Damage("payload.content")
        return self.take(length).decode()

    def left(self):
        return len(self.data) - self.place

    def extensions(self):
        """Passes over what a newer version added."""
        count, tag = self.varint(), -1
        if not 1 <= count <= 255:
            raise Damage("payload.content")
        for _ in range(count):
            before, tag = tag, self.varint()
            if tag <= before:
                raise Damage("payload.content")
            self.take(self.varint())
            if tag % 2 == 0:
                raise Damage("format.newer extension")

    def locations(self, count):
        """First numbers and offsets of entries `names`, of `count` names."""
        found = [(-1, 0)]
        for _ in range(self.varint()):
            (before, start), (number, offset) = found[-1], (self.varint(32), self.varint(52))
            if not (before < number < count and start < offset):
                raise Damage("payload.content")
            found.append((number, offset))
        return found[1:]

    def end(self):
        if self.place != len(self.data):
            raise Damage("payload.content")


def features(data, place, name):
    """Refuses what only a reader may read that knows it: none is known."""
    if u(data, place + 8, 4):
        raise Damage("format.newer features %08x" % u(data, place + 8, 4), name, place + 8)
