internal import StratusBytes
package import StratusFiles
package import StratusIndex
package import StratusJournal

/// Writes all that is whole of a damaged journal into the directory of another store.
///
/// Offsets, versions and payloads stay what they are. Of entries that are lost others may need what
/// they said of numbers: a user, a zone, names. These get entries that say as much as is known, from
/// preambles and from the index that the last checkpoint names.
package struct StoreSalvage {
    /// What was lost, and what was put in its place.
    package struct Outcome: Sendable {
        /// Where the journal ends.
        package var end = JournalOffset.zero
        package var entryCount = 0
        /// What a verification finds as well.
        package var findings: [JournalFinding] = []
        package var losses: [JournalLoss] = []
        /// Entries that are whole and have no meaning without what is lost.
        package var leftOut: [JournalDamage] = []
        /// The numbers of users of whom no name is known.
        package var namelessUsers: [UInt32] = []
        /// Zones of which the name is lost.
        package var renamedZones: [Zone] = []
        /// Names of types and fields that stand for lost ones.
        package var inventedNames: [String] = []
        /// What of the losses was the newest state of a record at the checkpoint.
        package var lostRows: [LostRow] = []
        /// The zones of ``lostRows`` that are there by the index, each with its owner; nil: in the
        /// public database.
        package var lostZones: [UInt32: UserID?] = [:]
        /// The maps of the index that have rows of other things in losses, by the numbers of these.
        package var lostMaps: [Int: Set<String>] = [:]
        /// Of losses before it the index knew all.
        package var known = JournalOffset.zero
    }

    /// The newest state of a record at the checkpoint, whose entry is lost.
    package struct LostRow: Sendable {
        package var zone: UInt32
        package var key: IndexKey
        package var location: EntryLocation
        /// In ``Outcome/losses``.
        package var loss: Int
    }

    /// A zone of which the entry is lost.
    package struct Zone: Sendable {
        package var number: UInt32
        /// That it has from now on.
        package var name: String
        /// Whether it is known whose it is. If not, it is that of ``StoreSalvage/lostFoundName``.
        package var isInItsDatabase: Bool
    }

    /// What the host calls the user who has the zones of which it is not known whose they are.
    package static let lostFoundName = "lost-found"

    private let manifest: Manifest
    private let storage: any Storage
    private let registry: ProjectionRegistry
    private let randomness: Randomness
    /// Of the index that the checkpoint names.
    private let index: FoldState?

    /// - Parameter index: what the checkpoint of `manifest` says, where it can be read.
    package init(
        _ manifest: Manifest, in storage: any Storage, _ index: FoldState?,
        _ registry: ProjectionRegistry, _ randomness: Randomness
    ) {
        self.manifest = manifest
        self.storage = storage
        self.index = index
        self.registry = registry
        self.randomness = randomness
    }

    /// Reads the journal twice. `sink` has the journal when this returns, but no chunks of assets.
    ///
    /// - Parameter progress: is told how many bytes of the journal were read, of how many.
    package func run(
        into sink: any FileSink, progress: (_ done: Int, _ total: Int) -> Void
    ) throws(EngineError) -> Outcome {
        var outcome = Outcome()
        var survey = SalvageSurvey(manifest, registry, lostFound: lostFound) { zone in
            value(.zoneNumber(zone)).flatMap { ZonePlace($0) }?.database
        }
        let total = manifest.segments.last?.limit.bytes(since: .zero) ?? 0
        var reader = JournalSalvage(manifest, in: storage)
        do throws(JournalError) {
            outcome.findings = try reader.run { part throws(JournalError) in
                survey.take(part)
                if case .entry(let entry) = part {
                    progress(entry.offset.bytes(since: .zero), total * 2)
                }
            }
        } catch {
            throw EngineError(error)
        }
        survey.finish()
        outcome.end = reader.end
        outcome.losses = survey.losses
        let deletedZones = noteLostRows(in: &outcome)
        let orphans = survey.orphans.filter { value(.zoneNumber($0)) == nil }
        // The zones of which it is not known whose they are come last, and before them a user.
        outcome.end = outcome.end.advanced(
            byBytes: orphans.isEmpty ? 0 : (orphans.count + 1) * JournalOffset.unit)
        let identity = try StoreIdentity(manifest).salvaged(
            to: outcome.end, above: survey.greatestIncarnation, randomness)
        var written = SalvagedJournal(
            manifest, end: outcome.end, of: identity.storeID, randomness: randomness,
            begin: sink.draft)
        do throws(JournalError) {
            try copy(survey, deletedZones, before: reader.end, into: &written, &outcome) { offset in
                progress(total + offset.bytes(since: .zero), total * 2)
            }
            try write(orphans.sorted(), survey, at: reader.end, into: &written, &outcome)
            try written.finish()
        } catch {
            throw EngineError(error)
        }
        var manifest = Manifest(copying: identity, behind: nil)
        manifest.segments = written.outputs
        try sink.put(manifest)
        return outcome
    }

    private func copy(
        _ survey: SalvageSurvey, _ deletedZones: [ZonePlace], before end: JournalOffset,
        into written: inout SalvagedJournal, _ outcome: inout Outcome,
        progress: (JournalOffset) -> Void
    ) throws(JournalError) {
        var substitutes = survey.substitutes(and: deletedZones)[...]
        var zoneNames: [UInt32: String] = [:]
        var abandoned = survey.abandoned[...]
        var numbers = NumberCheck()
        func write(_ entry: JournalEntry) throws(JournalError) {
            if let fault = try fault(of: entry, &numbers) {
                outcome.leftOut.append(entry.damage(fault))
            } else {
                if entry.kind == .zone, let zone = try? entry.withPayload(ZoneEntry.init) {
                    zoneNames[zone.number] = zone.name
                }
                try written.append((try? entry.withoutTokens(randomness)) ?? entry)
                outcome.entryCount += 1
            }
        }
        /// Behind the last entry that was written.
        var last = JournalOffset.zero
        func fill(before offset: JournalOffset) throws(JournalError) {
            while let next = substitutes.first, next.offset < offset {
                substitutes.removeFirst()
                if next.offset < last { continue }
                last = next.offset.next
                try write(substitute(next.kind, at: next.offset, survey, zoneNames, &outcome))
            }
        }
        var reader = JournalSalvage(manifest, in: storage)
        _ = try reader.run { part throws(JournalError) in
            // A writer may have written more since.
            guard case .entry(let entry) = part, entry.kind.isEntry, entry.offset < end else {
                return
            }
            try fill(before: entry.offset)
            while let range = abandoned.first, range.upperBound <= entry.offset {
                abandoned.removeFirst()
            }
            if let range = abandoned.first, range.contains(entry.offset) { return }
            progress(entry.offset)
            last = entry.offset.next
            try write(entry)
        }
        try fill(before: end)
    }

    private var lostFound: UserID { UserID(Self.lostFoundName, seed: manifest.userSeed) }

    /// Makes zones anew whose entries are lost, as those of a user of their own, from `offset` on.
    private func write(
        _ zones: [UInt32], _ survey: SalvageSurvey, at offset: JournalOffset,
        into written: inout SalvagedJournal, _ outcome: inout Outcome
    ) throws(JournalError) {
        if zones.isEmpty { return }
        var offset = offset
        func write(
            _ kind: EntryKind, zone: UInt32 = 0, _ payload: (inout ByteWriter) -> Void
        ) throws(JournalError) {
            try written.append(entry(kind, zone: zone, at: offset, payload))
            offset = offset.next
        }
        let number = survey.lostFoundNumber ?? survey.userCount + 1
        if survey.lostFoundNumber == nil {
            let user = UserEntry(
                number: number, user: lostFound, name: Self.lostFoundName, created: 0)
            try write(.user) { user.write(to: &$0) }
        }
        for zone in zones {
            let entry = ZoneEntry(
                number: zone, database: number, state: .alive, capabilities: .custom,
                name: Self.lostName(zone))
            try write(.zone, zone: zone) { entry.write(to: &$0) }
            outcome.renamedZones.append(
                Zone(number: zone, name: entry.name, isInItsDatabase: false))
        }
    }

    /// Why an entry has no meaning behind those that `numbers` knows of; it is not to be noted there
    /// then.
    private func fault(
        of entry: JournalEntry, _ numbers: inout NumberCheck
    ) throws(JournalError) -> JournalDamage.Kind? {
        guard registry.mayRead(entry.kind) else {
            throw .newerFormat(entry.damage(.unknownKind(entry.kind.rawValue)))
        }
        var next = numbers
        next.beginEntry()
        do throws(FormatError) {
            try entry.withPayload { payload throws(FormatError) in
                try registry.validate(payload, of: entry, &next)
            }
        } catch {
            let kind = JournalDamage.Kind(error)
            if case .newer = error { throw .newerFormat(entry.damage(kind)) }
            return kind
        }
        if let fault = next.fault { return .payload(fault) }
        numbers = next
        return nil
    }
}

