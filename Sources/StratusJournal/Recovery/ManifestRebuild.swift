internal import StratusBytes
package import StratusFiles

extension Journal {
    /// The newest manifest or, where that is not whole, one that is made of what the segments say of
    /// themselves, with the damage: `Formats/Manifest.md`, "A manifest that is lost".
    ///
    /// - Throws: the damage, where the segments do not tell which store it is.
    package static func readableManifest(
        in storage: any Storage
    ) throws -> (manifest: Manifest, damage: JournalDamage?) {
        do {
            guard let manifest = try newestManifest(in: storage) else { throw JournalError.noStore }
            return (manifest, nil)
        } catch let damage as JournalDamage {
            if damage.isNewer { throw damage }
            guard let manifest = try ManifestRebuild(storage).run() else { throw damage }
            return (manifest, damage)
        }
    }
}

private struct ManifestRebuild {
    private let storage: any Storage
    private let names: [String]

    /// The file of a segment that is not compacted.
    private struct Written {
        var base: JournalOffset
        var length: Int
        /// Nil where it is not whole.
        var header: SegmentHeader?
        /// What lies where the salt should, which frames confirm or not.
        var salt: UInt64
        var isZero: Bool

        var limit: JournalOffset { base.advanced(byBytes: length) }
    }

    /// The file of a compacted segment.
    private struct Compacted {
        var row: Manifest.Segment
        /// Whether a commit goes on behind it.
        var isOpen: Bool
    }

    init(_ storage: any Storage) throws {
        self.storage = storage
        names = try storage.list()
    }

    /// Nil where no header of a segment is whole, or there are headers of several stores.
    func run() throws -> Manifest? {
        var written = try writtenSegments()
        let headers = written.compactMap(\.header)
        guard let identity = headers.last?.identity,
            headers.allSatisfy({ $0.identity.storeID == identity.storeID })
        else { return nil }
        // A crash may have left a file without its header; files of other kinds may have such names.
        if let last = written.last, last.isZero { written.removeLast() }
        written.removeAll { segment in
            segment.header == nil
                && headers.contains { $0.base < segment.base && segment.base < $0.limit }
        }
        let compacted = try compactedSegments(of: identity.storeID, beside: written)
        written.removeAll { segment in
            compacted.contains { $0.row.base <= segment.base && segment.base < $0.row.end }
        }
        let generations =
            names.compactMap { Manifest.generation(ofFile: $0) }
            + compacted.map { $0.row.number >> 16 }
        let generation = generations.max() ?? 0
        guard generation < .max - 2 else { return nil }
        var manifest = Manifest(
            generation: generation + 1, storeID: identity.storeID,
            secret: identity.secret, userSeed: identity.userSeed,
            incarnation: identity.incarnation, lineage: identity.lineage,
            ancestors: identity.ancestors, environment: identity.environment,
            epoch: headers.map(\.epoch).max() ?? 0, created: identity.created, segments: [])
        manifest.segments = try listed(written, compacted.map(\.row), &manifest.epoch)
        for place in manifest.segments.indices.dropLast()
        where manifest.segments[place].isCompacted
            && manifest.segments[place + 1].base != manifest.segments[place].end
        {
            // Whether it was sealed or ended by a recovery nothing tells. Nothing is joined to it then.
            let number = manifest.segments[place].number
            let isOpen = compacted.contains { $0.row.number == number && $0.isOpen }
            if !isOpen { manifest.segments[place].state = .compactedEnded }
        }
        return manifest
    }

    private func bytes(_ count: Int, of file: any StorageFile) throws(StorageError) -> [UInt8] {
        try file.readableBytes(in: 0..<min(count, file.length))
    }

