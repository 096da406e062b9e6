internal import StratusBytes
package import StratusFiles

extension Journal {
    /// The manifest that a store had whose manifest is lost, made of what its segments say of themselves:
    /// `Formats/Manifest.md`, "A manifest that is lost". It has no checkpoint.
    ///
    /// - Throws: ``JournalError/noStore`` where no segment tells which store it is.
    package static func rebuiltManifest(in storage: any Storage) throws -> Manifest {
        try ManifestRebuild(storage).run()
    }

    /// The newest manifest or, where that is not whole, one that is made of the segments, with the damage.
    ///
    /// - Throws: the damage, where there is no segment that tells which store it is.
    package static func readableManifest(
        in storage: any Storage
    ) throws -> (manifest: Manifest, damage: JournalDamage?) {
        do {
            guard let manifest = try newestManifest(in: storage) else { throw JournalError.noStore }
            return (manifest, nil)
        } catch let damage as JournalDamage {
            if damage.isNewer { throw damage }
            do throws(JournalError) {
                return (try rebuilt(in: storage), damage)
            } catch {
                guard case .noStore = error else { throw error }
                throw damage
            }
        }
    }

    private static func rebuilt(in storage: any Storage) throws(JournalError) -> Manifest {
        do {
            return try rebuiltManifest(in: storage)
        } catch let error as StorageError {
            throw .storage(error)
        } catch let damage as JournalDamage {
            throw JournalError(damage)
        } catch {
            throw .noStore
        }
    }
}

private struct ManifestRebuild {
    private let storage: any Storage
    private let names: [String]

    /// A segment's file.
    private struct Found {
        var base: JournalOffset
        var length: Int
        /// Nil where it is not whole.
        var header: SegmentHeader?
    }

    init(_ storage: any Storage) throws {
        self.storage = storage
        names = try storage.list()
    }

    func run() throws -> Manifest {
        let found = try segments()
        let newest = found.compactMap(\.header).max { $0.base < $1.base }
        guard let identity = newest?.identity else { throw JournalError.noStore }
        let compacted = try compactedSegments(of: identity.storeID)
        // What was compacted may not have been deleted yet.
        let written = found.filter { segment in
            let isOther = segment.header.map { $0.identity.storeID != identity.storeID } ?? false
            return !isOther && !compacted.contains { $0.base <= segment.base && segment.base < $0.end }
        }
        var epoch = found.compactMap(\.header?.epoch).max() ?? 0
        var manifest = Manifest(
            generation: generation(above: compacted), storeID: identity.storeID,
            secret: identity.secret, userSeed: identity.userSeed,
            incarnation: identity.incarnation, lineage: identity.lineage,
            ancestors: identity.ancestors, environment: identity.environment, epoch: epoch,
            created: identity.created, segments: [])
        manifest.segments = try (compacted + listed(written, &epoch)).sorted { $0.base < $1.base }
        for place in manifest.segments.indices.dropLast()
        where manifest.segments[place].isCompacted
            && manifest.segments[place + 1].base != manifest.segments[place].end
        {
            // Whether it was sealed or ended by a recovery nothing tells. Nothing is joined to it then.
            if try !isOpen(manifest.segments[place], identity.storeID) {
                manifest.segments[place].state = .compactedEnded
            }
        }
        manifest.epoch = epoch
        return manifest
    }

    /// Above all that there were, as far as files tell.
    private func generation(above compacted: [Manifest.Segment]) -> UInt64 {
        let stated = names.compactMap { Manifest.generation(ofFile: $0) } + compacted.map { $0.number >> 16 }
        return (stated.max() ?? 0) + 1
    }

    private func bytes(_ count: Int, of file: any StorageFile) throws(StorageError) -> [UInt8] {
        try file.readableBytes(in: 0..<min(count, file.length))
    }

    /// In the order of their bases.
    private func segments() throws -> [Found] {
        try names.compactMap { name in
            guard let base = SegmentHeader.base(ofFile: name) else { return nil }
            let file = try storage.open(name)
            let header = try Self.whole {
                try SegmentHeader(bytes(SegmentHeader.length, of: file), file: name)
            }
            let isOwn = header.map { $0.base == base && $0.lengthInBytes == file.length } ?? false
            return Found(base: base, length: file.length, header: isOwn ? header : nil)
        }.sorted { $0.base < $1.base }
    }

    /// Those that no newer one stands for, too.
    private func compactedSegments(of storeID: StoreID) throws -> [Manifest.Segment] {
        var found: [(header: CompactedHeader, length: Int)] = []
        for name in names {
            guard let number = CompactedHeader.number(ofFile: name) else { continue }
            let file = try storage.open(name)
            let first = try bytes(CompactedHeader.length, of: file)
            guard first.count == CompactedHeader.length,
                let header = try Self.whole({ try CompactedHeader(first.span, file: name) }),
                header.number == number, header.storeID == storeID
            else { continue }
            found.append((header, file.length))
        }
        found.sort { $0.header.number > $1.header.number }
        var listed: [Manifest.Segment] = []
        for (header, length) in found
        where !listed.contains(where: { $0.base < header.end && header.base < $0.end }) {
            listed.append(header.listed(lengthInBytes: length, isEnded: false))
        }
        return listed
    }

    private func isOpen(_ segment: Manifest.Segment, _ storeID: StoreID) throws -> Bool {
        let file = try storage.open(segment.fileName)
        let first = try bytes(CompactedHeader.length, of: file)
        return try CompactedHeader(first.span, file: segment.fileName).openOrdinal > 0
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
    private func listed(
        _ found: [Found], _ epoch: inout UInt32
    ) throws -> [Manifest.Segment] {
        var listed: [Manifest.Segment] = []
        /// Where the journal was when the segment behind was made, and the chain there; nil where
        /// nothing is known of that.
        var next: (base: JournalOffset, end: JournalOffset, chain: UInt64)?
        for (place, segment) in found.enumerated().reversed() {
            guard let header = segment.header else {
                // So that what is in it is told to be lost.
                let limit = segment.base.advanced(byBytes: segment.length & ~4095)
                let end = next.map { max($0.end, segment.base) } ?? limit
                listed.append(
                    Manifest.Segment(
                        base: segment.base, lengthInBytes: segment.length & ~4095, salt: 0,
                        state: .ended, end: min(end, limit), chainAtStart: 0,
                        chainAtEnd: next?.chain ?? 0))
                next = nil
                continue
            }
            var row = Manifest.Segment(
                base: header.base, lengthInBytes: header.lengthInBytes, salt: header.salt,
                state: .active, end: header.base.advanced(byBytes: SegmentHeader.length),
                chainAtStart: header.chain, chainAtEnd: header.chain)
            if place < found.count - 1 {
                try end(&row, next)
            } else {
                epoch = max(epoch, try lastEpoch(of: row))
            }
            listed.append(row)
            // Behind an end that lies before it, a recovery left it empty.
            let isEmpty = next.map { $0.end <= header.base } ?? false
            next = isEmpty ? next : (header.base, header.predecessorEnd, header.chain)
        }
        return listed
    }

    /// States where a segment ends that is not the last.
    private func end(
        _ row: inout Manifest.Segment,
        _ next: (base: JournalOffset, end: JournalOffset, chain: UInt64)?
    ) throws {
        if let next, next.end <= row.limit {
            row.state = .ended
            row.end = max(next.end, row.firstGroup)
            row.chainAtEnd = next.chain
        } else {
            var groups = try reader(of: row)
            while let group = try? groups.next() { row.end = group.end }
            row.state = .ended
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
