package import StratusBytes
package import StratusFiles
internal import Synchronization

/// The chunk segments of one store: chunks are appended to the last one and read from all.
///
/// It knows where it wrote a chunk and nothing else. The journal says which chunks there are, and
/// which records need them; a chunk that the journal never named is unreferenced.
package final class ChunkStore: Sendable {
    /// Whether a file has a name of a segment of chunks.
    package static func isSegment(_ name: String) -> Bool {
        ChunkSegmentHeader.number(ofFile: name) != nil
    }

    struct Segment {
        let file: any StorageFile
        let header: ChunkSegmentHeader
        /// What has been written; behind it follows the buffer.
        var end: Int
    }

    private struct State {
        var current: Segment?
        var buffer = ByteWriter(capacity: ChunkStore.writeLength)
        var nextNumber: UInt64
        /// Segments with something that was written and not synced, the current one too.
        var unsynced: [any StorageFile] = []
        /// After a failed sync nothing is known of what was not durable.
        var failure: ChunkError?
    }

    /// The segments that are open for reading, the last used at the end.
    private struct OpenSegments {
        var segments: [(number: UInt64, segment: Segment)] = []

        mutating func segment(_ number: UInt64) -> Segment? {
            guard let place = segments.lastIndex(where: { $0.number == number }) else { return nil }
            segments.append(segments.remove(at: place))
            return segments[segments.count - 1].segment
        }

        /// Returns the one that has to be closed for it.
        mutating func add(_ segment: Segment) -> Segment? {
            let isFull = segments.count >= ChunkStore.openLimit
            let closed = isFull ? segments.removeFirst().segment : nil
            segments.append((segment.header.number, segment))
            return closed
        }
    }

    package let storage: any Storage
    private let storeID: Hash128
    private let randomness: Randomness
    private let segmentLength: Int
    /// Held while chunks are written. Reading does not take it.
    private let state: Mutex<State>
    private let reading = Mutex(OpenSegments())
    /// One sync at a time: a file leaves `unsynced` before its sync has ended, and a later caller
    /// must wait for that end.
    private let syncing = Mutex(())

    /// So much is written at once.
    private static let writeLength = 1 << 20
    private static let page = 4096
    private static let openLimit = 32

    /// New segments get numbers above all that files of the storage state, and a length of
    /// `segmentLength` bytes.
    package init(
        in storage: any Storage, storeID: Hash128, randomness: Randomness,
        segmentLength: Int = 64 << 20
    ) throws(ChunkError) {
        self.storage = storage
        self.storeID = storeID
        self.randomness = randomness
        let least = ChunkSegmentHeader.length + ChunkFrame.frameLength(storedLength: Chunker.most)
        self.segmentLength = max(segmentLength, least)
        do {
            // What is no number of ours is no segment.
            let numbers = try storage.list().compactMap(ChunkSegmentHeader.number(ofFile:))
                .filter { $0 < ChunkLocation.numberLimit }
            state = Mutex(State(nextNumber: (numbers.max() ?? 0) + 1))
        } catch {
            throw .storage(error)
        }
    }

    /// The segment that is being written, or would be begun next.
    package var currentNumber: UInt64 {
        state.withLock { $0.current?.header.number ?? $0.nextNumber }
    }

    /// Appends a chunk; it is durable, and may be named, after the next ``sync()``.
    package func append(_ chunk: EncodedChunk) throws(ChunkError) -> ChunkLocation {
        try state.withLock { state throws(ChunkError) in try append(chunk, &state) }
    }

    /// All that was appended before is durable when this returns.
    package func sync() throws(ChunkError) {
        try syncing.withLock { _ throws(ChunkError) in
            let files = try state.withLock { state throws(ChunkError) in
                if let failure = state.failure { throw failure }
                try flush(&state)
                defer { state.unsynced = [] }
                return state.unsynced
            }
            do throws(StorageError) {
                for file in files { try file.sync() }
            } catch {
                let failure = ChunkError.storage(error)
                state.withLock { $0.failure = failure }
                throw failure
            }
        }
    }

    /// Nothing is written any more when this returns: later calls that write fail.
    package func close() {
        syncing.withLock { _ in
            state.withLock { state in
                state.failure = state.failure ?? .closed
                // No later process appends to the segment. The room costs nothing but itself.
                if let current = state.current {
                    try? current.file.release(current.end..<current.file.length)
                }
            }
        }
    }

    /// Gives back what a process that died had prepared behind the last byte of the segment that it
    /// wrote: no other process appends to it.
    package static func releaseUnused(in storage: any Storage) throws(StorageError) {
        let numbers = try storage.list().compactMap(ChunkSegmentHeader.number(ofFile:))
        guard let newest = numbers.max() else { return }
        let file = try storage.open(ChunkSegmentHeader.fileName(newest))
        var end = file.length
        while end > 0 {
            let start = max(0, end - writeLength)
            let bytes = try file.read(start..<end)
            if let last = bytes.lastIndex(where: { $0 != 0 }) {
                return try file.release(start + last + 1..<file.length)
            }
            end = start
        }
    }

    /// Ends the segment that is written to, if there is one: the next chunk goes to another one.
    package func endSegment() throws(ChunkError) {
        try state.withLock { state throws(ChunkError) in
            if let failure = state.failure { throw failure }
            guard let current = state.current else { return }
            try flush(&state)
            state.current = nil
            try? current.file.release(current.end..<current.file.length)
        }
        try sync()
    }

    private func append(
        _ chunk: EncodedChunk, _ state: inout State
    ) throws(ChunkError) -> ChunkLocation {
        if let failure = state.failure { throw failure }
        if state.buffer.count >= Self.writeLength { try stream(&state) }
        let length = ChunkFrame.frameLength(storedLength: chunk.stored.count)
        if let current = state.current, current.end + state.buffer.count + length > segmentLength {
            try flush(&state)
            state.current = nil
        }
        let current: Segment
        if let segment = state.current { current = segment } else { current = try begin(&state) }
        let place = current.end + state.buffer.count
        chunk.frame.append(
            chunk.stored.span, to: &state.buffer, at: place, salt: current.header.salt)
        return ChunkLocation(
            number: current.header.number, byte: place, storedLength: chunk.stored.count,
            length: chunk.frame.length)
    }

    /// Makes the segment that is to be written next, if there is none.
    func beginNext() throws(ChunkError) {
        try state.withLock { state throws(ChunkError) in
            if state.current == nil { _ = try begin(&state) }
        }
        try sync()
    }

    private func begin(_ state: inout State) throws(ChunkError) -> Segment {
        let header = ChunkSegmentHeader(
            storeID: storeID, number: state.nextNumber, salt: randomness.next())
        // Also where it fails: another process may have made that one since.
        state.nextNumber += 1
        do {
            let file = try storage.create(
                ChunkSegmentHeader.fileName(header.number), length: segmentLength)
            let segment = Segment(file: file, header: header, end: 0)
            addForReading(segment)
            state.buffer.append(header.encoded())
            state.current = segment
            state.unsynced.append(file)
            return segment
        } catch {
            throw .storage(error)
        }
    }

    /// Writes all that is in the buffer.
    private func flush(_ state: inout State) throws(ChunkError) {
        try write(state.buffer.count, of: &state, .kept)
    }

    /// Writes what is in the buffer but for the part of a page at its end, which would have to be
    /// read again for what follows. While the next bytes are read and compressed the disk has
    /// something to do.
    private func stream(_ state: inout State) throws(ChunkError) {
        guard let current = state.current else { return }
        let end = current.end + state.buffer.count
        try write(end / Self.page * Self.page - current.end, of: &state, .streamed)
    }

    /// Where it fails everything is still in the buffer: a full disk may have room later.
    private func write(
        _ count: Int, of state: inout State, _ mode: WriteMode
    ) throws(ChunkError) {
        guard let current = state.current, count > 0 else { return }
        let end = current.end + count
        do {
            try current.file.reserve(current.end..<end)
            try current.file.append(
                state.buffer.bytes.span.extracting(..<count), at: current.end, mode)
        } catch {
            throw .storage(error)
        }
        state.current?.end = end
        state.buffer.removeFirst(count)
        if !state.unsynced.contains(where: { $0 === current.file }) {
            state.unsynced.append(current.file)
        }
    }
}