    /// In the order of their bases.
    private func writtenSegments() throws -> [Written] {
        try names.compactMap { name in
            guard let base = SegmentHeader.base(ofFile: name), base.rawValue < JournalOffset.limit
            else { return nil }
            let file = try storage.open(name)
            let first = try bytes(SegmentHeader.length, of: file)
            let header = try Self.whole { try SegmentHeader(first, file: name) }
            let isOwn = header.map { $0.base == base && $0.lengthInBytes == file.length } ?? false
            let isShort = first.count < SegmentHeader.length
            return Written(
                base: base, length: min(file.length & ~4095, SegmentHeader.greatestLength),
                header: isOwn ? header : nil,
                salt: isShort ? 0 : first.span.uint64(at: SegmentHeader.saltPlace),
                isZero: first.allSatisfy { $0 == 0 })
        }.sorted { $0.base < $1.base }
    }

    /// Those that no newer one stands for, and that do not stand for segments which are all there: what
    /// took the place of an entry that such a one has not may not have been durable.
    private func compactedSegments(
        of storeID: StoreID, beside written: [Written]
    ) throws -> [Compacted] {
        var found: [Compacted] = []
        for name in names {
            guard let number = CompactedHeader.number(ofFile: name) else { continue }
            let file = try storage.open(name)
            let first = try bytes(CompactedHeader.length, of: file)
            guard first.count == CompactedHeader.length else { continue }
            let whole = try Self.whole { try CompactedHeader(first.span, file: name) }
            // Of one that is not whole the blocks confirm what it says, or not.
            let header = whole ?? CompactedHeader(unverified: first.span)
            let isOwn = header.number == number && header.storeID == storeID
            guard isOwn || whole == nil, header.base < header.end,
                header.end.rawValue < JournalOffset.limit, !coversWhole(header, written)
            else { continue }
            var row = header.listed(lengthInBytes: file.length, isEnded: false)
            row.number = number
            found.append(Compacted(row: row, isOpen: header.openOrdinal > 0))
        }
        found.sort { $0.row.number > $1.row.number }
        var listed: [Compacted] = []
        for one in found
        where !listed.contains(where: { $0.row.base < one.row.end && one.row.base < $0.row.end }) {
            listed.append(one)
        }
        return listed
    }

    /// Whether all segments that it stands for are there, one behind the other, with their headers.
    private func coversWhole(_ compacted: CompactedHeader, _ written: [Written]) -> Bool {
        let inputs = written.filter { compacted.base <= $0.base && $0.base < compacted.end }
        guard inputs.first?.base == compacted.base, let last = inputs.last,
            inputs.allSatisfy({ $0.header != nil }),
            zip(inputs, inputs.dropFirst()).allSatisfy({ $1.header?.predecessorBase == $0.base })
        else { return false }
        let next = written.first { $0.base >= compacted.end }
        return next?.header.map { $0.predecessorBase == last.base } ?? false
    }

    /// Nil where that is damaged. What is of a newer format fails.
    private static func whole<Value>(_ body: () throws -> Value) throws -> Value? {
        do {
            return try body()
        } catch let damage as JournalDamage {
            if damage.isNewer { throw damage }
            return nil
        }
    }

