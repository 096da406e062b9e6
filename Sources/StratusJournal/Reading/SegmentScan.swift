/// Where a commit is open while groups are read.
struct OpenCommit {
    var nextOrdinal: UInt32
    /// Of the commit's first entry.
    var start: JournalOffset
    /// The segment it lies in.
    var segment: Int
    /// The chain if the journal ended before it; known once its first group has been read.
    var chainAtStart: UInt64
}

/// Reads groups in order and hands their commits to a fold.
struct SegmentScan<Fold: JournalFold> {
    var fold: Fold
    var open: OpenCommit?
    /// The number of the segment being read.
    private(set) var segment = 0
    private(set) var totals = SegmentTotals()
    var commitCount: UInt64 = 0
    /// In the segment being read.
    private(set) var lastFrameKind: EntryKind?
    /// A group that was not whole may be read again; nothing of it is taken twice.
    private var takenThrough = JournalOffset.zero

    init(_ fold: Fold) { self.fold = fold }

    /// Goes over to segment `number`, of which nothing has been read: how the one before ended
    /// says nothing about the end of this one.
    mutating func begin(segment number: Int) {
        begin(segment: number, totals: SegmentTotals(after: totals))
    }

    /// Goes over to segment `number`, of which `totals` have been counted.
    mutating func begin(segment number: Int, totals: SegmentTotals) {
        segment = number
        self.totals = totals
        lastFrameKind = nil
    }

    /// Takes the frames of `group` that lie before `end`.
    mutating func take(
        _ group: JournalGroup, before end: JournalOffset, in segment: Manifest.Segment
    ) throws(JournalError) {
        lastFrameKind = .group
        let taken = takenThrough
        let frames = group.frames.prefix { $0.offset < end }.drop { $0.offset < taken }
        for (index, frame) in zip(frames.indices, frames) {
            if frame.header.ordinal == 0, frame.kind.isEntry {
                // Whether the commit ends in this group; if not, it may stay open.
                let rest = frames[index...].dropFirst().prefix { $0.kind.isEntry }
                let next = rest.first { $0.header.isLast || $0.header.ordinal == 0 }
                let ends = frame.header.isLast || (next.map { $0.header.ordinal > 0 } ?? false)
                try begin(at: frame.offset, mayStayOpen: !ends)
            }
            do throws(JournalDamage.Kind) {
                try take(frame)
            } catch {
                throw JournalError(
                    JournalDamage(
                        error, file: segment.fileName,
                        byte: frame.offset.bytes(since: segment.base), offset: frame.offset))
            }
            lastFrameKind = frame.kind
            takenThrough = frame.offset.advanced(byBytes: frame.header.frameLength)
        }
        try fold.endGroup()
        if let start = open?.start, start > group.offset {
            let before = group.frames.count { $0.offset < start }
            open?.chainAtStart = Chain.after(
                group.header.chain, payloadChecksums: Array(group.payloadChecksums[0...before]))
        }
    }

    /// Takes all that is kept of a compacted segment, `number` in the manifest.
    ///
    /// Where in it one commit ends and the next begins is not kept, and no matter: all of them are
    /// complete. Only behind its end one may go on.
    mutating func take(
        _ compacted: CompactedFile, segment number: Int
    ) throws(JournalError) {
        // What a compacted segment before it left open goes on in it, or was given up.
        open = nil
        begin(segment: number)
        let header = compacted.header
        var reader = CompactedReader(compacted)
        while let entries = try reader.nextBlock() {
            for entry in entries {
                do throws(JournalDamage.Kind) {
                    try entry.withPayload { payload throws(JournalDamage.Kind) in
                        try fold.apply(entry.header, at: entry.offset, payload: payload)
                    }
                } catch {
                    throw JournalError(entry.damage(error))
                }
                guard let time = entry.commitTime else { continue }
                fold.complete(
                    end: entry.offset.advanced(byBytes: entry.header.frameLength), time: time)
                totals.countCommit(at: time)
                commitCount += 1
            }
            fold.complete(end: header.end, time: totals.lastTime)
            try fold.endGroup()
        }
        fold.complete(end: header.end, time: header.lastTime)
        if header.greatestTime != 0 { fold.passOver(latest: header.greatestTime) }
        try fold.endGroup()
        totals.lastTime = header.lastTime
        guard header.openOrdinal > 0 else { return }
        fold.setSavepoint()
        open = OpenCommit(
            nextOrdinal: header.openOrdinal, start: header.end, segment: number,
            chainAtStart: header.chainAtEnd)
    }

    private mutating func begin(
        at offset: JournalOffset, mayStayOpen: Bool
    ) throws(JournalError) {
        // A commit that another one follows before its last entry failed while it was written.
        giveUpOpenCommit()
        if mayStayOpen {
            try fold.endGroup()
            fold.setSavepoint()
        }
        open = OpenCommit(nextOrdinal: 0, start: offset, segment: segment, chainAtStart: 0)
    }

    /// The rest of the open commit, if there is one, will never come.
    mutating func giveUpOpenCommit() {
        guard open != nil else { return }
        fold.rollBack()
        open = nil
    }

    private mutating func take(_ frame: JournalEntry) throws(JournalDamage.Kind) {
        guard frame.kind.isEntry else {
            if frame.kind == .preamble {
                try frame.withPayload { payload throws(JournalDamage.Kind) in
                    try fold.apply(frame.header, at: frame.offset, payload: payload)
                }
            } else if frame.kind != .trailer, !frame.kind.mayBeIgnored {
                throw .unknownKind(frame.kind.rawValue)
            }
            return
        }
        totals.count(entries: 1)
        guard open?.nextOrdinal == frame.header.ordinal else { throw .commit }
        try frame.withPayload { payload throws(JournalDamage.Kind) in
            try fold.apply(frame.header, at: frame.offset, payload: payload)
        }
        open?.nextOrdinal += 1
        if let time = frame.commitTime {
            fold.complete(end: frame.offset.advanced(byBytes: frame.header.frameLength), time: time)
            totals.countCommit(at: time)
            commitCount += 1
            open = nil
        }
    }
}
