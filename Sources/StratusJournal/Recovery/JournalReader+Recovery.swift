internal import StratusFiles

// What an opening decides about the end of a journal that has no writer.

extension JournalReader {
    /// Decides what the end of the active segment is, where its groups stop being whole.
    mutating func decide(
        _ fault: GroupFault, in segment: Manifest.Segment
    ) throws {
        note()
        let place = fault.damage.offset ?? report.end
        report.end = place
        report.damage = fault.damage
        let evidence = try TailEvidence(
            behind: place, in: files.file(of: segment, .blocking), of: segment,
            others: manifest.segments.filter { $0.base != segment.base && !$0.isCompacted })
        unusedFrom = evidence.end
        report.row = RecoveryRow(
            fault, at: place, behind: lastFrameKind, evidence, of: segment)
        guard report.row.isAccepted else {
            throw JournalError.refused(report.row, fault.damage)
        }
        if report.row == .behindStatedEnd || report.row == .cleanTail { report.damage = nil }
        // Where the group frame itself is at fault, the chain ends before it.
        if let part = fault.part, place > part.offset {
            let taken = part.frames.count { $0.offset < place }
            chain = Chain.after(
                part.header.chain, payloadChecksums: Array(part.payloadChecksums[0...taken]))
        }
    }

    /// Gives up what an open commit left: the journal ends before it, which may be segments back.
    mutating func dropOpenCommit() {
        guard let open = scan.open else { return }
        scan.giveUpOpenCommit()
        for index in open.segment...endSegment {
            let segment = manifest.segments[index]
            let start = index == open.segment ? open.start : segment.base
            let end = index == endSegment ? report.end : segment.end
            report.droppedBytes += end.bytes(since: start)
        }
        endSegment = open.segment
        report.end = open.start
        chain = open.chainAtStart
        lastFrameKind = nil
        // A trailer was the last thing that was written, and now lies behind the end: nothing can
        // be appended here.
        if report.wasClean { report.row = .cleanTail }
    }

    /// Makes durable what the journal ends with: it may lie in the page cache of a writer that
    /// died.
    ///
    /// A sync that failed left pages there that no later sync writes, so what no group said to be
    /// durable is written once more, with the same bytes. Of segments before the active one all
    /// is durable.
    func settle() throws {
        guard manifest.active != nil else { return }
        let segment = manifest.segments[endSegment]
        let start = max(statedDurable, segment.end, segment.firstGroup)
        if segment.state == .active, start < report.end {
            try files.file(of: segment, .blocking).rewrite(
                start.bytes(since: segment.base)..<report.end.bytes(since: segment.base))
        }
        for segment in manifest.segments[endSegment...] {
            try files.file(of: segment, .blocking).sync()
        }
    }

    /// States in `manifest` where the journal ends, unless it says so already.
    func end(_ manifest: inout Manifest) {
        guard let last = manifest.segments.last, last.state == .active || report.end < last.end
        else { return }
        let isSealed = report.row == .behindStatedEnd && lastFrameKind == .trailer
        manifest.segments[endSegment].finish(
            as: isSealed ? .sealed : .ended, at: report.end, chain: chain, scan.totals)
        // Segments behind the end hold nothing of the store; the chain passes them by. The journal
        // goes on behind them, so a checkpoint may lie there.
        for index in manifest.segments.indices where index > endSegment {
            let start = manifest.segments[index].firstGroup
            manifest.segments[index].finish(as: .ended, at: start, chain: chain, scan.totals)
        }
    }

    /// Gives the blocks back that were prepared behind the last byte of a segment that a crash
    /// ended: nothing will be written there. What a crash left there stays, as evidence.
    func releaseUnused() {
        guard let segment = manifest.active, let unusedFrom,
            let file = try? files.file(of: segment, .blocking)
        else { return }
        // They cost room until the next opening, and nothing else, where the system refuses.
        try? file.release(unusedFrom.bytes(since: segment.base)..<segment.lengthInBytes)
    }
}

extension RecoveryRow {
    /// The table of `Formats/Journal.md`, "Recovery", for the active segment, whose groups stop
    /// being whole at `place`, behind a frame of the kind `last`.
    init(
        _ fault: GroupFault, at place: JournalOffset, behind last: EntryKind?,
        _ evidence: TailEvidence, of segment: Manifest.Segment
    ) {
        self =
            switch true {
            case segment.end > place: .damageBeforeManifestEnd
            // A trailer is the last thing in a segment.
            case fault.part == nil && last == .trailer: .behindStatedEnd
            case evidence.saysDurable: .damageBeforeDurableGroup
            case evidence.hasLaterGroup: .reorderedUnacknowledged
            case fault.part != nil || evidence.hasLaterFrame: .lastGroupDamaged
            case evidence.isZero: .cleanTail
            case evidence.isStale: .staleBytes
            default: .tornTail
            }
    }
}