// In the place of what is lost.
extension StoreSalvage {
    private func substitute(
        _ kind: SalvageSurvey.Substitute, at offset: JournalOffset, _ survey: SalvageSurvey,
        _ zoneNames: [UInt32: String], _ outcome: inout Outcome
    ) throws(JournalError) -> JournalEntry {
        switch kind {
        case .user(let number):
            outcome.namelessUsers.append(number)
            let user = user(number)
            return try entry(.user, at: offset) { user.write(to: &$0) }
        case .zone(let number):
            let zone = zone(number, &outcome)
            return try entry(.zone, zone: number, at: offset) { zone.write(to: &$0) }
        case .deletion(let place):
            let zone = ZoneEntry(
                place, state: place.state,
                name: zoneNames[place.number] ?? Self.lostName(place.number))
            return try entry(.zone, zone: place.number, at: offset) { zone.write(to: &$0) }
        case .names(let numbers):
            let addition = names(numbers, survey.names, &outcome)
            return try entry(.names, at: offset) { addition.write(to: &$0) }
        }
    }

    private func version(at offset: JournalOffset) -> Version {
        StoreIdentity(manifest).version(at: offset)
    }

    /// An entry that the journal did not have.
    private func entry(
        _ kind: EntryKind, zone: UInt32 = 0, at offset: JournalOffset,
        _ payload: (inout ByteWriter) -> Void
    ) throws(JournalError) -> JournalEntry {
        var buffer = CommitBuffer()
        do throws(FrameFault) {
            try buffer.append(kind, zone: zone, payload: payload)
        } catch {
            throw .entryTooLong
        }
        return buffer.soleEntry(at: offset, version(at: offset))
    }

