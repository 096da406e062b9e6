import FoundationEssentials
import Stratus
import StratusFiles
import StratusJournal
import Support
import Synchronization

/// One of the two stores, what is hidden in it, and what bob knows of it.
struct HiddenSide {
    private let container: Container
    private let time: Time
    private var hidden: SeededGenerator
    private var slowToken: ChangeToken?
    private var token: ChangeToken?
    private var databaseToken: ChangeToken?
    /// What bob read last.
    private var held: [String: Record] = [:]

    /// A clock that stands still until it is set, so that hidden changes take no time.
    private final class Time: Sendable {
        private let value = Mutex<Int64>(1_700_000_000_000_000)
        func set(_ step: Int) {
            value.withLock { $0 = 1_700_000_000_000_000 + Int64(step) * 1_000_000 }
        }
        func get() -> Int64 { value.withLock { $0 } }
    }

    init(seed: UInt64, hidden: SeededGenerator) throws {
        let time = Time()
        let random = Mutex(SeededGenerator(seed: seed))
        var options = JournalOptions()
        options.segmentLength = 64 << 10
        options.clock = Clock { time.get() }
        options.randomness = Randomness { random.withLock { $0.next() } }
        container = try Container(
            writing: MemoryStorage(), creating: true, durability: .none, options: options,
            steppedByCaller: true)
        self.time = time
        self.hidden = hidden
    }

    func setTime(_ step: Int) { time.set(step) }

    var owner: Database { container.privateDatabase(for: "alice") }
    private var bob: Database { container.sharedDatabase(for: "bob") }

    private var sharedZone: RecordZone.ID {
        RecordZone.ID(
            zoneName: HiddenDifferenceRun.zone.zoneName,
            ownerName: container.userRecordName(for: "alice"))
    }

    private func ownID(_ name: String) -> Record.ID {
        Record.ID(recordName: name, zoneID: HiddenDifferenceRun.zone)
    }

    private func sharedID(_ name: String) -> Record.ID {
        Record.ID(recordName: name, zoneID: sharedZone)
    }

    func record(_ name: String, _ node: SharingModel.Node) -> Record {
        var record = Record(recordType: node.type, recordID: ownID(name))
        record["n"] = .int64(node.value)
        record.parent = node.parent.map { Reference(recordID: ownID($0)) }
        return record
    }
}

// What is done to both sides, with what it answers.
extension HiddenSide {
    /// A call of alice's, in which hidden records may be saved along.
    mutating func apply(
        _ batch: SharingModel.Batch, inviting permission: Share.Permission
    ) async throws -> [String] {
        var records = batch.saved.keys.sorted().compactMap { name in
            batch.saved[name].map { record(name, $0) }
        }
        for root in batch.shared.keys.sorted() {
            guard let name = batch.shared[root],
                let record = records.first(where: { $0.recordID.recordName == root })
            else { continue }
            var share = Share(rootRecord: record, shareID: ownID(name))
            try share.addParticipant(
                Share.Participant(
                    UserIdentity.LookupInfo(userRecordID: container.userRecordID(for: "bob")),
                    permission: permission))
            records.append(share.record)
        }
        let seen = records.count
        for name in HiddenDifferenceRun.hiddenNames.dropFirst() where hidden.oneIn(6) {
            // Above all of them, so that nothing contradicts it.
            let node = SharingModel.Node(type: "T", value: Int64(hidden.below(100)))
            records.insert(record(name, node), at: hidden.below(records.count + 1))
        }
        let deleted = batch.deleted.union(batch.ended).sorted().map { ownID($0) }
        if seen == 0, deleted.isEmpty { return [] }
        let result = try await owner.modifyRecords(
            saving: records, deleting: deleted, savePolicy: .changedKeys)
        if let failure = result.partialFailure { throw failure }
        return []
    }

    func accept(_ name: String) async throws -> [String] {
        guard let share = Share(try await owner.record(for: ownID(name))),
            let link = share.shortGUID
        else { return ["no share"] }
        let metadata = try await container.acceptShare(link, as: "bob")
        return [
            "\(metadata.participantRole) \(metadata.participantPermission)",
            text(metadata.share.record),
        ]
    }

    /// Another permission for bob, or the removal.
    func edit(
        _ name: String, _ permission: Share.Permission?
    ) async throws -> [String] {
        guard var share = Share(try await owner.record(for: ownID(name))) else { return [] }
        let user = container.userRecordID(for: "bob")
        guard
            let place = share.participants.firstIndex(where: {
                $0.userIdentity.userRecordID == user && $0.acceptanceStatus != .removed
            })
        else { return ["bob has no part"] }
        if let permission {
            var list = share.participants
            list[place].permission = permission
            share.setParticipants(list)
        } else {
            try share.removeParticipant(share.participants[place])
        }
        let result = try await owner.modifyRecords(saving: [share.record])
        if let failure = result.partialFailure { throw failure }
        return []
    }

    func delete(_ name: String) async throws -> [String] {
        let database = bob
        let id = sharedID(name)
        return [
            await answer {
                try await database.deleteRecord(withID: id)
                return "deleted"
            }
        ]
    }

