internal import StratusBytes
package import StratusFiles

/// A stretch of the journal of which nothing could be read.
package struct JournalLoss: Sendable {
    /// What is wrong there, with the file and the byte where it begins.
    package var damage: JournalDamage
    /// No entry that was read lies in it.
    package var range: Range<JournalOffset>
    /// The entries in it of which the header is whole, and nothing else.
    package var headers: [(offset: JournalOffset, header: FrameHeader)] = []
    /// Whether nothing was there but what keeps the journal itself, so that no entry is lost.
    package var isOfJournalAlone = false
    /// Whether it lies where an opening ends the journal, so that what was there, or next to it in the
    /// same commit, may never have been written as a whole.
    package var mayBeUnwritten = false
}

/// Reads all that is whole of a journal, whatever is damaged around it, and tells where something is
/// missing.
///
/// It goes on behind damage where a verification does, and besides takes the frames that are whole in
/// groups that are not, and the blocks of a compacted segment whose directory cannot be read. So it does
/// where an opening ends the journal and says that something may be lost.
package struct JournalSalvage {
    /// A part of the journal; they come in the order of their offsets.
    package enum Part {
        /// Frames of groups and trailers are none.
        case entry(JournalEntry)
        case loss(JournalLoss)
    }

    package typealias Body = (Part) throws(JournalError) -> Void

    private let manifest: Manifest
    private let storage: any Storage
    /// Behind the last part that was given.
    package private(set) var end = JournalOffset.zero

    package init(_ manifest: Manifest, in storage: any Storage) {
        self.manifest = manifest
        self.storage = storage
    }

    /// Gives `body` the parts.
    ///
    /// - Returns: what a verification finds as well.
    /// - Throws: ``JournalError/newerFormat(_:)`` where anything is of a newer format: what it means
    ///   only a newer version can tell.
    package mutating func run(_ body: Body) throws(JournalError) -> [JournalFinding] {
        var verifier = JournalVerifier(manifest, in: storage)
        var failure: JournalError?
        func give(_ part: Part) {
            if failure != nil { return }
            do throws(JournalError) { try body(part) } catch { failure = error }
        }
        var end = end
        func give(_ entry: JournalEntry) {
            // A group whose count of frames is false is given once as it is and once as a gap.
            guard entry.offset >= end else { return }
            end = entry.offset.advanced(byBytes: entry.header.frameLength)
            if entry.kind.isEntry || entry.kind == .preamble { give(.entry(entry)) }
        }
        do throws(StorageError) {
            try verifier.run { gap throws(StorageError) in
                var search = GapSearch(gap, from: max(gap.range.lowerBound, end))
                for part in try search.run(of: manifest.storeID) {
                    switch part {
                    case .entry(let entry): give(entry)
                    case .loss(let loss):
                        end = max(end, loss.range.upperBound)
                        give(.loss(loss))
                    }
                }
            } _: { entry, _ in
                give(entry)
                return nil
            }
        } catch {
            throw .storage(error)
        }
        self.end = end
        if let failure { throw failure }
        if let newer = verifier.findings.first(where: \.damage.isNewer) {
            throw .newerFormat(newer.damage)
        }
        return verifier.findings
    }
}

/// Finds what is whole in a gap.
private struct GapSearch {
    private let gap: JournalGap
    /// Nothing before it is lost.
    private var start: JournalOffset
    private var parts: [JournalSalvage.Part] = []
    /// The entries since `start` whose headers alone are whole.
    private var headers: [(offset: JournalOffset, header: FrameHeader)] = []

    init(_ gap: JournalGap, from start: JournalOffset) {
        self.gap = gap
        self.start = start
    }

    mutating func run(of storeID: StoreID) throws(StorageError) -> [JournalSalvage.Part] {
        guard let file = gap.file else {
            lose(to: gap.range.upperBound)
            return parts
        }
        if gap.segment.isCompacted {
            try findBlocks(in: file, of: storeID)
        } else {
            try findFrames(in: file)
        }
        return parts
    }

    private mutating func lose(to end: JournalOffset, isOfJournalAlone: Bool = false) {
        guard start < end else { return }
        var loss = JournalLoss(damage: gap.damage, range: start..<end, headers: headers)
        if let offset = gap.damage.offset, start > offset {
            loss.damage.offset = start
            if !gap.segment.isCompacted { loss.damage.byte = start.bytes(since: gap.segment.base) }
        }
        loss.isOfJournalAlone = isOfJournalAlone
        loss.mayBeUnwritten = gap.isWhereJournalEnds
        parts.append(.loss(loss))
        headers = []
        start = end
    }