    /// What the index says of it.
    private func value(_ key: IndexKey) -> IndexValue? {
        // What cannot be read there is as if it were not there.
        try? index?.index.value(of: key, .blocking)
    }

    private func place(of zone: UInt32) -> ZonePlace? {
        value(.zoneNumber(zone)).flatMap { ZonePlace($0) }
    }

    private func user(_ number: UInt32) -> UserEntry {
        let value = value(.userNumber(number))
        let bits =
            value.map { Hash128(high: $0.first, low: $0.second) }
            ?? Hash128(high: randomness.next(), low: randomness.next())
        let created = self.value(.user(bits)).map { Int64(bitPattern: $0.second) } ?? 0
        return UserEntry(
            number: number, user: UserID(bits: bits), name: "", created: created)
    }

    /// What a zone is called whose name is lost.
    package static func lostName(_ zone: UInt32) -> String { "lost-\(zone)" }

    /// Where nothing is known of it: one that was deleted, or a share that there is none of. Where
    /// records lie in it, it is made anew behind them.
    private func zone(_ number: UInt32, _ outcome: inout Outcome) -> ZoneEntry {
        var name = Self.lostName(number)
        guard let place = place(of: number) else {
            return ZoneEntry(
                number: number, database: 0, state: .deleted, capabilities: .custom,
                name: name)
        }
        let usual = Hash128(ZoneEntry.defaultName, seed: manifest.secret)
        if let value = value(.zone(place.database, usual)), ZonePlace(value)?.number == number {
            name = ZoneEntry.defaultName
        } else if place.isAlive {
            outcome.renamedZones.append(Zone(number: number, name: name, isInItsDatabase: true))
        }
        return ZoneEntry(place, state: place.state, name: name)
    }