// Reading.
extension ChunkStore {
    /// The bytes of the chunk `address`, which the journal says is at `place`; verified.
    package func read(
        _ address: ChunkAddress, at place: ChunkLocation, _ mode: ReadMode = .blocking
    ) throws(ChunkError) -> ArraySlice<UInt8> {
        let (frame, bytes) = try frame(address, at: place, mode)
        do throws(ChunkDamage.Kind) {
            return try frame.content(of: bytes)
        } catch {
            throw .damaged(ChunkDamage(error, file: place.file, byte: place.byte))
        }
    }

    /// The header of a chunk's frame, and all bytes of the frame.
    func frame(
        _ address: ChunkAddress, at place: ChunkLocation, _ mode: ReadMode
    ) throws(ChunkError) -> (ChunkFrame, [UInt8]) {
        let name = place.file
        guard place.isPossible else {
            throw .damaged(ChunkDamage(.otherChunk, file: name, byte: place.byte))
        }
        let length = place.frameLength
        let segment = try segment(place.number, name, mode)
        let bytes: [UInt8]
        do {
            bytes = try segment.file.read(place.byte..<place.byte + length, mode)
        } catch {
            guard error.kind == .truncated else { throw .storage(error) }
            throw .damaged(ChunkDamage(.frame("length"), file: name, byte: place.byte))
        }
        do throws(ChunkDamage.Kind) {
            let frame = try ChunkFrame(
                header: bytes.span, at: place.byte, salt: segment.header.salt)
            guard frame.address == address, frame.storedLength == place.storedLength,
                frame.length == place.length
            else { throw .otherChunk }
            return (frame, bytes)
        } catch {
            throw .damaged(ChunkDamage(error, file: name, byte: place.byte))
        }
    }

