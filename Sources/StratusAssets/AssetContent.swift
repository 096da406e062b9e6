package import StratusBytes

/// What an asset consists of: how long it is, what its bytes are known by, and its extents.
package struct AssetContent: Hashable, Sendable {
    /// A stretch of the asset: the chunk that stands for it, and its length in bytes.
    package struct Extent: Hashable, Sendable {
        package var address: ChunkAddress
        package var length: Int
    }

    /// A list of extents, by the extent that names it: the same chunk named with another length is
    /// another list.
    package struct List: Hashable, Sendable {
        package var extent: Extent
        /// Of the extents in it.
        package var depth: Int

        package init(extent: Extent, depth: Int) {
            self.extent = extent
            self.depth = depth
        }

        /// The extents in it, out of the bytes of its chunk; nil where these are no such list.
        package func extents(_ bytes: Span<UInt8>) -> [Extent]? {
            Extent.list(bytes, depth: depth, length: extent.length)
        }
    }

    /// In bytes.
    package var length = 0
    /// Of the bytes alone: the same in every domain and every store.
    package var digest: ContentDigest
    /// 0: the extents are the asset's own chunks; n: they are lists of extents of depth n - 1.
    package var depth = 0
    /// In order; at most ``extentLimit``.
    package var extents: [Extent] = []

    /// A longer list lies in chunks of its own.
    package static let extentLimit = 1000
    /// More than any asset needs.
    static let depthLimit = 7
    package static let lengthLimit = 1 << 60

    init(digest: ContentDigest) { self.digest = digest }

    package func hash(into hasher: inout Hasher) { hasher.combine(digest) }
}

// How it lies in the entry of a record: `Formats/Record.md`, "Assets".
extension AssetContent {
    package func write(to writer: inout ByteWriter) {
        writeSummary(to: &writer)
        writer.uint8(UInt8(depth))
        writer.varint(extents.count)
        for extent in extents {
            extent.address.write(to: &writer)
            writer.varint(extent.length)
        }
    }

    /// What does not depend on where and how the asset is stored: length and digest.
    package func writeSummary(to writer: inout ByteWriter) {
        writer.varint(length)
        digest.write(to: &writer)
    }

    /// How many bytes ``write(to:)`` writes.
    package var encodedLength: Int {
        var total = ByteWriter.varintLength(UInt64(length)) + ContentDigest.length + 1
        total += ByteWriter.varintLength(UInt64(extents.count))
        for extent in extents {
            total += ChunkAddress.length + ByteWriter.varintLength(UInt64(extent.length))
        }
        return total
    }

    package init(
        _ bytes: Span<UInt8>, _ cursor: inout ByteCursor
    ) throws(FormatError) {
        self = try AssetContent(summary: bytes, &cursor)
        depth = Int(try cursor.uint8(bytes))
        guard depth <= Self.depthLimit else { throw .value("depth") }
        let count = try cursor.count(bytes, upTo: Self.extentLimit)
        extents.reserveCapacity(count)
        var total = 0
        for _ in 0..<count {
            let place = try cursor.range(bytes, count: ChunkAddress.length).lowerBound
            let covered = try cursor.count(bytes, upTo: length - total)
            guard covered > 0, depth > 0 || covered <= Chunker.most else {
                throw .value("extent length")
            }
            total += covered
            extents.append(Extent(address: ChunkAddress(bytes, at: place), length: covered))
        }
        guard total == length else { throw .value("asset length") }
    }

    /// The first part alone: length and digest, without the extents.
    package init(
        summary bytes: Span<UInt8>, _ cursor: inout ByteCursor
    ) throws(FormatError) {
        let length = try cursor.count(bytes, upTo: Self.lengthLimit)
        let place = try cursor.range(bytes, count: ContentDigest.length).lowerBound
        self.init(digest: ContentDigest(bytes, at: place))
        self.length = length
    }
}

// How a list lies in a chunk: `Formats/Assets.md`, "Lists".
extension AssetContent.Extent {
    static let rowLength = ChunkAddress.length + 8

    static func write(_ extents: ArraySlice<AssetContent.Extent>) -> [UInt8] {
        var writer = ByteWriter(capacity: extents.count * rowLength)
        for extent in extents {
            extent.address.write(to: &writer)
            writer.uint64(UInt64(extent.length))
        }
        return writer.bytes
    }

    /// The extents in a list of depth `depth`, which stand for `length` bytes together; nil where
    /// they do not.
    static func list(
        _ bytes: Span<UInt8>, depth: Int, length: Int
    ) -> [AssetContent.Extent]? {
        guard !bytes.isEmpty, bytes.count % rowLength == 0 else { return nil }
        var extents: [AssetContent.Extent] = []
        extents.reserveCapacity(bytes.count / rowLength)
        var rest = length
        for place in stride(from: 0, to: bytes.count, by: rowLength) {
            let covered = bytes.uint64(at: place + ChunkAddress.length)
            guard covered > 0, covered <= UInt64(rest),
                depth > 0 || covered <= UInt64(Chunker.most)
            else { return nil }
            rest -= Int(covered)
            extents.append(
                AssetContent.Extent(
                    address: ChunkAddress(bytes, at: place), length: Int(covered)))
        }
        return rest == 0 ? extents : nil
    }
}