    private func names(
        _ numbers: Range<UInt32>, _ known: [String], _ outcome: inout Outcome
    ) -> SchemaAddition {
        let stated = index?.schema
        var addition = SchemaAddition(firstNumber: numbers.lowerBound)
        for number in numbers {
            if number < known.count {
                addition.names.append(known[Int(number)])
            } else if let name = stated?.name(number) {
                addition.names.append(name)
            } else {
                addition.names.append("lost_\(number)")
                outcome.inventedNames.append("lost_\(number)")
            }
        }
        addition.columns = (stated?.whole.columns ?? []).filter { column, _ in
            (numbers.contains(column.type) || numbers.contains(column.field))
                && max(column.type, column.field) < numbers.upperBound
        }
        addition.binaryColumns = stated?.binaryColumns ?? []
        return addition
    }
}

// What the index tells of what is lost.
extension StoreSalvage {
    /// Notes which newest states of records are lost. Returns the zones whose deletion is.
    private func noteLostRows(in outcome: inout Outcome) -> [ZonePlace] {
        guard let index, let checkpoint = manifest.checkpoint?.position.offset,
            outcome.losses.contains(where: { $0.range.lowerBound < checkpoint })
        else { return [] }
        let ranges = outcome.losses.map(\.range)
        func loss(at offset: JournalOffset) -> Int? {
            // In the order of their offsets.
            var (low, high) = (0, ranges.count)
            while low < high {
                let middle = (low + high) / 2
                if ranges[middle].upperBound <= offset { low = middle + 1 } else { high = middle }
            }
            return low < ranges.count && ranges[low].contains(offset) ? low : nil
        }
        var records: [LostRow] = []
        var zones: [ZonePlace] = []
        var owners: [UInt32: UserID?] = [:]
        var maps: [Int: Set<String>] = [:]
        do throws(IndexError) {
            for zone in 1..<max(1, index.zoneCount + 1) {
                let value = try index.index.value(of: .zoneNumber(zone), .blocking)
                if let place = value.flatMap({ ZonePlace($0) }), !place.isAlive,
                    loss(at: place.offset) != nil
                {
                    zones.append(place)
                }
            }
            var rows = index.index.cursor(IndexKey.all, .blocking)
            while let (key, value) = try rows.next() {
                guard let loss = loss(at: JournalOffset(rawValue: value.stamp)) else { continue }
                if key.keyspace == KeySpace.records.rawValue {
                    let zone = key.uint32(at: 0)
                    records.append(
                        LostRow(
                            zone: zone, key: key, location: EntryLocation(value), loss: loss))
                    if owners[zone] == nil, let place = place(of: zone), place.isAlive {
                        owners[zone] = .some(
                            place.database == 0 ? nil : UserID(bits: user(place.database).bits))
                    }
                } else if !registry.isRestated(key) {
                    maps[loss, default: []].insert(registry.name(ofKeyspace: key.keyspace))
                }
            }
        } catch {
            // What it says is not all of it.
            return []
        }
        (outcome.lostRows, outcome.lostMaps, outcome.known) = (records, maps, checkpoint)
        outcome.lostZones = owners
        return zones
    }
}