    /// Closes the file of a segment.
    func forget(_ number: UInt64) {
        let closed = reading.withLock { reading in
            defer { reading.segments.removeAll { $0.number == number } }
            return reading.segments.first { $0.number == number }
        }
        withExtendedLifetime(closed) {}
    }

    private func addForReading(_ segment: Segment) {
        let closed = reading.withLock { $0.add(segment) }
        withExtendedLifetime(closed) {}
    }

    func segment(
        _ number: UInt64, _ name: String, _ mode: ReadMode
    ) throws(ChunkError) -> Segment {
        if let segment = reading.withLock({ $0.segment(number) }) { return segment }
        // Opening a file may wait for the disk.
        if mode == .resident { throw .storage(StorageError(.notResident, file: name)) }
        let segment = try open(number, name)
        addForReading(segment)
        return segment
    }

    private func open(_ number: UInt64, _ name: String) throws(ChunkError) -> Segment {
        do {
            let file = try storage.open(name)
            let bytes = try file.read(0..<min(file.length, ChunkSegmentHeader.length))
            let header: ChunkSegmentHeader
            do throws(ChunkDamage.Kind) {
                header = try ChunkSegmentHeader(bytes.span)
                guard header.storeID == storeID else { throw .header("store") }
                guard header.number == number else { throw .header("number") }
            } catch {
                throw ChunkError.damaged(ChunkDamage(error, file: name, byte: 0))
            }
            return Segment(file: file, header: header, end: file.length)
        } catch let error as StorageError {
            throw .storage(error)
        } catch let error as ChunkError {
            throw error
        } catch {
            preconditionFailure("there is no third kind of error")
        }
    }
}
