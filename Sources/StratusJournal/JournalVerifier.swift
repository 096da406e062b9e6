package import StratusFiles

/// Reads everything that a manifest lists, whatever is damaged on the way, and names each damage.
///
/// It goes on behind a damaged place at the next whole group; so one place of damage is one
/// finding, and what lies behind it is checked all the same.
package struct JournalVerifier {
    package private(set) var findings: [JournalDamage] = []
    package private(set) var segmentCount = 0
    package private(set) var groupCount = 0
    package private(set) var entryCount = 0
    package private(set) var commitCount = 0
    /// Of whole groups.
    package private(set) var bytesRead = 0

    private let manifest: Manifest
    private let storage: any Storage
    private var openOrdinal: UInt32?
    /// Of the segment being read, and whether nothing of it was damaged so far.
    private var totals = SegmentTotals()
    private var isWhole = true
    /// Whether a group begins at the checkpoint.
    private var hasReachedCheckpoint = false

    package init(_ manifest: Manifest, in storage: any Storage) {
        self.manifest = manifest
        self.storage = storage
    }

    /// Checks everything. `check` says what is wrong with an entry's payload, if anything.
    package mutating func run(
        _ check: (JournalEntry) -> StaticString?
    ) throws(StorageError) {
        if let damage = manifest.checkpointDamage { findings.append(damage) }
        var chain: UInt64?
        for segment in manifest.segments where !segment.isEmpty {
            segmentCount += 1
            if let chain, chain != segment.chainAtStart {
                findings.append(JournalDamage(.chain, file: segment.fileName, byte: 0))
            }
            do {
                chain = try verify(segment, check)
            } catch {
                guard error.kind == .notFound else { throw error }
                findings.append(JournalDamage(.missingFile, file: segment.fileName, byte: 0))
                chain = nil
            }
        }
        if let checkpoint = manifest.checkpoint, !hasReachedCheckpoint, findings.isEmpty {
            checkEnd(of: checkpoint)
        }
        if openOrdinal != nil, let last = manifest.segments.last, last.state != .active {
            findings.append(JournalDamage(.commit, file: last.fileName, byte: 0, offset: last.end))
        }
    }

    private mutating func verify(
        _ segment: Manifest.Segment, _ check: (JournalEntry) -> StaticString?
    ) throws(StorageError) -> UInt64? {
        let file = try storage.open(segment.fileName)
        if file.length != segment.lengthInBytes {
            findings.append(
                JournalDamage(.fileLength, file: file.name, byte: file.length))
        }
        guard file.length >= SegmentHeader.length else { return nil }
        let first = try file.read(0..<SegmentHeader.length)
        do throws(JournalDamage) {
            let header = try SegmentHeader(first, file: file.name)
            guard header.belongs(to: segment, of: manifest.storeID) else {
                throw JournalDamage(.segmentHeader("identity"), file: file.name, byte: 0)
            }
        } catch {
            findings.append(error)
        }
        let end = segment.state == .active ? segment.limit : segment.end
        let limit = min(segment.limit, segment.base.advanced(byBytes: file.length & ~7))
        var reader = GroupReader(
            file, base: segment.base, salt: segment.salt, limit: limit, at: segment.firstGroup,
            chain: segment.chainAtStart)
        var retried: JournalOffset?
        totals = SegmentTotals(after: totals)
        isWhole = true
        while reader.position < end {
            do {
                let group = try reader.next()
                take(group, in: segment, before: end, check)
            } catch let fault as GroupFault {
                if let part = fault.part { take(part, in: segment, before: end, check) }
                let place = fault.damage.offset ?? reader.position
                if place >= end { break }
                let next = try nextGroup(after: place, before: end, in: file, segment)
                // A writer may have written while a piece was read that holds this group not yet.
                if next != nil, segment.state == .active, reader.position != retried {
                    retried = reader.position
                    reader.refresh()
                    continue
                }
                // The segment that is still written ends where nothing whole follows.
                if next == nil, segment.state == .active, place >= segment.end { return nil }
                findings.append(fault.damage)
                openOrdinal = nil
                isWhole = false
                guard let next else { return nil }
                reader.resume(at: next.offset, chain: next.chain)
            } catch {
                throw (error as? StorageError) ?? StorageError(.inputOutput, file: file.name)
            }
        }
        guard segment.state == .sealed else { return nil }
        if isWhole, reader.chain != segment.chainAtEnd {
            findings.append(JournalDamage(.chain, file: file.name, byte: 0))
        }
        return segment.chainAtEnd
    }

    private mutating func take(
        _ group: JournalGroup, in segment: Manifest.Segment, before end: JournalOffset,
        _ check: (JournalEntry) -> StaticString?
    ) {
        groupCount += 1
        bytesRead += group.header.lengthInBytes
        compareCheckpoint(at: group, in: segment)
        for entry in group.frames.prefix(while: { $0.offset < end }) {
            func finding(_ kind: JournalDamage.Kind) {
                findings.append(
                    JournalDamage(
                        kind, file: segment.fileName,
                        byte: entry.offset.bytes(since: segment.base), offset: entry.offset))
            }
            if let fault = check(entry) { finding(.payload(fault)) }
            if entry.kind == .trailer, isWhole, !holds(entry, in: group, of: segment) {
                finding(.trailer)
            }
            guard entry.kind.isEntry else { continue }
            entryCount += 1
            totals.count(entries: 1)
            let ordinal = entry.header.ordinal
            if ordinal != 0, let openOrdinal, ordinal != openOrdinal { finding(.commit) }
            openOrdinal = entry.header.isLast ? nil : ordinal + 1
            if let time = entry.commitTime {
                commitCount += 1
                totals.countCommit(at: time)
            }
        }
    }

    /// Whether a trailer says what was counted.
    private func holds(
        _ trailer: JournalEntry, in group: JournalGroup, of segment: Manifest.Segment
    ) -> Bool {
        let expected = Trailer(
            totals, chainAtStart: segment.chainAtStart, chainAtEnd: group.header.chain)
        return trailer.withPayload { try? Trailer($0) } == expected
    }

    /// A checkpoint that lies before `group` must say what the journal says there.
    private mutating func compareCheckpoint(
        at group: JournalGroup, in segment: Manifest.Segment
    ) {
        guard let position = manifest.checkpoint?.position, position.offset == group.offset
        else { return }
        hasReachedCheckpoint = true
        guard isWhole else { return }
        let found = JournalPosition(
            offset: group.offset, chain: group.header.chain, totals: totals)
        if position != found || openOrdinal != nil { findCheckpoint("journal") }
    }

    /// Where no group begins at the checkpoint, the journal or its segment ends there.
    private mutating func checkEnd(of checkpoint: Manifest.Checkpoint) {
        let position = checkpoint.position
        let segment = manifest.segment(holding: position.offset).map { manifest.segments[$0] }
        if let segment, segment.end == position.offset, segment.chainAtEnd == position.chain {
            return
        }
        findCheckpoint(segment == nil ? "offset" : "chain")
    }

    private mutating func findCheckpoint(_ reason: StaticString) {
        findings.append(
            JournalDamage(
                .checkpoint(reason), file: manifest.fileName, byte: manifest.checkpointPlace))
    }

    /// The first whole group behind a damaged place.
    private func nextGroup(
        after place: JournalOffset, before end: JournalOffset, in file: any StorageFile,
        _ segment: Manifest.Segment
    ) throws(StorageError) -> (offset: JournalOffset, chain: UInt64)? {
        var found: (offset: JournalOffset, chain: UInt64)?
        let search = FrameSearch(file: file, segment: segment)
        try search.forEachPlace(from: place, before: end) { here in
            guard here.offset > place, let group = here.group else { return true }
            found = (here.offset, group.chain)
            return false
        }
        return found
    }
}