    private mutating func take(_ entry: JournalEntry) {
        parts.append(.entry(entry))
        start = entry.offset.advanced(byBytes: entry.header.frameLength)
        headers = []
    }

    private mutating func findFrames(in file: any StorageFile) throws(StorageError) {
        let end = min(gap.range.upperBound, gap.segment.base.advanced(byBytes: file.length & ~7))
        let search = FrameSearch(file: file, segment: gap.segment)
        let groupEnd =
            gap.isWhereGroupBegins
            ? gap.range.lowerBound.advanced(byBytes: GroupHeader.frameLength) : nil
        /// Whether all up to `offset` is frames that keep the journal: a group's, which has that
        /// length and begins where one should, or one whose header says so.
        func isOfJournal(to offset: JournalOffset) -> Bool {
            if headers.isEmpty { return start == gap.range.lowerBound && groupEnd == offset }
            var next = start
            return headers.allSatisfy { place, header in
                defer { next = place.advanced(byBytes: header.frameLength) }
                return place == next && !header.kind.isEntry
            } && next == offset
        }
        for frame in try search.frames(from: start, before: end) where frame.offset >= start {
            guard let entry = frame.entry else {
                headers.append((frame.offset, frame.header))
                continue
            }
            lose(to: entry.offset, isOfJournalAlone: isOfJournal(to: entry.offset))
            take(entry)
        }
        var rest = gap.range.upperBound
        if gap.segment.state == .active {
            // Behind the last thing that was written there is nothing to lose.
            rest = gap.segment.end
            try search.forEachPlace(from: start, before: end) { here in
                rest = max(rest, here.offset.next)
                return true
            }
        }
        lose(to: rest, isOfJournalAlone: isOfJournal(to: rest))
    }

    /// Goes from block to block by their own lengths; behind one that is not whole at every byte.
    private mutating func findBlocks(
        in file: any StorageFile, of storeID: StoreID
    ) throws(StorageError) {
        let bytes = try file.read(0..<file.length)
        let header = CompactedHeader(storeID, of: gap.segment)
        // Behind the blocks lies the directory, which begins with the offset of the first one.
        let first = CompactedHeader.length + CompactedBlock.firstOffsetPlace
        let directoryStart = first + 8 <= bytes.count ? bytes.span.uint64(at: first) : 0
        var place = gap.blocksFrom
        var isBehindDamage = false
        let blocksEnd = gap.blocksTo ?? bytes.count
        while place + CompactedBlock.headerLength < blocksEnd {
            if let block = CompactedBlock.find(in: bytes, at: place, from: start, of: header),
                let entries = try? block.entries()
            {
                if isBehindDamage { lose(to: block.row.firstOffset) }
                for entry in entries { take(entry) }
                place += block.row.length
                isBehindDamage = false
            } else {
                if !isBehindDamage, bytes.span.uint64(at: place) == directoryStart { return }
                isBehindDamage = true
                place += 1
            }
        }
        if place < blocksEnd || isBehindDamage || gap.blocksTo == nil {
            lose(to: gap.range.upperBound)
        }
    }
}

extension CompactedHeader {
    /// As far as blocks are read by it.
    fileprivate init(_ storeID: StoreID, of segment: Manifest.Segment) {
        self.init(
            storeID: storeID, number: segment.number, salt: segment.salt, base: segment.base,
            end: segment.end, clearedBefore: segment.clearedBefore,
            chainAtStart: segment.chainAtStart, chainAtEnd: segment.chainAtEnd,
            leastTime: segment.leastTime, greatestTime: segment.greatestTime, lastTime: 0,
            openOrdinal: 0)
    }
}

extension CompactedBlock {
    /// The block that begins at `place` by what it says of itself; nil where that is none, or one
    /// whose entries begin before `start`.
    fileprivate static func find(
        in bytes: [UInt8], at place: Int, from start: JournalOffset, of header: CompactedHeader
    ) -> CompactedBlock? {
        let span = bytes.span
        let stored = Int(span.uint32(at: place + storedLengthPlace))
        let row = Row(
            firstOffset: JournalOffset(rawValue: span.uint64(at: place + firstOffsetPlace)),
            place: place,
            length: headerLength + stored)
        guard stored > 0, stored <= span.uint32(at: place + rawLengthPlace),
            row.length <= bytes.count - place,
            row.firstOffset >= start, row.firstOffset < header.end
        else { return nil }
        return try? CompactedBlock(bytes, from: place, at: row, of: header)
    }
}