    func save(
        _ name: String, _ value: Int64, below parent: String
    ) async throws -> [String] {
        var record = Record(recordType: "T", recordID: sharedID(name))
        record["n"] = .int64(value)
        record.parent = Reference(recordID: sharedID(parent))
        return [await saved(record, .changedKeys)]
    }

    /// Saves what bob read some time ago.
    func saveHeld(_ name: String, _ value: Int64) async throws -> [String] {
        guard var record = held[name] else { return ["not held"] }
        record["n"] = .int64(value)
        return [await saved(record, .ifServerRecordUnchanged)]
    }

    func savePointing(
        _ name: String, below parent: String, to target: String
    ) async throws -> [String] {
        var record = Record(recordType: "T", recordID: sharedID(name))
        record["to"] = .reference(Reference(recordID: sharedID(target), action: .validate))
        record.parent = Reference(recordID: sharedID(parent))
        return [await saved(record, .ifServerRecordUnchanged)]
    }

    private func saved(_ record: Record, _ policy: SavePolicy) async -> String {
        let database = bob
        return await answer {
            text(try await database.save(record, savePolicy: policy))
        }
    }

    /// The model with the records that there are, which bob may have made, changed or deleted.
    func model(_ known: SharingModel.Zone) async throws -> SharingModel.Zone {
        var model = known
        model.nodes = [:]
        var cursor: RecordPage.Cursor?
        repeat {
            let page = try await owner.records(
                inZoneWith: HiddenDifferenceRun.zone, type: "T", from: cursor)
            for record in page.records {
                let name = record.recordID.recordName
                if name.hasPrefix("h"), name != "h0" { continue }
                model.nodes[name] = SharingModel.Node(
                    type: "T", parent: record.parent?.recordID.recordName,
                    value: record["n"]?.int64Value ?? 0)
            }
            cursor = page.cursor
        } while cursor != nil
        return model
    }
}

// What is done to this side alone. What cannot be done is left.
extension HiddenSide {
    /// Returns how many calls were made.
    mutating func changeHidden() async throws -> Int {
        let count = hidden.below(4)
        for _ in 0..<count {
            // The first one is above a root of bob's, and stays there.
            let name = HiddenDifferenceRun.hiddenNames[
                1 + hidden.below(HiddenDifferenceRun.hiddenNames.count - 1)]
            let other = HiddenDifferenceRun.hiddenNames[
                1 + hidden.below(HiddenDifferenceRun.hiddenNames.count - 1)]
            let value = Int64(hidden.below(100))
            switch hidden.below(12) {
            case ..<4:
                let node = SharingModel.Node(
                    type: "T", parent: hidden.oneIn(2) && other != name ? other : nil,
                    value: value)
                _ = try await owner.modifyRecords(
                    saving: [record(name, node)], savePolicy: .changedKeys)
            case ..<6:
                _ = try await owner.modifyRecords(saving: [], deleting: [ownID(name)])
            case 6: try await shareHidden(name)
            case 7:
                if let root = try? await owner.record(for: ownID(name)), let share = root.share {
                    _ = try await owner.modifyRecords(saving: [], deleting: [share.recordID])
                }
            case 8:
                let zone = RecordZone.ID(zoneName: "secret")
                try await owner.save(RecordZone(zoneID: zone))
                var secret = Record(
                    recordType: "T", recordID: Record.ID(recordName: name, zoneID: zone))
                secret["n"] = .int64(value)
                try await owner.save(secret, savePolicy: .changedKeys)
            case 9:
                let own = container.privateDatabase(for: "carol")
                try await own.save(RecordZone(zoneID: HiddenDifferenceRun.zone))
                try await own.save(
                    record(name, .init(type: "T", value: value)), savePolicy: .changedKeys)
            case 10: try await container.checkpoint()
            default: try await container.maintenance.compact()
            }
        }
        return count
    }

    /// With carol, who accepts.
    private mutating func shareHidden(_ name: String) async throws {
        guard let root = try? await owner.record(for: ownID(name)) else { return }
        var share = Share(rootRecord: root)
        share.publicPermission = .readWrite
        let result = try await owner.modifyRecords(saving: [root, share.record])
        guard let saved = try? result.saveResults[share.recordID]?.get(),
            let link = Share(saved)?.shortGUID
        else { return }
        try await container.acceptShare(link, as: "carol")
    }
}

// What bob asks.
extension HiddenSide {
    func reads() async throws -> [String] {
        let database = bob
        var answers: [String] = []
        let names =
            HiddenDifferenceRun.seenNames + HiddenDifferenceRun.hiddenNames + ["missing"]
        for name in names {
            let id = sharedID(name)
            answers.append(await answer { text(try await database.record(for: id)) })
        }
        let found = try await database.records(for: names.map { sharedID($0) })
        answers.append("\(found.values.count { if case .success = $0 { true } else { false } })")
        return answers
    }

