internal import StratusBytes
package import StratusFiles

/// Writes the entries that a salvage found as compacted segments, in the places of those that they came
/// from: `Formats/Compacted.md`.
///
/// So their offsets, versions and payloads stay, and where entries are missing nothing says what was
/// there.
package struct SalvagedJournal {
    /// What was written.
    package private(set) var outputs: [Manifest.Segment] = []

    private let storeID: StoreID
    private let randomness: Randomness
    private let begin: SegmentCopier.Begin
    /// Those that were not come to, with what they have of entries.
    private var inputs: ArraySlice<Manifest.Segment>
    private let end: JournalOffset
    /// No group leads to it, so that it is the same everywhere.
    private let chain: UInt64
    /// Of the first generation of a store, as its compactions would count.
    private var nextNumber: UInt64 = 1 << 16 | 1
    private var writer: CompactedWriter?
    /// The last entry, which is written when it is known whether another one follows.
    private var last: JournalEntry?
    private var base = JournalOffset.zero
    private var salt: UInt64 = 0
    private var totals = SegmentTotals()

    /// So long a file may become before the next one is begun.
    private static let usualLength = 16 << 20

    /// - Parameters:
    ///   - manifest: of the journal that is salvaged.
    ///   - end: where it ends.
    ///   - storeID: of the store that comes out.
    package init(
        _ manifest: Manifest, end: JournalOffset, of storeID: StoreID, randomness: Randomness,
        begin: @escaping SegmentCopier.Begin
    ) {
        self.storeID = storeID
        self.randomness = randomness
        self.begin = begin
        inputs = manifest.segments[...]
        self.end = end
        chain = randomness.next()
    }

    /// Adds an entry, which lies behind all others.
    package mutating func append(_ entry: JournalEntry) throws(JournalError) {
        if let last { try write(last) }
        last = entry
    }

    private mutating func write(_ entry: JournalEntry) throws(JournalError) {
        while let segment = inputs.first, entry.offset >= limit(of: segment) {
            try finish(at: limit(of: segment), isEnded: segment.isEnded)
            inputs.removeFirst()
        }
        if let writer, writer.count >= Self.usualLength {
            try finish(at: entry.offset, isEnded: false)
        }
        if writer == nil { try beginFile(at: max(written, inputs.first?.base ?? .zero)) }
        try writer?.append(entry, isNamed: false)
        if let time = entry.commitTime { totals.countCommit(at: time) }
    }

    /// Writes what is left, up to the end, whatever of that is lost: no offset is used again. Where the end
    /// of the last commit is lost, it ends here, as old as the one before: so there is a state that has it.
    package mutating func finish() throws(JournalError) {
        if let last { try write(last.header.isLast ? last : last.ending(at: totals.lastTime)) }
        if writer == nil, written < end { try beginFile(at: written) }
        try finish(at: end, isEnded: false)
    }

    /// Up to where there are files.
    private var written: JournalOffset { outputs.last?.end ?? .zero }

    private mutating func beginFile(at offset: JournalOffset) throws(JournalError) {
        base = offset
        salt = randomness.next()
        writer = try CompactedWriter(
            number: nextNumber, salt: salt, usualLength: Self.usualLength, begin: begin)
    }

    private func limit(of segment: Manifest.Segment) -> JournalOffset {
        segment.state == .active ? end : segment.end
    }

    private mutating func finish(at end: JournalOffset, isEnded: Bool) throws(JournalError) {
        guard let writer = writer.take() else { return }
        let header = CompactedHeader(
            storeID: storeID, number: nextNumber, salt: salt, base: base, end: end,
            clearedBefore: self.end, chainAtStart: chain, chainAtEnd: chain,
            leastTime: totals.leastTime, greatestTime: totals.greatestTime,
            lastTime: totals.lastTime, openOrdinal: 0)
        nextNumber += 1
        outputs.append(try writer.finish(header, isEnded: isEnded))
        totals = SegmentTotals(after: totals)
    }
}
