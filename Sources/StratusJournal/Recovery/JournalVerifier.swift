package import StratusFiles

/// Reads everything that a manifest lists, whatever is damaged on the way, and names each damage.
///
/// It goes on behind a damaged place at the next whole group; so one place of damage is one
/// finding, and what lies behind it is checked all the same.
package struct JournalVerifier {
    /// Says what is wrong with an entry's payload, if anything; is told whether something before it
    /// could not be read.
    package typealias Check = (
        _ entry: JournalEntry, _ isBehindDamage: Bool
    ) -> JournalDamage.Kind?

    /// Is told of each part of the journal that is passed over, between the entries before and
    /// behind it.
    package typealias Skip = (JournalGap) throws(StorageError) -> Void

    package private(set) var findings: [JournalFinding] = []
    package private(set) var segmentCount = 0
    package private(set) var groupCount = 0
    package private(set) var entryCount = 0
    package private(set) var commitCount = 0
    /// Of whole groups.
    package private(set) var bytesRead = 0

    private let manifest: Manifest
    private let identity: StoreIdentity
    private let storage: any Storage
    /// That the next entry has, unless it begins a commit; nil: unknown, behind damage.
    private var nextOrdinal: UInt32? = 0
    /// Of the segment being read, and whether nothing of it was damaged so far.
    private var totals = SegmentTotals()
    private var isWhole = true
    /// Whether something of the journal could not be read.
    private var isBroken = false
    /// Behind the last frame that was taken, and the kind of that frame.
    private var chain: UInt64 = 0
    private var lastFrameKind: EntryKind?
    private var lastGroup = JournalOffset.zero
    /// How many findings are of one of the two copies of the manifest.
    private var ofManifest = 0
    /// With which the next segment begins; nil where that is not known.
    private var nextChain: UInt64?
    /// Whether a group begins at the checkpoint, or was passed over there.
    private var hasReachedCheckpoint = false
    /// Whether the time of the last commit is known, be it in a segment that was passed over.
    private var knowsLastTime = true
    /// Behind a compacted segment at whose end a commit is open, until an entry was read: of what
    /// that commit had named, nothing is kept if it was given up.
    private var isBehindOpenEnd = false

    package init(_ manifest: Manifest, in storage: any Storage) {
        self.manifest = manifest
        identity = StoreIdentity(manifest)
        self.storage = storage
    }

    /// Checks everything.
    package mutating func run(
        skipping skip: Skip = { _ in }, _ check: Check
    ) throws(StorageError) {
        begin()
        for segment in manifest.segments { try read(segment, skipping: skip, check) }
        end()
    }

    /// Checks the manifest. All of its segments follow in their order, each of which is read or passed
    /// over, and ``end()``.
    package mutating func begin() {
        if let damage = manifest.damage { findings.append(JournalFinding(damage)) }
        // What is wrong with one of two copies says nothing of the journal.
        ofManifest = findings.count
        if let damage = manifest.checkpointDamage { findings.append(JournalFinding(damage)) }
    }

    /// Checks a segment.
    package mutating func read(
        _ segment: Manifest.Segment, skipping skip: Skip = { _ in }, _ check: Check
    ) throws(StorageError) {
        checkChain(before: segment)
        do throws(StorageError) {
            nextChain =
                segment.isCompacted
                ? try verifyCompacted(segment, skip, check)
                : try verify(segment, skip, check)
        } catch {
            guard error.kind == .notFound else { throw error }
            let damage = JournalDamage(.missingFile, file: segment.fileName, byte: 0)
            find(damage)
            try skip(JournalGap(segment, from: segment.base, damage))
            nextChain = nil
        }
    }

    /// Leaves a segment out: what depends on it is not checked in those behind it.
    package mutating func passOver(_ segment: Manifest.Segment) {
        checkChain(before: segment)
        nextChain = segment.state == .active ? nil : segment.chainAtEnd
        nextOrdinal = nil
        isBroken = true
        isBehindOpenEnd = false
        knowsLastTime = false
        if let offset = manifest.checkpoint?.position.offset, segment.base <= offset,
            segment.state == .active || offset <= segment.end
        {
            hasReachedCheckpoint = true
        }
    }

    /// Checks that a segment goes on from the one before it.
    private mutating func checkChain(before segment: Manifest.Segment) {
        if let nextChain, nextChain != segment.chainBefore {
            find(JournalDamage(.chain, file: segment.fileName, byte: 0))
        }
    }

    /// No segment follows.
    package mutating func end() {
        if let checkpoint = manifest.checkpoint, !hasReachedCheckpoint,
            findings[ofManifest...].allSatisfy({ $0.severity != .damage })
        {
            checkEnd(of: checkpoint)
        }
    }

    /// Returns the chain with which the next segment begins; nil where that is not known.
    private mutating func verify(
        _ segment: Manifest.Segment, _ skip: Skip, _ check: Check
    ) throws(StorageError) -> UInt64? {
        let file = try storage.open(segment.fileName)
        if let damage = try verifyHeader(of: file, segment) {
            try skip(JournalGap(segment, from: segment.base, damage))
            return nil
        }
        let chain = try verifyGroups(of: segment, in: file, skip, check)
        if file.length < segment.lengthInBytes {
            let end = segment.base.advanced(byBytes: file.length & ~7)
            let stated = segment.state == .active ? segment.limit : segment.end
            let damage = JournalDamage(.fileLength, file: file.name, byte: file.length)
            if end < stated { try skip(JournalGap(segment, from: end, to: stated, damage)) }
        }
        return chain
    }

    private mutating func verifyGroups(
        of segment: Manifest.Segment, in file: any StorageFile, _ skip: Skip, _ check: Check
    ) throws(StorageError) -> UInt64? {
        if segment.isEmpty { return segment.chainAtEnd }
        segmentCount += 1
        let end = segment.state == .active ? segment.limit : segment.end
        let limit = min(segment.limit, segment.base.advanced(byBytes: file.length & ~7))
        var reader = GroupReader(
            file, base: segment.base, salt: segment.salt, limit: limit, at: segment.firstGroup,
            chain: segment.chainAtStart)
        var retried: JournalOffset?
        totals = SegmentTotals(after: totals)
        isWhole = true
        chain = segment.chainAtStart
        lastFrameKind = nil
        lastGroup = segment.firstGroup
        while reader.position < end {
            do {
                let group = try reader.next()
                take(group, in: segment, before: end, check)
            } catch let fault as GroupFault {
                // A writer may have written during the read, which holds this group not yet.
                if segment.state == .active, reader.position != retried {
                    retried = reader.position
                    reader.refresh()
                    continue
                }
                if let part = fault.part { take(part, in: segment, before: end, check) }
                let place = fault.damage.offset ?? reader.position
                if place >= end { break }
                let search = FrameSearch(file: file, segment: segment)
                let next = try search.nextGroup(behind: place, before: end)
                guard
                    let severity = try severity(of: fault, at: place, in: file, segment)
                else { return nil }
                // The journal ended there when the group was read; what was found behind that was
                // written since, and the group before it.
                if segment.state == .active, try isBeingWritten, reader.findsGroup { return nil }
                find(fault.damage, severity)
                let isEnd = severity != .damage
                if severity != .tornTail {
                    try skip(
                        JournalGap(
                            segment, from: place, to: isEnd ? end : next?.offset ?? end,
                            fault.damage, isWhereGroupBegins: fault.part == nil,
                            isWhereJournalEnds: isEnd, file: file))
                }
                guard !isEnd, let next else { return nil }
                nextOrdinal = nil
                reader.resume(at: next.offset, chain: next.chain)
            } catch {
                throw (error as? StorageError) ?? StorageError(.inputOutput, file: file.name)
            }
        }
        if segment.state == .active { return nil }
        if segment.state == .sealed, isWhole, lastFrameKind != .trailer {
            findTrailer(lastGroup, in: segment)
        }
        // A commit that is open at a stated end was given up there.
        if segment.state != .sealed { nextOrdinal = 0 }
        if isWhole, chain != segment.chainAtEnd {
            find(JournalDamage(.chain, file: file.name, byte: 0))
        }
        return segment.chainAtEnd
    }

    /// The same of a compacted segment.
    private mutating func verifyCompacted(
        _ segment: Manifest.Segment, _ skip: Skip, _ check: Check
    ) throws(StorageError) -> UInt64? {
        segmentCount += 1
        isWhole = true
        var last: JournalOffset?
        var end = CompactedHeader.length
        var directoryPlace: Int?
        do throws(JournalError) {
            let file = try CompactedFile(segment, in: storage, of: manifest.storeID, cache: nil)
            directoryPlace = file.directoryPlace
            var reader = CompactedReader(file)
            var (count, frameBytes) = (0, 0)
            while reader.next < file.blockCount {
                let row = try reader.nextRow()
                let piece = reader.next / CompactedFile.rowsInPiece
                if reader.next % CompactedFile.rowsInPiece == 0,
                    row.firstOffset.rawValue != file.top[piece]
                {
                    find(file.damage("footer", file.file.length - CompactedFile.footerLength))
                }
                if row.place != end || last.map({ row.firstOffset <= $0 }) ?? false {
                    find(file.damage("directory", row.place))
                }
                end = row.place + row.length
                last = row.firstOffset
                do throws(JournalError) {
                    let entries = try reader.nextBlock() ?? []
                    count += entries.count
                    frameBytes += entries.reduce(0) { $0 + $1.header.frameLength }
                    last = entries.last?.offset ?? last
                    take(entries, check)
                } catch {
                    guard case .damaged(let damage) = error else { throw error }
                    find(damage)
                    let next =
                        reader.next < file.blockCount ? try? reader.nextRow().firstOffset : nil
                    do throws(StorageError) {
                        try skip(
                            JournalGap(
                                segment, from: row.firstOffset, to: next ?? segment.end, damage))
                    } catch {
                        throw .storage(error)
                    }
                }
            }
            if end != file.directoryPlace { find(file.damage("directory", file.directoryPlace)) }
            if isWhole,
                count != file.entryCount || file.namedCount > count
                    || frameBytes != file.frameBytes
            {
                find(file.damage("footer", file.file.length - CompactedFile.footerLength))
            }
            bytesRead += file.file.length
            nextOrdinal = file.header.openOrdinal
            isBehindOpenEnd = file.header.openOrdinal > 0
            totals = SegmentTotals()
            totals.lastTime = file.header.lastTime
            knowsLastTime = true
            return segment.chainAtEnd
        } catch {
            let damage: JournalDamage
            switch error {
            case .damaged(let found), .newerFormat(let found): damage = found
            case .storage(let error): throw error
            default: damage = JournalDamage(.compacted("block"), file: segment.fileName, byte: 0)
            }
            find(damage)
            nextOrdinal = nil
            try skip(
                JournalGap(
                    segment, from: last?.next ?? segment.base, damage,
                    file: try storage.open(segment.fileName), blocksFrom: end,
                    blocksTo: directoryPlace))
            return segment.chainAtEnd
        }
    }

    /// Checks the entries of a block.
    private mutating func take(_ entries: [JournalEntry], _ check: Check) {
        for entry in entries {
            if let fault = fault(of: entry, check) {
                findings.append(JournalFinding(entry.damage(fault)))
            }
            entryCount += 1
            if entry.header.isLast { commitCount += 1 }
        }
    }

    private func fault(of entry: JournalEntry, _ check: Check) -> JournalDamage.Kind? {
        // A version that was restored is less than those that the store gives from there on.
        guard !entry.kind.isEntry || entry.version <= identity.version(at: entry.offset) else {
            return .frame(.field("version"))
        }
        return check(entry, isBroken)
    }

    /// Checks length and header of a segment's file; returns the damage where there is no more to
    /// read.
    private mutating func verifyHeader(
        of file: any StorageFile, _ segment: Manifest.Segment
    ) throws(StorageError) -> JournalDamage? {
        let length = JournalDamage(.fileLength, file: file.name, byte: file.length)
        if file.length != segment.lengthInBytes || file.length < SegmentHeader.length {
            find(length)
        }
        guard file.length >= SegmentHeader.length else { return length }
        let first = try file.read(0..<SegmentHeader.length)
        do throws(JournalDamage) {
            let header = try SegmentHeader(first, file: file.name)
            guard header.belongs(to: segment, of: manifest.storeID) else {
                throw JournalDamage(.segmentHeader("identity"), file: file.name, byte: 0)
            }
        } catch {
            find(error)
        }
        return nil
    }

    /// What it means that the groups of a segment stop being whole at `place`; nil where the
    /// journal just ends there.
    private func severity(
        of fault: GroupFault, at place: JournalOffset, in file: any StorageFile,
        _ segment: Manifest.Segment
    ) throws(StorageError) -> JournalFinding.Severity? {
        if segment.state != .active { return .damage }
        let evidence = try TailEvidence(
            behind: place, in: file, of: segment,
            others: manifest.segments.filter { $0.base != segment.base && !$0.isCompacted })
        let row = RecoveryRow(fault, at: place, behind: lastFrameKind, evidence, of: segment)
        switch row {
        case .behindStatedEnd, .cleanTail: return nil
        case .reorderedUnacknowledged, .lastGroupDamaged, .tornTail, .staleBytes:
            if case .frame(let fault) = fault.damage.kind, fault.isOfWholeHeader { return .damage }
            // A living writer may still be writing what it has not said to be durable.
            if try isBeingWritten { return nil }
            return row == .tornTail || row == .staleBytes ? .tornTail : .possibleLoss
        case .damageInSealedSegment, .damageBeforeDurableGroup, .damageBeforeManifestEnd,
            .readError:
            return .damage
        }
    }

    /// Whether a writer has the journal open, or has had since the manifest was read.
    private var isBeingWritten: Bool {
        get throws(StorageError) {
            if try storage.hasWriter() { return true }
            let newest = try storage.list().compactMap { Manifest.generation(ofFile: $0) }.max()
            return newest != manifest.generation
        }
    }

    private mutating func find(
        _ damage: JournalDamage, _ severity: JournalFinding.Severity = .damage
    ) {
        findings.append(JournalFinding(damage, severity))
        isWhole = false
        isBroken = true
    }

    /// The trailer is wrong, or missing, of a segment whose last group begins at `group`.
    private mutating func findTrailer(_ group: JournalOffset, in segment: Manifest.Segment) {
        find(
            JournalDamage(
                .trailer, file: segment.fileName, byte: group.bytes(since: segment.base),
                offset: group))
    }

    private mutating func take(
        _ group: JournalGroup, in segment: Manifest.Segment, before end: JournalOffset,
        _ check: Check
    ) {
        groupCount += 1
        bytesRead += group.header.lengthInBytes
        compareCheckpoint(at: group, in: segment)
        let entries = group.frames.prefix { $0.offset < end }
        lastFrameKind = entries.last?.kind ?? .group
        lastGroup = group.offset
        chain = Chain.after(
            group.header.chain, payloadChecksums: Array(group.payloadChecksums[0...entries.count]))
        for entry in entries {
            func finding(_ kind: JournalDamage.Kind) {
                findings.append(JournalFinding(entry.damage(kind)))
            }
            isBehindOpenEnd = isBehindOpenEnd && !entry.kind.isEntry
            let isChecked = !isBehindOpenEnd || entry.kind != .preamble
            if isChecked, let fault = fault(of: entry, check) { finding(fault) }
            if entry.kind == .trailer, isWhole, !holds(entry, in: group, of: segment) {
                findTrailer(group.offset, in: segment)
            }
            guard entry.kind.isEntry else { continue }
            entryCount += 1
            totals.count(entries: 1)
            let ordinal = entry.header.ordinal
            if ordinal != 0, let nextOrdinal, ordinal != nextOrdinal {
                finding(.commit)
                isBroken = true
            }
            nextOrdinal = entry.header.isLast ? 0 : ordinal + 1
            if let time = entry.commitTime {
                commitCount += 1
                totals.countCommit(at: time)
                knowsLastTime = true
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
        guard isWhole, knowsLastTime else { return }
        let found = JournalPosition(
            offset: group.offset, chain: group.header.chain, totals: totals)
        if position != found || nextOrdinal != 0 { findCheckpoint("journal") }
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
            JournalFinding(
                JournalDamage(
                    .checkpoint(reason), file: manifest.fileName, byte: manifest.checkpointPlace)))
    }
}
