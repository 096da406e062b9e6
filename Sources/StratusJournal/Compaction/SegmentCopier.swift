internal import StratusBytes
package import StratusFiles

/// Writes what is needed of neighbouring segments anew: `Formats/Compacted.md`.
///
/// Every byte that is read is verified. What it writes no manifest lists yet.
package struct SegmentCopier {
    /// What becomes of an entry.
    package enum Decision {
        case isDropped
        /// It is not for this copy: if its commit ends with it, that ends with the last entry that is.
        case isLeftOut
        /// It is kept if its commit is complete.
        case isKept
        /// A row of the index names it. So it is kept, and its commit is known to be complete.
        case isNamed
    }

    /// Decides on an entry, and may give it another content.
    package typealias Decide = (inout JournalEntry) throws(JournalError) -> Decision

    /// Begins a file of about so many bytes.
    package typealias Begin = (_ name: String, _ length: Int) throws(StorageError) -> any FileDraft

    /// A place between two commits.
    package struct Place: Equatable, Sendable {
        package var offset: JournalOffset
        /// The chain there.
        package var chain: UInt64
        /// Of the last commit before, in microseconds since 1970.
        package var lastTime: Int64

        package init(offset: JournalOffset, chain: UInt64, lastTime: Int64) {
            self.offset = offset
            self.chain = chain
            self.lastTime = lastTime
        }
    }

    /// What was written.
    package private(set) var outputs: [Manifest.Segment] = []

    private let view: JournalView
    private let storeID: StoreID
    private let head: JournalOffset
    private let clearedBefore: JournalOffset
    private let randomness: Randomness
    /// So long a file may become before the next one is begun.
    private let usualLength: Int
    /// Of the next file.
    package private(set) var nextNumber: UInt64
    private let begin: Begin

    private var output: Output?
    /// Entries that are kept if the commit that is open is complete.
    private var undecided: [JournalEntry] = []
    /// The last entry that is kept, while its commit goes on in a copy that leaves entries out.
    private var last: (entry: JournalEntry, isNamed: Bool)?
    private let leavesOut: Bool
    /// That of the last commit that ended, and the chain behind what was read.
    package private(set) var lastTime: Int64 = 0
    private var chain: UInt64 = 0
    /// Where the copy begins, until it was seen that the chain there is this one.
    private var start: Place?

    private struct Output {
        var header: CompactedHeader
        var writer: CompactedWriter
        var totals = SegmentTotals()
        /// Of the next entry, where a commit is open; otherwise 0.
        var nextOrdinal: UInt32
    }

    /// - Parameters:
    ///   - view: the journal in which the inputs lie.
    ///   - storeID: of the store that the outputs are for.
    ///   - head: where the view ends.
    ///   - clearedBefore: of what was replaced or taken away before it, `decide` keeps only what marks
    ///     do.
    ///   - firstNumber: of the first file; those that follow count on.
    ///   - leavesOut: whether `decide` says of any entry that it is left out.
    package init(
        _ view: JournalView, of storeID: StoreID, head: JournalOffset,
        clearedBefore: JournalOffset, firstNumber: UInt64, usualLength: Int,
        leavesOut: Bool = false, randomness: Randomness, begin: @escaping Begin
    ) {
        self.leavesOut = leavesOut
        self.view = view
        self.storeID = storeID
        self.head = head
        self.clearedBefore = clearedBefore
        nextNumber = firstNumber
        self.usualLength = usualLength
        self.randomness = randomness
        self.begin = begin
    }

    /// Copies of neighbouring segments what `decide` says, which lie one behind the other and of
    /// which none but the last was ended by a recovery.
    ///
    /// - Parameter time: of the last commit before them; nil: it is looked for.
    package mutating func copy(
        _ inputs: [Manifest.Segment], behind time: Int64? = nil, _ decide: Decide
    ) throws(JournalError) {
        guard let first = inputs.first, let last = inputs.last else { return }
        if let time { lastTime = time } else { lastTime = try self.time(before: first) }
        chain = first.chainBefore
        try beginFile(at: first.base, nextOrdinal: 0)
        for segment in inputs { try copy(segment, decide) }
        // What is open at an end that a recovery stated was given up.
        if last.isEnded { output?.nextOrdinal = 0 }
        if !undecided.isEmpty, !last.isEnded, try isCompleted(behind: last) { try keepUndecided() }
        undecided = []
        chain = last.chainAtEnd
        try end(at: last.end, isEnded: last.isEnded)
    }

    /// Copies all that lies between two places, at which no commit is open; `start` is nil at the
    /// beginning of the journal, and the head that was given is the end. Returns the end.
    ///
    /// Behind each end that a recovery stated another file begins: the offsets of what was lost
    /// stay in a gap.
    ///
    /// - Throws: ``JournalError/historyChanged`` where `start` lies in a gap, or the journal does
    ///   not have the chain that it says, as far as it still knows.
    package mutating func copy(
        from start: Place?, _ decide: Decide
    ) throws(JournalError) -> Place {
        if let start { try check(start) }
        let first = start?.offset ?? .zero
        let inputs = view.segments.map(\.listed).filter {
            $0.base < head && ($0.state == .active || $0.end > first)
        }
        self.start = start
        lastTime = start?.lastTime ?? 0
        chain = start?.chain ?? inputs.first?.chainBefore ?? 0
        for segment in inputs where head > first {
            if output == nil {
                // The chain passes by what holds nothing.
                if segment.isEmpty { continue }
                try beginFile(at: max(first, segment.base), nextOrdinal: 0)
            }
            try copy(segment, decide)
            if segment.isEnded, segment.end <= head { try endAll(at: segment.end, isEnded: true) }
        }
        try endAll(at: head, isEnded: false)
        return Place(offset: head, chain: chain, lastTime: lastTime)
    }

    /// What is open there was given up.
    private mutating func endAll(
        at offset: JournalOffset, isEnded: Bool
    ) throws(JournalError) {
        undecided = []
        output?.nextOrdinal = 0
        try end(at: offset, isEnded: isEnded)
    }

    /// That the journal has been at `start`. Amid a segment its groups tell as they are copied, unless
    /// these are gone or none is copied.
    private func check(_ start: Place) throws(JournalError) {
        let chain =
            start.offset < head
            ? try view.chainAtEdge(before: start.offset) : try view.chain(before: start.offset)
        guard chain == nil || chain == start.chain else { throw .historyChanged }
    }

    private mutating func keepUndecided() throws(JournalError) {
        for entry in undecided { try keep(entry, isNamed: false) }
        undecided.removeAll(keepingCapacity: true)
    }

    private mutating func keep(_ entry: JournalEntry, isNamed: Bool) throws(JournalError) {
        guard leavesOut else { try output?.writer.append(entry, isNamed: isNamed); return }
        try writeLast()
        last = (entry, isNamed)
        if entry.header.isLast { try writeLast() }
    }

    /// Writes the entry that was held; where its commit ends with one that is left out, with the time
    /// of that.
    private mutating func writeLast(endingAt time: Int64? = nil) throws(JournalError) {
        guard let (entry, isNamed) = last.take() else { return }
        let ended = time.map { entry.ending(at: $0) } ?? entry
        try output?.writer.append(ended, isNamed: isNamed)
    }

    /// A commit begins, or one that began before goes on, at `entry`.
    private mutating func pass(_ entry: JournalEntry) throws(JournalError) {
        guard let held = last else { return }
        if entry.header.ordinal <= held.entry.header.ordinal { try writeLast() }
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

    private mutating func copy(
        _ segment: Manifest.Segment, _ decide: Decide
    ) throws(JournalError) {
        if segment.isCompacted {
            try copyCompacted(segment, decide)
        } else {
            try copyGroups(of: segment, decide)
        }
    }

    private mutating func copyCompacted(
        _ segment: Manifest.Segment, _ decide: Decide
    ) throws(JournalError) {
        let compacted = try view.files.compacted(segment, .blocking)
        let header = compacted.header
        if last == nil, let length = output?.writer.count, length >= usualLength {
            try endAndBegin(at: segment.base)
        }
        var reader = CompactedReader(compacted)
        if let start, start.offset > segment.base { try reader.skip(to: start.offset) }
        reading: while let entries = try reader.nextBlock() {
            for var entry in entries {
                if let start, entry.offset < start.offset { continue }
                if entry.offset >= head { break reading }
                if let time = entry.commitTime { lastTime = time }
                try pass(entry)
                let decision = try decide(&entry)
                if decision == .isLeftOut, let time = entry.commitTime {
                    try writeLast(endingAt: time)
                }
                if decision == .isDropped || decision == .isLeftOut { continue }
                try keep(entry, isNamed: decision == .isNamed)
            }
        }
        start = nil
        output?.nextOrdinal = header.openOrdinal
        chain = segment.chainAtEnd
        guard header.leastTime != 0 || header.greatestTime != 0 else { return }
        output?.totals.countCommit(at: header.leastTime)
        output?.totals.countCommit(at: header.greatestTime)
        if segment.end <= head { lastTime = header.lastTime }
    }

    private mutating func copyGroups(
        of segment: Manifest.Segment, _ decide: Decide
    ) throws(JournalError) {
        // The chain passes by what holds nothing.
        if segment.isEmpty { return }
        var isFirst = true
        var groups = try EndedGroups(of: segment, in: view, head: head)
        while let (group, found) = try groups.next() {
            var frames = found
            if let start {
                if group.end <= start.offset { continue }
                frames = frames.drop { $0.offset < start.offset }
                guard start.chain == group.chain(before: start.offset) else {
                    throw .historyChanged
                }
                self.start = nil
            }
            // Between two groups it is known what chain leads there.
            if undecided.isEmpty, last == nil, let length = output?.writer.count,
                length >= usualLength
            {
                chain = group.header.chain
                // What no group says was before the first of a segment belongs to that segment.
                try endAndBegin(at: isFirst ? segment.base : group.offset)
            }
            isFirst = false
            for var entry in frames where entry.kind.isEntry {
                // The commit before was given up, if it did not end.
                if entry.header.ordinal == 0 { undecided.removeAll(keepingCapacity: true) }
                output?.nextOrdinal = entry.header.isLast ? 0 : entry.header.ordinal + 1
                if let time = entry.commitTime {
                    output?.totals.countCommit(at: time)
                    lastTime = time
                }
                try pass(entry)
                let decision = try decide(&entry)
                if decision == .isNamed || entry.header.isLast { try keepUndecided() }
                switch decision {
                case .isDropped: break
                case .isLeftOut:
                    if let time = entry.commitTime { try writeLast(endingAt: time) }
                case .isKept where !entry.header.isLast: undecided.append(entry)
                case .isKept: try keep(entry, isNamed: false)
                case .isNamed: try keep(entry, isNamed: true)
                }
            }
        }
        chain = groups.chain
    }

    /// Of the last commit before a segment; 0 where there is none.
    private func time(before segment: Manifest.Segment) throws(JournalError) -> Int64 {
        for other in view.segments.reversed() where other.base < segment.base {
            if other.listed.isCompacted {
                return try view.files.compacted(other.listed, .blocking).header.lastTime
            }
            var last: Int64?
            var groups = try EndedGroups(of: other.listed, in: view, head: head)
            while let (_, frames) = try groups.next() {
                last = frames.last { $0.commitTime != nil }?.commitTime ?? last
            }
            if let last { return last }
        }
        return 0
    }

    private mutating func beginFile(
        at base: JournalOffset, nextOrdinal: UInt32
    ) throws(JournalError) {
        let header = CompactedHeader(
            storeID: storeID, number: nextNumber, salt: randomness.next(), base: base, end: base,
            clearedBefore: clearedBefore, chainAtStart: chain, chainAtEnd: chain, leastTime: 0,
            greatestTime: 0, lastTime: lastTime, openOrdinal: 0)
        nextNumber += 1
        output = Output(
            header: header,
            writer: try CompactedWriter(
                number: header.number, salt: header.salt, usualLength: usualLength, begin: begin),
            nextOrdinal: nextOrdinal)
    }

    private mutating func endAndBegin(at offset: JournalOffset) throws(JournalError) {
        let nextOrdinal = output?.nextOrdinal ?? 0
        try end(at: offset, isEnded: false)
        try beginFile(at: offset, nextOrdinal: nextOrdinal)
    }

    private mutating func end(at offset: JournalOffset, isEnded: Bool) throws(JournalError) {
        try writeLast()
        guard var output = output.take() else { return }
        output.header.end = offset
        output.header.chainAtEnd = chain
        output.header.leastTime = output.totals.leastTime
        output.header.greatestTime = output.totals.greatestTime
        output.header.lastTime = lastTime
        output.header.openOrdinal = output.nextOrdinal
        outputs.append(try output.writer.finish(output.header, isEnded: isEnded))
    }
}

extension JournalGroup {
    /// The chain right before what the group has at `place` or behind it.
    fileprivate func chain(before place: JournalOffset) -> UInt64 {
        if place <= offset { return header.chain }
        let count = frames.count { $0.offset < place }
        return Chain.after(
            header.chain, payloadChecksums: Array(payloadChecksums[0...count]))
    }
}