    /// As a manifest lists them. Where each ends the header of the next one says; the last is active.
    /// Where one is missing, as a header says, it is listed all the same.
    private func listed(
        _ written: [Written], _ compacted: [Manifest.Segment], _ epoch: inout UInt32
    ) throws -> [Manifest.Segment] {
        var listed: [Manifest.Segment] = []
        /// Where the journal was when the segment behind was made, and the chain there; nil where
        /// nothing is known of that.
        var next: (end: JournalOffset, chain: UInt64)?
        for (place, segment) in written.enumerated().reversed() {
            let isLast = place == written.count - 1
            guard let header = segment.header else {
                var row = Self.row(segment, next?.chain ?? 0)
                row.state = isLast ? .active : .ended
                let end = max(next?.end ?? row.limit, row.firstGroup)
                row.end = isLast ? row.firstGroup : min(end, row.limit)
                listed.append(row)
                next = nil
                continue
            }
            var row = Self.row(segment, header.chain)
            if isLast {
                epoch = max(epoch, try lastEpoch(of: row))
            } else {
                try end(&row, next)
            }
            listed.append(row)
            // Behind an end that lies before it, a recovery left it empty.
            if next.map({ $0.end > header.base }) ?? true {
                next = (header.predecessorEnd, header.chain)
            }
            let before = max(
                place > 0 ? written[place - 1].limit : .zero,
                compacted.filter { $0.base < segment.base }.map(\.end).max() ?? .zero)
            let isThere =
                place > 0 && written[place - 1].base == header.predecessorBase
                || compacted.contains {
                    $0.base <= header.predecessorBase && header.predecessorBase < $0.end
                }
            let isFirst = header.predecessorEnd == .zero
            if !isThere, !isFirst, before < segment.base {
                listed.append(
                    missing(from: max(before, header.predecessorBase), to: segment.base, header))
                if before < header.predecessorBase {
                    listed.append(missing(from: before, to: header.predecessorBase, header))
                }
                next = nil
            }
        }
        return (listed + compacted).sorted { $0.base < $1.base }
    }

    private static func row(_ segment: Written, _ chain: UInt64) -> Manifest.Segment {
        Manifest.Segment(
            base: segment.base, lengthInBytes: segment.length, salt: segment.salt, state: .active,
            end: min(segment.base.advanced(byBytes: SegmentHeader.length), segment.limit),
            chainAtStart: chain, chainAtEnd: chain)
    }

    /// A segment of which there is no file.
    private func missing(
        from base: JournalOffset, to limit: JournalOffset, _ next: SegmentHeader
    ) -> Manifest.Segment {
        let length = min(limit.bytes(since: base), SegmentHeader.greatestLength) & ~4095
        let end = base.advanced(byBytes: length)
        return Manifest.Segment(
            base: base, lengthInBytes: length, salt: 0, state: .ended, end: end,
            chainAtStart: next.chain, chainAtEnd: next.chain)
    }

    /// States where a segment ends that is not the last.
    private func end(
        _ row: inout Manifest.Segment, _ next: (end: JournalOffset, chain: UInt64)?
    ) throws {
        row.state = .ended
        if let next, next.end <= row.limit {
            row.end = max(next.end, row.firstGroup)
            row.chainAtEnd = next.chain
        } else {
            var groups = try reader(of: row)
            while let group = try? groups.next() { row.end = group.end }
            row.chainAtEnd = groups.chain
        }
        guard row.end > row.firstGroup, let trailer = try trailer(before: row.end, of: row) else {
            return
        }
        row.state = .sealed
        row.leastTime = trailer.leastTime
        row.greatestTime = trailer.greatestTime
    }

    private func reader(of row: Manifest.Segment) throws -> GroupReader {
        GroupReader(
            try storage.open(row.fileName), base: row.base, salt: row.salt, limit: row.limit,
            at: row.firstGroup, chain: row.chainAtStart)
    }

    /// The greatest that a group says; an opening must have a greater one.
    private func lastEpoch(of row: Manifest.Segment) throws -> UInt32 {
        var groups = try reader(of: row)
        try groups.skip(to: row.limit)
        return groups.epoch
    }

    /// The trailer that ends there; nil where none does.
    private func trailer(
        before end: JournalOffset, of row: Manifest.Segment
    ) throws -> Trailer? {
        let length = FrameFormat.frameLength(payload: Trailer.payloadLength)
        let place = end.bytes(since: row.base) - length
        guard place >= SegmentHeader.length else { return nil }
        let bytes = try storage.open(row.fileName).readableBytes(in: place..<place + length)
        let offset = row.base.advanced(byBytes: place)
        guard
            let header = try? FrameHeader(
                bytes.span, at: 0, end: length, offset: offset, salt: row.salt),
            header.kind == .trailer
        else { return nil }
        let start = FrameFormat.headerLength
        return try? Trailer(bytes.span.extracting(start..<start + Trailer.payloadLength))
    }
}
