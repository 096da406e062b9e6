internal import StratusBytes
internal import StratusFiles

/// The segments of a journal at one moment, from which entries are read by their offsets.
///
/// A value: whoever holds one goes on reading what it names, whatever the writer does meanwhile.
package struct JournalView: Sendable {
    package struct Segment: Sendable {
        package var base: JournalOffset
        /// Nothing at or behind it belongs to the store; of the active segment, its limit.
        package var end: JournalOffset
        package var limit: JournalOffset
        let salt: UInt64
        let file: any StorageFile
    }

    package private(set) var segments: [Segment] = []

    init() {}

    mutating func add(
        _ segment: Manifest.Segment, file: any StorageFile
    ) {
        segments.append(
            Segment(
                base: segment.base,
                end: segment.state == .active ? segment.limit : segment.end,
                limit: segment.limit, salt: segment.salt, file: file))
    }

    mutating func endLast(at end: JournalOffset) {
        endSegment(segments.count - 1, at: end)
    }

    mutating func endSegment(_ number: Int, at end: JournalOffset) {
        segments[number].end = end
    }

    /// The segment that holds `offset`, or nil where that offset lies in a gap: nothing was ever
    /// kept there, whatever a lost future may have said.
    package func segment(at offset: JournalOffset) -> Segment? {
        var low = 0
        var high = segments.count
        while low < high {
            let middle = (low + high) / 2
            if segments[middle].base <= offset { low = middle + 1 } else { high = middle }
        }
        guard low > 0, offset < segments[low - 1].end,
            offset >= segments[low - 1].base.advanced(byBytes: SegmentHeader.length)
        else { return nil }
        return segments[low - 1]
    }

    /// Reads and verifies the entry at `offset`, whose frame is `length` bytes long.
    package func entry(
        at offset: JournalOffset, frameLength length: Int
    ) throws(JournalError) -> JournalEntry {
        guard let segment = segment(at: offset) else { throw .noEntry(offset) }
        let place = offset.bytes(since: segment.base)
        let room = segment.end.bytes(since: offset)
        guard length >= FrameFormat.headerLength, length <= room else { throw .noEntry(offset) }
        let bytes: [UInt8]
        do {
            bytes = try segment.file.read(place..<place + length)
        } catch {
            throw .storage(error)
        }
        do throws(FrameFault) {
            let header = try FrameHeader(
                bytes.span, at: 0, end: length, offset: offset, salt: segment.salt)
            try header.verifyPayload(bytes.span, at: 0)
            guard header.frameLength == length else { throw .length }
            return JournalEntry(offset: offset, header: header, place: 0, bytes: bytes)
        } catch {
            throw .damaged(
                JournalDamage(
                    .frame(error), file: segment.file.name, byte: place, offset: offset))
        }
    }

    /// The same where the length is not known.
    package func entry(at offset: JournalOffset) throws(JournalError) -> JournalEntry {
        guard let segment = segment(at: offset) else { throw .noEntry(offset) }
        let place = offset.bytes(since: segment.base)
        let length: Int
        do {
            let bytes = try segment.file.read(place..<place + FrameFormat.headerLength)
            length = try FrameHeader(
                bytes.span, at: 0, end: segment.end.bytes(since: offset), offset: offset,
                salt: segment.salt
            ).frameLength
        } catch let error as StorageError {
            throw .storage(error)
        } catch {
            throw .noEntry(offset)
        }
        return try entry(at: offset, frameLength: length)
    }
}
