package import StratusBytes
package import StratusFiles

/// Reads chunks from segments of which anything may be damaged, and encodes them for new segments with
/// the same numbers.
///
/// A chunk is whole where its bytes have its address: nothing else that a segment says is believed.
package struct ChunkSalvage {
    private let storage: any Storage
    private let storeID: Hash128
    /// Of the new segments, each with its number added.
    private let salt: UInt64

    package init(of storage: any Storage, for storeID: Hash128, _ randomness: Randomness) {
        self.storage = storage
        self.storeID = storeID
        salt = randomness.next()
    }

    /// The first bytes of a new segment.
    package func header(ofSegment number: UInt64) -> [UInt8] {
        ChunkSegmentHeader(storeID: storeID, number: number, salt: salt &+ number).encoded()
    }

    /// The frame of a chunk for the place where the journal says that it lies; nil where it is not
    /// whole.
    package func frame(
        _ address: ChunkAddress, at place: ChunkLocation
    ) throws(StorageError) -> [UInt8]? {
        guard let file = try open(place.file), place.byte + place.frameLength <= file.length else {
            return nil
        }
        let bytes = try file.read(place.byte..<place.byte + place.frameLength)
        let stored = ChunkFrame.headerLength..<ChunkFrame.headerLength + place.storedLength
        let frame = ChunkFrame(
            storedLength: place.storedLength, length: place.length,
            encoding: place.storedLength == place.length ? .plain : .lz4,
            domain: ChunkFrame.domain(bytes.span), address: address,
            checksum: Checksum.xxh3(bytes.span, in: stored))
        // Header and padding are written anew.
        var writer = ByteWriter(capacity: place.frameLength)
        frame.append(
            bytes.span.extracting(stored), to: &writer, at: place.byte, salt: salt &+ place.number)
        guard (try? frame.content(of: writer.bytes)) != nil else { return nil }
        return writer.bytes
    }

    /// Gives `body` the frames of a segment that say which chunks they are, in their order, as far as
    /// its header holds.
    package func forEachFrame(
        ofSegment number: UInt64, _ body: (ChunkAddress, ChunkLocation) -> Void
    ) throws(StorageError) {
        guard let file = try open(ChunkSegmentHeader.fileName(number)),
            file.length >= ChunkSegmentHeader.length
        else { return }
        let first = try file.read(0..<ChunkSegmentHeader.length)
        guard let header = try? ChunkSegmentHeader(first.span) else { return }
        var place = ChunkSegmentHeader.length
        var window: [UInt8] = []
        var start = place
        while place + ChunkFrame.headerLength <= file.length {
            if place < start || place + ChunkFrame.headerLength > start + window.count {
                start = place
                window = try file.read(start..<min(start + Self.windowLength, file.length))
            }
            let bytes = window.span.extracting(place - start..<window.count)
            // Behind the last frame there are zeros, with which none begins.
            guard bytes.uint64(at: 0) != 0,
                let frame = try? ChunkFrame(header: bytes, at: place, salt: header.salt)
            else {
                place += ChunkFrame.alignment
                continue
            }
            body(
                frame.address,
                ChunkLocation(
                    number: number, byte: place, storedLength: frame.storedLength,
                    length: frame.length))
            place += ChunkFrame.frameLength(storedLength: frame.storedLength)
        }
    }

    /// So much is read at once.
    private static let windowLength = 1 << 20

    /// The numbers of the segments that there are.
    package func segmentNumbers() throws(StorageError) -> [UInt64] {
        try storage.list().compactMap(ChunkSegmentHeader.number(ofFile:)).sorted()
    }

    private func open(_ name: String) throws(StorageError) -> (any StorageFile)? {
        do throws(StorageError) {
            return try storage.open(name)
        } catch {
            guard error.kind == .notFound else { throw error }
            return nil
        }
    }
}