    func lists() async throws -> [String] {
        let database = bob
        let zone = sharedZone
        let zones = try await database.allRecordZones().map { text($0.zoneID) }
        let listed = await answer {
            try await database.records(inZoneWith: zone, resultsLimit: 100).records
                .map { text($0) }.sorted().joined(separator: "\n")
        }
        let query = Query(
            recordType: "T", predicate: try .init("n >= 3"),
            sortDescriptors: [.init(key: "n", ascending: false)])
        let queried = await answer {
            try await database.records(matching: query, inZoneWith: zone, resultsLimit: 100)
                .records.map { text($0) }.joined(separator: "\n")
        }
        let totals = await answer {
            let totals = try await database.totals(of: "n", matching: query, inZoneWith: zone)
            return "\(totals)"
        }
        return zones + [listed, queried, totals]
    }

    mutating func zones() async throws -> [String] {
        var answers: [String] = []
        var moreComing = true
        while moreComing {
            let page = try await bob.databaseChanges(since: databaseToken, resultsLimit: 1)
            answers += page.modifications.map { text($0) }
            answers += page.deletions.map { "-" + text($0.zoneID) }
            databaseToken = page.changeToken
            moreComing = page.moreComing
        }
        return answers
    }

    /// All that is new.
    mutating func feed() async throws -> [String] {
        let (answers, last) = try await changes(since: token, limit: 2, pages: .max)
        token = last
        return answers
    }

    func feedFromNothing() async throws -> [String] {
        try await changes(since: nil, limit: 3, pages: .max).answers
    }

    /// One page, amid what else is done. Whether more is coming may be told by what is hidden.
    mutating func slowPage() async throws -> [String] {
        let (answers, last) = try await changes(since: slowToken, limit: 1, pages: 1)
        slowToken = last
        return answers
    }

    private func changes(
        since token: ChangeToken?, limit: Int, pages: Int
    ) async throws -> (answers: [String], token: ChangeToken?) {
        var answers: [String] = []
        var token = token
        var pages = pages
        while pages > 0 {
            pages -= 1
            let page: RecordZoneChanges
            do throws(StoreError) {
                page = try await bob.recordZoneChanges(
                    inZoneWith: sharedZone, since: token, resultsLimit: limit)
            } catch {
                return (answers + [text(error)], token)
            }
            if page.isFullSnapshot { answers.append("full") }
            answers += page.modifications.map { text($0) }
            answers += page.deletions.map { "-\($0.recordID.recordName) \($0.recordType)" }
            token = page.changeToken
            if !page.moreComing { break }
        }
        return (answers, token)
    }

    /// What bob may save again later.
    mutating func hold() async throws {
        held = [:]
        guard let page = try? await bob.records(inZoneWith: sharedZone, resultsLimit: 100) else {
            return
        }
        for record in page.records { held[record.recordID.recordName] = record }
    }
}

// Answers as text, without tags, tokens, links and random names.
extension HiddenSide {
    private func answer(_ body: () async throws -> String) async -> String {
        do {
            return try await body()
        } catch let error as StoreError {
            return text(error)
        } catch {
            return "another error: \(error)"
        }
    }

    private func text(_ zone: RecordZone.ID) -> String {
        "\(zone.zoneName) of \(userName(zone.ownerName))"
    }

    private func userName(_ name: String?) -> String {
        let users = ["alice", "bob", "carol"]
        return users.first { container.userRecordName(for: $0) == name } ?? name ?? "none"
    }

    private func text(_ id: Record.ID?) -> String {
        id.map { "\($0.recordName) in \(text($0.zoneID))" } ?? "none"
    }

    private func text(_ record: Record) -> String {
        var parts = [text(record.recordID), record.recordType]
        parts.append("below \(text(record.parent?.recordID))")
        parts.append("share \(text(record.share?.recordID))")
        for key in record.allKeys {
            if let reference = record[key]?.referenceValue {
                parts.append("\(key) \(text(reference.recordID))")
            } else {
                parts.append("\(key) \(String(describing: record[key]))")
            }
        }
        for date in [record.creationDate, record.modificationDate] {
            parts.append("\(date?.timeIntervalSince1970 ?? 0)")
        }
        parts.append(userName(record.creatorUserRecordID?.recordName))
        parts.append(userName(record.lastModifiedUserRecordID?.recordName))
        if let share = Share(record) {
            parts.append("\(share.publicPermission) \(text(share.rootRecordID))")
            for participant in share.participants {
                let name = participant.userIdentity.userRecordID?.recordName
                parts.append(
                    "\(userName(name)) \(participant.role) \(participant.permission)"
                        + " \(participant.acceptanceStatus)"
                        + " \(participant.dateAddedToShare?.timeIntervalSince1970 ?? 0)")
            }
        }
        return parts.joined(separator: ", ")
    }

    /// The ancestor is what the store can do, and left out.
    private func text(_ error: StoreError) -> String {
        var parts = ["\(error.code): \(error.reason)", text(error.recordID)]
        if case .zone(let zone)? = error.item { parts.append(text(zone)) }
        parts.append("server \(error.serverRecord.map { text($0) } ?? "none")")
        for (item, partial) in error.partialErrors.sorted(by: { "\($0.key)" < "\($1.key)" }) {
            parts.append("\(item): \(text(partial))")
        }
        return parts.joined(separator: ", ")
    }
}
