internal import StratusBytes
package import StratusFiles

/// Writes what is needed of neighbouring segments anew: `Formats/Compacted.md`.
///
/// Every byte that is read is verified. What it writes no manifest lists yet.
package struct SegmentCopier {
    /// What becomes of an entry.
    package enum Decision {
        case isDropped
        /// It is kept if its commit is complete.
        case isKept
        /// A row of the index names it. So it is kept, and its commit is known to be complete.
        case isNamed
    }

    package typealias Decide = (JournalEntry) throws(JournalError) -> Decision

    /// What was written.
    package private(set) var outputs: [Manifest.Segment] = []

    private let view: JournalView
    private let storage: any Storage
    private let storeID: StoreID
    private let head: JournalOffset
    private let clearedBefore: JournalOffset
    private let randomness: Randomness
    /// So long a file may become before the next one is begun.
    private let usualLength: Int
    /// Of the next file.
    package private(set) var nextNumber: UInt64
    private let pace: (_ bytes: Int) -> Void

    private var output: Output?
    /// Entries that are kept if the commit that is open is complete.
    private var undecided: [JournalEntry] = []
    /// That of the last commit that ended.
    private var lastTime: Int64 = 0

    private struct Output {
        var header: CompactedHeader
        var writer: CompactedWriter
        var totals = SegmentTotals()
        /// Of the next entry, where a commit is open; otherwise 0.
        var nextOrdinal: UInt32
    }

    /// - Parameters:
    ///   - view: the journal in which the inputs lie.
    ///   - head: where the view ends.
    ///   - clearedBefore: of what was replaced or taken away before it, `decide` keeps only what marks
    ///     do.
    ///   - firstNumber: of the first file; those that follow count on.
    ///   - pace: is told how many bytes are about to be written, and may wait.
    package init(
        _ view: JournalView, in storage: any Storage, of storeID: StoreID,
        head: JournalOffset, clearedBefore: JournalOffset, firstNumber: UInt64, usualLength: Int,
        randomness: Randomness, pace: @escaping (_ bytes: Int) -> Void
    ) {
        self.view = view
        self.storage = storage
        self.storeID = storeID
        self.head = head
        self.clearedBefore = clearedBefore
        nextNumber = firstNumber
        self.usualLength = usualLength
        self.randomness = randomness
        self.pace = pace
    }

    /// Copies of neighbouring segments what `decide` says, which lie one behind the other and of
    /// which none but the last was ended by a recovery.
    package mutating func copy(
        _ inputs: [Manifest.Segment], _ decide: Decide
    ) throws(JournalError) {
        guard let first = inputs.first, let last = inputs.last else { return }
        lastTime = try time(before: first)
        // The chain passes by what holds nothing.
        let chain = first.isEmpty ? first.chainAtEnd : first.chainAtStart
        begin(at: first.base, chain: chain, nextOrdinal: 0)
        for segment in inputs {
            if segment.isCompacted {
                try copyCompacted(segment, decide)
            } else {
                try copyGroups(of: segment, decide)
            }
        }
        // What is open at an end that a recovery stated was given up.
        if last.isEnded { output?.nextOrdinal = 0 }
        if !undecided.isEmpty, !last.isEnded, try isCompleted(behind: last) { keepUndecided() }
        undecided = []
        try end(at: last.end, chain: last.chainAtEnd, isEnded: last.isEnded)
    }

    /// Deletes what was written.
    package func discard() {
        for segment in outputs { _ = try? storage.delete(segment.fileName) }
    }

    private mutating func keepUndecided() {
        for entry in undecided { output?.writer.append(entry, isNamed: false) }
        undecided.removeAll(keepingCapacity: true)
    }

    /// Whether the commit that is open at the end of a segment has its end behind it.
    private func isCompleted(behind segment: Manifest.Segment) throws(JournalError) -> Bool {
        for next in view.segments where next.base > segment.base && !next.listed.isCompacted {
            var groups = try EndedGroups(of: next.listed, in: view, head: head)
            while let (_, frames) = try groups.next() {
                for entry in frames where entry.kind.isEntry {
                    if entry.header.ordinal == 0 { return false }
                    if entry.header.isLast { return true }
                }
            }
            if next.listed.isEnded { return false }
        }
        return false
    }

    private mutating func copyCompacted(
        _ segment: Manifest.Segment, _ decide: Decide
    ) throws(JournalError) {
        let compacted = try view.files.compacted(segment, .blocking)
        let header = compacted.header
        if let length = output?.writer.count, length >= usualLength {
            try endAndBegin(at: segment.base, chain: segment.chainAtStart)
        }
        var reader = CompactedReader(compacted)
        while let entries = try reader.nextBlock() {
            for entry in entries {
                let decision = try decide(entry)
                if decision == .isDropped { continue }
                output?.writer.append(entry, isNamed: decision == .isNamed)
            }
        }
        output?.nextOrdinal = header.openOrdinal
        guard header.leastTime != 0 || header.greatestTime != 0 else { return }
        output?.totals.countCommit(at: header.leastTime)
        output?.totals.countCommit(at: header.greatestTime)
        lastTime = header.lastTime
    }

    private mutating func copyGroups(
        of segment: Manifest.Segment, _ decide: Decide
    ) throws(JournalError) {
        var isFirst = true
        var groups = try EndedGroups(of: segment, in: view)
        while let (group, frames) = try groups.next() {
            // Between two groups it is known what chain leads there.
            if undecided.isEmpty, let length = output?.writer.count, length >= usualLength {
                // What no group says was before the first of a segment belongs to that segment.
                let start = isFirst ? segment.base : group.offset
                try endAndBegin(at: start, chain: group.header.chain)
            }
            isFirst = false
            for entry in frames where entry.kind.isEntry {
                // The commit before was given up, if it did not end.
                if entry.header.ordinal == 0 { undecided.removeAll(keepingCapacity: true) }
                output?.nextOrdinal = entry.header.isLast ? 0 : entry.header.ordinal + 1
                if let time = entry.commitTime {
                    output?.totals.countCommit(at: time)
                    lastTime = time
                }
                let decision = try decide(entry)
                if decision == .isNamed || entry.header.isLast { keepUndecided() }
                switch decision {
                case .isDropped: break
                case .isKept where !entry.header.isLast: undecided.append(entry)
                case .isKept: output?.writer.append(entry, isNamed: false)
                case .isNamed: output?.writer.append(entry, isNamed: true)
                }
            }
        }
    }

    /// Of the last commit before a segment; 0 where there is none.
    private func time(before segment: Manifest.Segment) throws(JournalError) -> Int64 {
        for other in view.segments.reversed() where other.base < segment.base {
            if other.listed.isCompacted {
                return try view.files.compacted(other.listed, .blocking).header.lastTime
            }
            var last: Int64?
            var groups = try EndedGroups(of: other.listed, in: view)
            while let (_, frames) = try groups.next() {
                last = frames.last { $0.commitTime != nil }?.commitTime ?? last
            }
            if let last { return last }
        }
        return 0
    }

    private mutating func begin(at base: JournalOffset, chain: UInt64, nextOrdinal: UInt32) {
        let header = CompactedHeader(
            storeID: storeID, number: nextNumber, salt: randomness.next(), base: base, end: base,
            clearedBefore: clearedBefore, chainAtStart: chain, chainAtEnd: chain, leastTime: 0,
            greatestTime: 0, lastTime: lastTime, openOrdinal: 0)
        nextNumber += 1
        output = Output(
            header: header, writer: CompactedWriter(salt: header.salt), nextOrdinal: nextOrdinal)
    }

    private mutating func endAndBegin(at offset: JournalOffset, chain: UInt64) throws(JournalError)
    {
        let nextOrdinal = output?.nextOrdinal ?? 0
        try end(at: offset, chain: chain, isEnded: false)
        begin(at: offset, chain: chain, nextOrdinal: nextOrdinal)
    }

    private mutating func end(
        at offset: JournalOffset, chain: UInt64, isEnded: Bool
    ) throws(JournalError) {
        guard var output = output.take() else { return }
        output.header.end = offset
        output.header.chainAtEnd = chain
        output.header.leastTime = output.totals.leastTime
        output.header.greatestTime = output.totals.greatestTime
        output.header.lastTime = lastTime
        output.header.openOrdinal = output.nextOrdinal
        let bytes = output.writer.finish(output.header)
        let listed = output.header.listed(lengthInBytes: bytes.count, isEnded: isEnded)
        pace(bytes.count)
        do throws(StorageError) {
            try storage.put(listed.fileName, bytes)
        } catch {
            throw .storage(error)
        }
        outputs.append(listed)
    }
}
