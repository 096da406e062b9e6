internal import StratusBytes
package import StratusFiles

/// The segments of a journal at one moment, from which entries are read by their offsets.
///
/// A value: its holder can read the segments that it lists, whatever the writer does meanwhile.
package struct JournalView: Sendable {
    package struct Segment: Sendable {
        package var base: JournalOffset
        /// Nothing at or behind it belongs to the store; of the active segment, its limit.
        package var end: JournalOffset
        package var limit: JournalOffset
        /// As the manifest lists it.
        package let listed: Manifest.Segment
        /// Where its first entry may lie.
        let first: JournalOffset

        fileprivate init(_ listed: Manifest.Segment) {
            base = listed.base
            end = listed.state == .active ? listed.limit : listed.end
            limit = listed.limit
            first = listed.firstGroup
            self.listed = listed
        }
    }

    package private(set) var segments: [Segment] = []
    let files: SegmentFiles
    /// Whether entries that are read one by one stay in memory. Not those of a commit that may yet
    /// be taken back: its offsets are then used again.
    package var keepsEntries = true

    init(_ files: SegmentFiles) { self.files = files }

    mutating func add(_ segment: Manifest.Segment) { segments.append(Segment(segment)) }

    mutating func removeLast(_ count: Int) { segments.removeLast(count) }

    /// A newer manifest lists a segment otherwise.
    mutating func relist(_ number: Int, as segment: Manifest.Segment) {
        segments[number] = Segment(segment)
    }

    /// `segment` stands in the place of several.
    mutating func replace(_ range: Range<Int>, with segment: Manifest.Segment) {
        segments.replaceSubrange(range, with: [Segment(segment)])
    }

    /// Damage of what lies at `offset`, in the file that holds it.
    package func damage(
        _ kind: JournalDamage.Kind, at offset: JournalOffset
    ) -> JournalDamage {
        guard let segment = segment(at: offset) else {
            return JournalDamage(kind, file: "", byte: 0, offset: offset)
        }
        return JournalDamage(
            kind, file: segment.listed.fileName, byte: segment.byte(of: offset), offset: offset)
    }

    /// The segment that holds `offset`, or nil where that offset lies in a gap: nothing was ever
    /// kept there, whatever a lost future may have said.
    package func segment(at offset: JournalOffset) -> Segment? {
        let count = countOfSegments(begunBy: offset)
        guard count > 0 else { return nil }
        let segment = segments[count - 1]
        return segment.first <= offset && offset < segment.end ? segment : nil
    }

    /// The greatest offset before `offset` that some segment holds; zero where none does.
    package func last(before offset: JournalOffset) -> JournalOffset {
        let begun = segments[..<countOfSegments(begunBy: offset)]
        let last = begun.last { $0.first < min(offset, $0.end) }
        return last.map { min(offset, $0.end).previous } ?? .zero
    }

    private func countOfSegments(begunBy offset: JournalOffset) -> Int {
        var low = 0
        var high = segments.count
        while low < high {
            let middle = (low + high) / 2
            if segments[middle].base <= offset { low = middle + 1 } else { high = middle }
        }
        return low
    }

    /// Reads and verifies the entry at `offset`, whose frame is `length` bytes long. Where that
    /// must not wait and would have to, it fails with the storage's `.notResident`.
    package func entry(
        at offset: JournalOffset, frameLength length: Int, _ mode: ReadMode = .blocking
    ) throws(JournalError) -> JournalEntry {
        guard let segment = segment(at: offset) else { throw .noEntry(offset) }
        let room = segment.end.bytes(since: offset)
        guard length >= FrameFormat.headerLength, length <= room else { throw .noEntry(offset) }
        let cache = files.cache(of: segment.listed)
        if let bytes = cache?.block(Self.cacheFile, offset.rawValue), bytes.count == length {
            let header = FrameHeader(decoding: bytes.span, at: 0)
            return JournalEntry(
                offset: offset, header: header, source: segment.source, place: 0, bytes: bytes)
        }
        let entry: JournalEntry
        if segment.listed.isCompacted {
            let file = try files.compacted(segment.listed, mode)
            entry = try expected(file.entry(at: offset, mode), at: offset, length)
        } else {
            let place = offset.bytes(since: segment.base)
            let bytes = try read(place..<place + length, of: segment, mode)
            entry = try self.entry(at: offset, bytes, 0..<length, in: segment)
        }
        if keepsEntries, length <= Self.longestKept, let cache {
            let bytes = entry.bytes
            cache.insert(
                Self.cacheFile, offset.rawValue, bytes.span, preferred: false, onlyRepeated: true)
        }
        return entry
    }

    /// What a compacted segment must have, since the index names it.
    private func expected(
        _ entry: JournalEntry?, at offset: JournalOffset, _ length: Int
    ) throws(JournalError) -> JournalEntry {
        guard let entry, entry.header.frameLength == length else {
            throw JournalError(damage(.compacted("missing"), at: offset))
        }
        return entry
    }

    /// The name in the cache of all entries together, whose offsets are never used twice. Those of
    /// the index have the highest bit.
    private static let cacheFile: UInt64 = 0
    /// An entry that is longer would drive too much out of the cache for what reading it costs.
    private static let longestKept = 64 << 10

    /// Verifies the entry whose frame fills `range` of what was read.
    private func entry(
        at offset: JournalOffset, _ bytes: [UInt8], _ range: Range<Int>, in segment: Segment
    ) throws(JournalError) -> JournalEntry {
        do throws(FrameFault) {
            let header = try FrameHeader(
                bytes.span, at: range.lowerBound, end: range.upperBound, offset: offset,
                salt: segment.listed.salt)
            try header.verifyPayload(bytes.span, at: range.lowerBound)
            guard header.frameLength == range.count else { throw .length }
            return JournalEntry(
                offset: offset, header: header, source: segment.source, place: range.lowerBound,
                bytes: bytes)
        } catch {
            throw damaged(error, at: offset, in: segment)
        }
    }

    /// The most bytes of one read, unless an entry is longer. An entry keeps all bytes of its read
    /// in memory.
    private static let readLength = 16 << 10
    /// So many bytes between two entries are read along rather than passed over.
    private static let gapLength = 1024

    /// Reads and verifies many entries, given in order of their offsets, those that lie close to each
    /// other in one read. Gives `body` the number of each in `places` and the entry, or why it cannot be
    /// had, until that returns false.
    package func forEachEntry(
        at places: [(offset: JournalOffset, frameLength: Int)], _ mode: ReadMode,
        _ body: (Int, Result<JournalEntry, JournalError>) -> Bool
    ) {
        var first = 0
        while first < places.count {
            let segment = segment(at: places[first].offset)
            if let segment, segment.listed.isCompacted {
                guard let next = read(places, from: first, of: segment, mode, body) else { return }
                first = next
                continue
            }
            guard let segment, let next = endOfRead(of: places, from: first, in: segment) else {
                guard body(first, .failure(.noEntry(places[first].offset))) else { return }
                first += 1
                continue
            }
            let start = places[first].offset.bytes(since: segment.base)
            let (last, length) = places[next - 1]
            let bytes = try? read(
                start..<last.bytes(since: segment.base) + length, of: segment, mode)
            for number in first..<next {
                let (offset, length) = places[number]
                let place = offset.bytes(since: segment.base) - start
                let found = Result { () throws(JournalError) in
                    // What cannot be read together may be had one by one, and says what is wrong.
                    guard let bytes else { return try entry(at: offset, frameLength: length, mode) }
                    return try entry(at: offset, bytes, place..<place + length, in: segment)
                }
                guard body(number, found) else { return }
            }
            first = next
        }
    }

    /// Behind which of `places` a read ends that begins with the first; nil where the segment cannot
    /// have an entry there.
    private func endOfRead(
        of places: [(offset: JournalOffset, frameLength: Int)], from first: Int,
        in segment: Segment
    ) -> Int? {
        let limit = segment.end.bytes(since: segment.base)
        let start = places[first].offset.bytes(since: segment.base)
        var end = start
        var next = first
        while next < places.count, places[next].offset < segment.end {
            let place = places[next].offset.bytes(since: segment.base)
            let (length, isFirst) = (places[next].frameLength, next == first)
            guard length >= FrameFormat.headerLength, length <= limit - place, place >= end,
                isFirst
                    || (place - end <= Self.gapLength && place + length - start <= Self.readLength)
            else { break }
            end = place + length
            next += 1
        }
        return next == first ? nil : next
    }

    /// Reads those of `places` that lie in a compacted segment, each block once; returns the number
    /// of the first that does not, or nil where `body` returned false.
    private func read(
        _ places: [(offset: JournalOffset, frameLength: Int)], from first: Int,
        of segment: Segment, _ mode: ReadMode,
        _ body: (Int, Result<JournalEntry, JournalError>) -> Bool
    ) -> Int? {
        let file = Result { () throws(JournalError) in
            try files.compacted(segment.listed, mode)
        }
        var next = first
        while next < places.count, places[next].offset < segment.end {
            let found: [Result<JournalEntry?, JournalError>]
            do throws(JournalError) {
                found = try file.get().entries(at: places[next...].lazy.map(\.offset), mode)
            } catch {
                found = [.failure(error)]
            }
            for entry in found {
                let (offset, length) = places[next]
                let entry = Result { () throws(JournalError) in
                    try expected(entry.get(), at: offset, length)
                }
                guard body(next, entry) else { return nil }
                next += 1
            }
        }
        return next
    }

    /// The same where the length is not known. Where no whole header lies at `offset`, that is damage
    /// of kind `frame`; in a compacted segment nothing need be there any more (`.noEntry`).
    package func entry(
        at offset: JournalOffset, _ mode: ReadMode = .blocking
    ) throws(JournalError) -> JournalEntry {
        guard let segment = segment(at: offset) else { throw .noEntry(offset) }
        if segment.listed.isCompacted {
            guard let entry = try files.compacted(segment.listed, mode).entry(at: offset, mode)
            else { throw .noEntry(offset) }
            return entry
        }
        let place = offset.bytes(since: segment.base)
        let room = segment.end.bytes(since: offset)
        let length = min(FrameFormat.greatestHeaderLength, room)
        let bytes = try read(place..<place + length, of: segment, mode)
        let header: FrameHeader
        do {
            header = try FrameHeader(
                bytes.span, at: 0, end: room, offset: offset, salt: segment.listed.salt)
        } catch {
            throw damaged(error, at: offset, in: segment)
        }
        return try entry(at: offset, frameLength: header.frameLength, mode)
    }

    private func damaged(
        _ fault: FrameFault, at offset: JournalOffset, in segment: Segment
    ) -> JournalError {
        .damaged(
            JournalDamage(
                .frame(fault), file: segment.listed.fileName, byte: segment.byte(of: offset),
                offset: offset))
    }

    private func read(
        _ range: Range<Int>, of segment: Segment, _ mode: ReadMode
    ) throws(JournalError) -> [UInt8] {
        let file = try files.file(of: segment.listed, mode)
        do {
            return try file.read(range, mode)
        } catch {
            throw .storage(error)
        }
    }
}

