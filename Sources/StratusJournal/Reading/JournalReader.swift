package import StratusFiles

/// Reads a journal in order into a fold. It writes nothing.
///
/// It begins at the checkpoint, where the manifest has one that the layer above can use and that
/// the journal agrees with, and opens no segment before it; else at the beginning.
///
/// A writer's opening reads to the end and decides what ended it (`JournalReader+Recovery.swift`); beside a
/// living writer a reader stops where the writer has not said yet that its groups are durable, and
/// later goes on from there.
package struct JournalReader<Fold: JournalFold> {
    package enum Tail: Sendable {
        /// There is no writer: what is whole belongs to the store, and what ended it is decided.
        case toTheEnd
        /// There is a writer: only what a later group says is durable.
        case durable
    }

    package private(set) var manifest: Manifest
    package internal(set) var report = RecoveryReport(row: .behindStatedEnd, end: .zero)
    package private(set) var view: JournalView
    package var fold: Fold {
        get { scan.fold }
        set { scan.fold = newValue }
    }

    let files: SegmentFiles
    var scan: SegmentScan<Fold>
    /// The number of the segment in which the journal ends; later ones hold nothing of it.
    var endSegment = 0
    /// The chain at the end.
    var chain: UInt64 = 0
    /// What the last group ends with.
    var lastFrameKind: EntryKind?
    /// Behind the last byte other than zero of the active segment, where that was looked for.
    var unusedFrom: JournalOffset?

    /// The checkpoint to begin at, and what the layer above made of it, until that was tried.
    private var start: (position: JournalPosition, segment: Int, fold: Fold)?
    /// The number of the segment being read, and its reader once it has been opened.
    private var current = 0
    private var reader: GroupReader?
    /// What ended the journal when that was last decided.
    private var decided: JournalDamage?
    /// Whether a compacted segment was read: not all entries before were given.
    private var hasLeftOut = false

    /// - Parameters:
    ///   - cache: where the views that are made keep entries; nil: nowhere.
    ///   - fold: of nothing, for a reading from the beginning.
    ///   - resuming: gives the fold of everything before a checkpoint, or nil where the layer above
    ///     cannot use it.
    package init(
        _ manifest: Manifest, in storage: any Storage, cache: BlockCache? = nil, fold: Fold,
        resuming: (Manifest.Checkpoint) -> Fold? = { _ in nil }
    ) {
        self.manifest = manifest
        files = SegmentFiles(in: storage, of: manifest.storeID, cache: cache)
        view = JournalView(files)
        scan = SegmentScan(fold)
        report.discardedCheckpoint = manifest.checkpointDamage
        report.manifestDamage = manifest.damage
        guard let checkpoint = manifest.checkpoint else { return }
        let position = checkpoint.position
        if let segment = manifest.segment(holding: position.offset) {
            if let resumed = resuming(checkpoint) {
                start = (position, segment, resumed)
            } else {
                discardCheckpoint("refused")
            }
        } else {
            discardCheckpoint("offset")
        }
    }

    /// Reads on from where the last call stopped, through everything that `manifest` lists.
    package mutating func read(_ tail: Tail) throws {
        guard let start else { return try readOn(tail) }
        self.start = nil
        let empty = scan
        do {
            if try begin(at: start.position, in: start.segment, start.fold) {
                return try readOn(tail)
            }
            discardCheckpoint("chain")
        } catch let error as JournalError {
            // Whether the checkpoint is at fault or the journal, the whole journal tells.
            guard error.isDamage else { throw error }
            discardCheckpoint("journal")
        }
        let failed = scan.fold
        scan = empty
        scan.fold.replace(failed)
        view = JournalView(files)
        report = RecoveryReport(
            row: .behindStatedEnd, end: .zero, discardedCheckpoint: report.discardedCheckpoint,
            manifestDamage: manifest.damage)
        (current, reader, decided, lastFrameKind, hasLeftOut) = (0, nil, nil, nil, false)
        try readOn(tail)
    }

    private mutating func readOn(_ tail: Tail) throws {
        while current < manifest.segments.count {
            let segment = manifest.segments[current]
            if segment.isCompacted {
                try readCompacted(segment)
                current += 1
                continue
            }
            if reader == nil { try begin(segment) }
            if segment.state == .active {
                try readActive(segment, tail)
                break
            }
            if !segment.isEmpty { try readClosed(segment) }
            if current == manifest.segments.count - 1 { break }
            reader = nil
            current += 1
        }
        report.replayedCommits = scan.commitCount
    }

    /// Goes over to a newer generation of the same journal.
    ///
    /// Fails with `.historyChanged` where that one ends before what was read: it was lost with the
    /// machine before it was durable.
    package mutating func replace(_ newer: Manifest) throws(JournalError) {
        guard newer.storeID == manifest.storeID else { throw .historyChanged }
        // There was nothing to read yet.
        guard let last = manifest.segments.last else {
            manifest = newer
            return
        }
        // All of it was read, where the last one is compacted.
        if current == manifest.segments.count {
            guard let number = newer.number(of: last) else { throw .historyChanged }
            manifest = newer
            current = number + 1
            endSegment = number
            view = JournalView(files)
            for listed in newer.segments[...number] { view.add(listed) }
            return
        }
        // What is being read is the last segment of the older generation. A newer one may have
        // fewer before it, and where it was compacted itself, what was to be read of it is gone.
        guard let number = newer.number(of: manifest.segments[current]) else {
            throw .historyChanged
        }
        let segment = newer.segments[number]
        if let open = scan.open {
            guard let first = newer.number(of: manifest.segments[open.segment]) else {
                throw .historyChanged
            }
            scan.open?.segment = first
            if newer.segments[first].state == .ended, newer.segments[first].end == open.start {
                // A recovery dropped a commit that had never become part of the journal, no more.
                // It may have begun in an earlier segment.
                scan.giveUpOpenCommit()
                chain = open.chainAtStart
                reader?.resume(at: segment.end, chain: chain)
            }
        }
        if let reader, segment.state != .active, reader.position > segment.end {
            throw .historyChanged
        }
        // Nothing of the current one may have been read yet.
        let isBegun = current < view.segments.count
        manifest = newer
        current = number
        endSegment = min(endSegment, number)
        var view = JournalView(files)
        for listed in newer.segments[..<(isBegun ? number + 1 : number)] { view.add(listed) }
        self.view = view
    }

    /// Whether the segment in which the journal ended is the active one of `newer`, so that no opening
    /// has stated yet where it ends.
    package func endsInActiveSegment(of newer: Manifest) -> Bool {
        guard let active = newer.active, manifest.segments.indices.contains(endSegment) else {
            return false
        }
        let segment = manifest.segments[endSegment]
        return active.base == segment.base && active.salt == segment.salt
    }

    /// Goes to a checkpoint; returns whether the journal goes on there as the checkpoint says.
    private mutating func begin(
        at position: JournalPosition, in number: Int, _ fold: Fold
    ) throws -> Bool {
        let segment = manifest.segments[number]
        var groups = GroupReader(
            try open(segment), base: segment.base, salt: segment.salt, limit: segment.limit,
            at: position.offset, chain: position.chain)
        let next =
            position.offset == segment.end
            ? segment.chainAtEnd : try groups.peek(at: position.offset)?.chain
        // Meanwhile a newer generation may have taken the place of the one that was looked at.
        guard next == position.chain, manifest.segment(holding: position.offset) == number else {
            return false
        }
        for listed in manifest.segments[...number] { view.add(listed) }
        current = number
        scan = SegmentScan(fold)
        scan.begin(segment: number, totals: position.totals)
        reader = groups
        chain = position.chain
        report.checkpoint = position.offset
        report.end = position.offset
        endSegment = number
        return true
    }

    private mutating func discardCheckpoint(_ reason: StaticString) {
        report.discardedCheckpoint = JournalDamage(
            .checkpoint(reason), file: manifest.fileName, byte: manifest.checkpointPlace)
    }

    /// Reads what is kept of a compacted segment.
    private mutating func readCompacted(_ segment: Manifest.Segment) throws {
        if view.segments.isEmpty { chain = segment.chainAtStart }
        guard segment.chainAtStart == chain else { throw refusal(.chain, in: segment) }
        // What was compacted lies before a checkpoint, where no commit was open: so one that is
        // open here has its end in the segments that were.
        if let open = scan.open, !manifest.segments[open.segment].isCompacted {
            throw refusal(.commit, in: segment)
        }
        view.add(segment)
        hasLeftOut = true
        scan.fold.lookBack(through: view)
        do throws(JournalError) {
            try scan.take(files.compacted(segment, .blocking), segment: current)
        } catch {
            // What an entry says has no row, wherever it stands.
            guard case .damaged(let damage) = error, !damage.isOfPayload else { throw error }
            throw refusal(damage, in: segment)
        }
        chain = segment.chainAtEnd
        report.end = segment.end
        endSegment = current
    }

    private mutating func begin(_ segment: Manifest.Segment) throws {
        let file = try open(segment)
        view.add(segment)
        if hasLeftOut { scan.fold.lookBack(through: view) }
        if current == 0 { chain = segment.chainAtStart }
        if !segment.isEmpty, segment.chainAtStart != chain {
            throw refusal(.chain, in: segment)
        }
        scan.begin(segment: current)
        reader = GroupReader(
            file, base: segment.base, salt: segment.salt, limit: segment.limit,
            at: segment.firstGroup, chain: segment.chainAtStart)
        report.end = segment.firstGroup
        endSegment = current
    }

    /// Reads a segment whose end the manifest states: any damage before it is refused.
    private mutating func readClosed(_ segment: Manifest.Segment) throws {
        var totals = scan.totals
        var last: JournalGroup?
        // What was read ahead while the segment was active may have been written since.
        reader?.refresh()
        while let position = reader?.position, position < segment.end {
            totals = scan.totals
            do {
                last = try reader?.next()
            } catch let fault as GroupFault {
                // The group in which a stated end lies need not be whole behind that end.
                guard let part = fault.part, fault.damage.offset ?? .zero >= segment.end else {
                    throw refusal(fault.damage, in: segment)
                }
                last = part
            }
            if let last { try take(last, before: segment.end) }
            if let last, last.end >= segment.end || reader?.position == last.offset { break }
        }
        if let last {
            try check(last, of: segment, totals: totals)
        } else {
            // Everything had been read before the manifest stated the end.
            chain = reader?.chain ?? chain
        }
        guard chain == segment.chainAtEnd else { throw refusal(.chain, in: segment) }
        if segment.state != .sealed { scan.giveUpOpenCommit() }
        report.end = segment.end
    }

    /// Checks what a closed segment's last group says against what was read up to it.
    private mutating func check(
        _ group: JournalGroup, of segment: Manifest.Segment, totals: SegmentTotals
    ) throws {
        let taken = group.frames.count { $0.offset < segment.end }
        chain = Chain.after(
            group.header.chain, payloadChecksums: Array(group.payloadChecksums[0...taken]))
        guard segment.state == .sealed else { return }
        let trailer = group.frames.last.flatMap { frame in
            frame.kind == .trailer ? frame.withPayload { try? Trailer($0) } : nil
        }
        let expected = Trailer(
            totals, chainAtStart: segment.chainAtStart, chainAtEnd: group.header.chain)
        guard trailer == expected else { throw refusal(.trailer, in: segment, at: group.offset) }
    }

    private mutating func readActive(_ segment: Manifest.Segment, _ tail: Tail) throws {
        reader?.refresh()
        let end: JournalOffset
        switch tail {
        // What is needed no longer may be gone once a generation says so, which is one that states
        // that what came instead is durable.
        case .durable: end = max(try reader?.durableThrough() ?? segment.firstGroup, segment.end)
        case .toTheEnd: end = segment.limit
        }
        var mayReadAgain = true
        while let position = reader?.position, position < end {
            do {
                guard let group = try reader?.next() else { break }
                mayReadAgain = true
                try take(group, before: group.end)
            } catch let fault as GroupFault {
                if case .durable = tail {
                    // The writer may have written during a read, which then holds a later group
                    // and not yet this one.
                    guard mayReadAgain else { throw JournalError(fault.damage) }
                    mayReadAgain = false
                    reader?.refresh()
                    continue
                }
                if case .frame(let frame) = fault.damage.kind, frame.isOfWholeHeader {
                    throw JournalError(fault.damage)
                }
                // A reader that follows the store finds this again until a writer appends.
                if decided == fault.damage { return }
                decided = fault.damage
                if let part = fault.part {
                    try take(part, before: fault.damage.offset ?? part.offset)
                }
                return try decide(fault, in: segment)
            }
        }
        note()
        if case .toTheEnd = tail, lastFrameKind != .trailer { report.row = .cleanTail }
    }

    /// Notes how far the current segment was read.
    mutating func note() {
        endSegment = current
        report.end = reader?.position ?? report.end
        chain = reader?.chain ?? chain
        lastFrameKind = scan.lastFrameKind
    }

    /// Of the last group read.
    var epoch: UInt32 { reader?.epoch ?? 0 }
    var statedDurable: JournalOffset { reader?.statedDurable ?? .zero }

    private mutating func take(_ group: JournalGroup, before end: JournalOffset) throws {
        try scan.take(group, before: end, in: manifest.segments[current])
    }

    private func refusal(
        _ kind: JournalDamage.Kind, in segment: Manifest.Segment, at offset: JournalOffset? = nil
    ) -> JournalError {
        refusal(
            JournalDamage(
                kind, file: segment.fileName, byte: offset?.bytes(since: segment.base) ?? 0,
                offset: offset),
            in: segment)
    }

    /// Of what a clean close ended, the manifest says that it was durable. What only a newer version
    /// can read need not be damaged.
    private func refusal(
        _ damage: JournalDamage, in segment: Manifest.Segment
    ) -> JournalError {
        if damage.isNewer { return JournalError(damage) }
        return .refused(
            segment.state == .closed ? .damageBeforeManifestEnd : .damageInSealedSegment, damage)
    }

    private func open(_ segment: Manifest.Segment) throws -> any StorageFile {
        do {
            return try files.file(of: segment, .blocking)
        } catch {
            guard case .damaged(let damage) = error else { throw error }
            throw JournalError.refused(.damageInSealedSegment, damage)
        }
    }
}

extension Manifest {
    /// The number of the segment that `segment` of an older generation is; nil where it is gone or
    /// was compacted.
    fileprivate func number(of segment: Segment) -> Int? {
        segments.firstIndex {
            $0.base == segment.base && $0.isCompacted == segment.isCompacted
                && $0.number == segment.number
        }
    }
}
