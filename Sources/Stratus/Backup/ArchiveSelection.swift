internal import StratusArchive
internal import StratusAssets
internal import StratusFiles
internal import StratusJournal
internal import StratusEngine

extension ZoneSelection.Part {
    /// As an archive states it.
    init(_ selected: ArchiveTable.Selected) {
        self.init(
            owner: UserID(recordName: selected.owner),
            zoneName: selected.zone.isEmpty ? nil : selected.zone)
    }
}

extension ZoneSelection {
    /// What these parts name in a store; nil: none is named, which means everything.
    init?(_ parts: [Archive.Part], of container: Container) {
        if parts.isEmpty { return nil }
        self.init(
            parts.map { Part(owner: $0.owner.map(container.userID), zoneName: $0.zoneName) })
    }

    /// What a table states; nil: everything.
    init?(_ stated: [ArchiveTable.Selected]) {
        if stated.isEmpty { return nil }
        self.init(stated.map { Part($0) })
    }

    /// As a table states it: without zones of a database that is there as a whole, and in the order
    /// that it demands.
    var stated: [ArchiveTable.Selected] {
        let needed = parts.filter {
            $0.zoneName == nil || !parts.contains(Part(owner: $0.owner, zoneName: nil))
        }
        return needed.map {
            ArchiveTable.Selected(owner: $0.owner?.recordName ?? "", zone: $0.zoneName ?? "")
        }.sorted { $0.precedes($1) }
    }

    /// That a store has what is selected: users, and zones that are there or, where earlier states
    /// count, were.
    ///
    /// - Throws: ``StoreError`` with `zoneNotFound` or `unknownItem`.
    func check(in reading: StoreReading, orWere countsEarlier: Bool) throws(EngineError) {
        for part in parts {
            let database = try database(of: part, in: reading)
            guard let name = part.zoneName, name != ZoneEntry.defaultName else { continue }
            let place = try ZonePlace.decoded(
                reading.value(.zone(database, reading.hash(name))))
            guard let place, place.isAlive || countsEarlier else {
                let owner = part.owner?.recordName ?? RecordZone.ID.currentUser
                throw .refused(.zoneNotFound(RecordZone.ID(zoneName: name, ownerName: owner)))
            }
        }
    }

    /// The zones of a store that are meant: their numbers, also of those that are gone, and the
    /// numbers of their owners.
    func numbers(
        in reading: StoreReading
    ) throws(EngineError) -> (zones: Set<UInt32>, owners: Set<UInt32>) {
        var names: [UInt32: Set<String?>] = [:]
        for part in parts {
            names[try database(of: part, in: reading), default: []].insert(part.zoneName)
        }
        var zones: Set<UInt32> = []
        for number in 1..<max(1, reading.zoneCount + 1) {
            guard let zone = try reading.zone(number), zone.state != .leftOut,
                let wanted = names[zone.database]
            else { continue }
            let isWanted =
                try wanted.contains(nil) ? true : wanted.contains(reading.zoneEntry(zone).name)
            if isWanted { zones.insert(number) }
        }
        return (zones, Set(names.keys))
    }

    private func database(
        of part: Part, in reading: StoreReading
    ) throws(EngineError) -> UInt32 {
        guard let owner = part.owner else { return 0 }
        guard let number = try reading.user(owner) else {
            throw .refused(
                .unknownItem,
                "the store has no user \(owner.recordName): a part names the owner as the host does, "
                    + "or by the user record name")
        }
        return number
    }
}

extension StoreCopy {
    /// Restricts the copy to what is selected of the newest state.
    ///
    /// All records of the zones that have assets are read for it: a chunk may have been moved since the
    /// base, and then the copy needs it though no record has changed.
    ///
    /// - Parameter base: the archive that the copy goes on from at `start`, which has the same zones.
    /// - Throws: ``StoreError``, of which ``StoreError/needsFullBackup`` is true, where `base` has
    ///   not all that the continuation needs.
    mutating func restrict(
        to selection: ZoneSelection, in reading: StoreReading, _ assets: AssetStore,
        behind base: Archive?, _ start: JournalOffset?
    ) throws(EngineError) {
        let (zones, owners) = try selection.numbers(in: reading)
        let chunks = try ReachableChunks(of: zones, reading, at: points, assets).chunks
        selected = SelectedZones(zones: zones, owners: owners, chunks: chunks)
        if let base, let start {
            let saved = try ReachableChunks(
                of: zones, savedFrom: start, reading, at: points, assets)
            try base.check(has: saved, before: start, reading)
        }
    }
}

extension Archive {
    /// That it has what records name that were saved since it ended, of what was stored before: other
    /// zones may have brought it, of which it has nothing.
    fileprivate func check(
        has saved: ReachableChunks, before end: JournalOffset, _ reading: StoreReading
    ) throws(EngineError) {
        if saved.chunks.isEmpty { return }
        // Made only where it is needed, since all of the archive is read for it.
        var own: Container?
        try reading.forEachChunk(before: end) { address, _ throws(EngineError) in
            guard saved.mayContain(address) else { return }
            let container: Container
            if let own { container = own } else { container = try opened() }
            own = container
            guard try container.reading.waiting.location(of: address) == nil else { return }
            throw EngineError.refused(
                .invalidArguments,
                "the base lacks a part of an asset that a record names by now, which had been "
                    + "stored for a zone that is not in the base: a full archive is needed"
            ).needingFullBackup
        }
    }

    private func opened() throws(EngineError) -> Container {
        do {
            return try opened(memoryLimit: 8 << 20, threads: IOThreads(count: 1))
        } catch {
            throw EngineError(translating: error)
        }
    }
}