extension JournalView {
    /// Whether a segment, which is not compacted, begins amid a commit.
    package func beginsAmidCommit(_ segment: Segment) throws(JournalError) -> Bool {
        var groups = try EndedGroups(of: segment.listed, in: self, head: segment.end)
        while let (_, frames) = try groups.next() {
            if let first = frames.first(where: \.kind.isEntry) { return first.header.ordinal > 0 }
        }
        return false
    }

    /// What the frames of a segment take, or took before they were compacted, in bytes; and of a
    /// compacted one how many of its entries rows of the index named when it was written.
    package func content(
        of segment: Segment
    ) throws(JournalError) -> (frameBytes: Int, namedCount: Int?) {
        guard segment.listed.isCompacted else {
            return (segment.end.bytes(since: min(segment.first, segment.end)), nil)
        }
        let file = try files.compacted(segment.listed, .blocking)
        return (file.frameBytes, file.namedCount)
    }

    /// Where the blocks of a compacted segment lie in its file, behind its header and before its
    /// directory.
    package func blocks(of segment: Segment) throws(JournalError) -> Range<Int> {
        CompactedHeader.length..<(try files.compacted(segment.listed, .blocking)).directoryPlace
    }
}

extension JournalView.Segment {
    /// Of its file, in bytes.
    package var lengthInBytes: Int { listed.lengthInBytes }

    /// Where its entries come from; in a compacted segment the block is not known.
    var source: JournalEntry.Source {
        listed.isCompacted ? .block(listed.number, 0) : .segment(base)
    }

    /// Where an entry lies in the file; of a compacted segment the beginning, since only its
    /// directory knows.
    func byte(of offset: JournalOffset) -> Int {
        listed.isCompacted ? 0 : offset.bytes(since: base)
    }
}
