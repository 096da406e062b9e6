import StratusBytes

/// The bytes of a chunk segment, read and changed as `Formats/Assets.md` says and by no other
/// means: what makes damage with checksums that hold.
struct ChunkImage {
    private(set) var bytes: [UInt8]

    static let filePrefix = "chunks-"
    static let headerLength = 80

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    private var salt: UInt64 { bytes.span.uint64(at: 40) }

    /// Where the frames begin.
    var frames: [Int] {
        var places: [Int] = []
        var place = 64
        while place + Self.headerLength <= bytes.count, storedLength(place) > 0 {
            places.append(place)
            place = end(place)
        }
        return places
    }

    private func end(_ place: Int) -> Int {
        place + Self.headerLength + (storedLength(place) + 7) / 8 * 8
    }

    /// Of the chunk whose frame begins at `place`.
    func storedLength(_ place: Int) -> Int { Int(bytes.span.uint32(at: place + 16)) }

    func address(_ place: Int) -> [UInt8] { Array(bytes[place + 48..<place + 80]) }

    /// Where the chunk lies as it is stored.
    func stored(_ place: Int) -> Range<Int> {
        let start = place + Self.headerLength
        return start..<start + storedLength(place)
    }

    mutating func flip(_ place: Int) { bytes[place] ^= 0x10 }

    mutating func cut(to count: Int) { bytes.removeLast(bytes.count - count) }

    mutating func overwrite(_ place: Int, with new: some Sequence<UInt8>) {
        for (index, byte) in zip(place..., new) { bytes[index] = byte }
    }

    /// Makes the checksum of the segment's header right.
    mutating func sealHeader() { put(Checksum.xxh3(bytes.span, in: 0..<56), at: 56) }

    /// Makes both checksums of a frame right.
    mutating func seal(_ place: Int) {
        put(Checksum.xxh3(bytes.span, in: stored(place)), at: place + 8)
        let header = place + 8..<place + Self.headerLength
        put(Checksum.xxh3(bytes.span, in: header, seed: salt &+ UInt64(place)), at: place)
    }

    /// Gives a frame, whose chunk is stored as it is, the address of what is in it.
    mutating func setAddress(_ place: Int) {
        let domain = bytes[place + 32..<place + 48]
        let content = SHA256.hash(Array(bytes[stored(place)]))
        overwrite(place + 48, with: SHA256.hash(Array(domain) + content))
    }

    private mutating func put(_ value: UInt64, at place: Int) {
        overwrite(place, with: (0..<8).map { UInt8(truncatingIfNeeded: value >> ($0 * 8)) })
    }

    /// Without the zeros behind the last frame.
    var withoutZeros: [UInt8] { Array(bytes[..<(frames.last.map(end) ?? 64)]) }
}

/// What a record says of an asset: `Formats/Record.md`, "Assets".
struct AssetImage {
    var length: UInt64
    var digest: [UInt8]
    var depth: UInt8
    var extents: [(address: [UInt8], length: UInt64)]

    var bytes: [UInt8] {
        var writer = ByteWriter()
        writer.varint(length)
        writer.append(digest)
        writer.uint8(depth)
        writer.varint(extents.count)
        for (address, length) in extents {
            writer.append(address)
            writer.varint(length)
        }
        return writer.bytes
    }

    init(_ bytes: [UInt8]) throws {
        let span = bytes.span
        var cursor = ByteCursor()
        length = try cursor.varint(span)
        digest = Array(bytes[try cursor.range(span, count: 32)])
        depth = try cursor.uint8(span)
        extents = []
        for _ in 0..<(try cursor.varint(span)) {
            let address = Array(bytes[try cursor.range(span, count: 32)])
            extents.append((address, try cursor.varint(span)))
        }
    }
}

/// The payload of a new record whose only field is an asset: `Formats/Record.md`, "Record".
struct AssetRecordImage {
    /// Up to the name.
    private let head: [UInt8]
    private let field: UInt16
    var asset: AssetImage

    init(_ payload: [UInt8]) throws {
        let span = payload.span
        var cursor = ByteCursor()
        guard try cursor.varint(span) == 128 else { throw FormatError.value("flags") }
        for _ in 0..<3 { _ = try cursor.varint(span) }
        _ = try cursor.text(span, upTo: 255)
        head = Array(payload[..<cursor.position])
        // How much the assets take, twice, and how many fields there are.
        for _ in 0..<3 { _ = try cursor.varint(span) }
        guard try cursor.uint8(span) == 1 else { throw FormatError.value("width") }
        field = try cursor.uint16(span)
        guard try cursor.uint8(span) == 8 else { throw FormatError.value("kind") }
        let length = Int(try cursor.uint8(span))
        asset = try AssetImage(Array(payload[try cursor.range(span, count: length)]))
    }

    var payload: [UInt8] {
        var writer = ByteWriter()
        writer.append(head)
        writer.varint(asset.length + 1)
        writer.varint(0)
        writer.varint(1)
        let value = asset.bytes
        writer.uint8(1)
        writer.uint16(field)
        writer.uint8(8)
        writer.uint8(UInt8(value.count))
        writer.append(value)
        return writer.bytes
    }
}
