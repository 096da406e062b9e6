import FoundationEssentials
import Stratus
import Support

// What alice does with records and shares, each call one commit.
extension SharingRun {
    static let names = (0..<16).map { "n\($0)" }

    /// Saves, deletes, shares and unshares in one call, which may contradict itself; then it fails
    /// as a whole.
    mutating func changeAsOwner() async throws {
        let zone = anyZone()
        guard let before = model.zones[zone] else { return }
        var batch = SharingModel.Batch()
        let isCrowded = shape == .crowded
        let count = generator.oneIn(3) ? 1 + generator.below(7) : 1
        for _ in 0..<count { addItem(to: &batch, before) }
        if generator.oneIn(isCrowded ? 2 : 5), before.shares.count < (isCrowded ? 12 : 8) {
            addShare(to: &batch, before, zone)
        }
        if generator.oneIn(isCrowded ? 30 : 12) { endShare(in: &batch, before) }
        let after: SharingModel.Zone
        do throws(SharingModel.Refusal) {
            after = try before.after(batch)
        } catch {
            // Most that fail are left out.
            guard generator.oneIn(3) else { return }
            try await expectRefusal(of: batch, in: zone, error.codes)
            return
        }
        if batch.saved.count > 1 { tally.nested += 1 }
        try await apply(batch, after, in: zone)
    }

    /// A new record, or one more change of one that there is.
    private mutating func addItem(
        to batch: inout SharingModel.Batch, _ zone: SharingModel.Zone
    ) {
        let name = anyName(in: zone)
        guard batch.saved[name] == nil, !batch.deleted.contains(name) else { return }
        let parents = zone.nodes.keys.sorted() + batch.saved.keys.sorted()
        func anyParent() -> String? {
            if parents.isEmpty || generator.oneIn(shape == .crowded ? 2 : 5) { return nil }
            let parent = parents[generator.below(parents.count)]
            return parent == name ? nil : parent
        }
        guard var node = zone.nodes[name] else {
            batch.saved[name] = SharingModel.Node(
                type: Self.types[generator.below(Self.types.count)], parent: anyParent(),
                value: next())
            return
        }
        switch generator.below(10) {
        case ..<3:
            node.value = next()
            batch.saved[name] = node
        case ..<8:
            node.value = next()
            node.parent = anyParent()
            batch.saved[name] = node
        default:
            // One with children seldom: that fails unless they go elsewhere.
            if !zone.hasChildren(name) || generator.oneIn(4) { batch.deleted.insert(name) }
        }
    }

    private mutating func addShare(
        to batch: inout SharingModel.Batch, _ zone: SharingModel.Zone, _ zoneName: String
    ) {
        // Beside the share of a zone there is no other; once in a while that is tried.
        if zoneName == wholeZone {
            let isWhole = zone.shares.contains { $0.root == nil }
            guard isWhole, generator.oneIn(4) else { return }
        }
        let names = Set(zone.nodes.keys).union(batch.saved.keys).subtracting(batch.deleted)
        guard let root = names.sorted().randomElement(using: &generator) else { return }
        // Mostly where nothing contradicts it.
        if !zone.isFree(root), !generator.oneIn(6) { return }
        if batch.saved[root] == nil, var node = zone.nodes[root] {
            node.value = next()
            batch.saved[root] = node
        }
        batch.shared[root] = "Share-\(next())"
    }

    private mutating func endShare(
        in batch: inout SharingModel.Batch, _ zone: SharingModel.Zone
    ) {
        guard let share = zone.shares.randomElement(using: &generator) else { return }
        batch.ended.insert(share.recordName)
        // Its root may be saved along, to have its new tag.
        guard let root = share.root, generator.oneIn(2), batch.saved[root] == nil,
            !batch.deleted.contains(root), var node = zone.nodes[root]
        else { return }
        node.value = next()
        batch.saved[root] = node
    }

    /// What a call is given.
    private mutating func items(
        of batch: SharingModel.Batch, in zone: String
    ) throws -> (records: [Record], deleted: [Record.ID]) {
        let zoneID = zoneID(zone)
        var records: [Record] = []
        for name in batch.saved.keys.sorted() {
            guard let node = batch.saved[name] else { continue }
            records.append(record(name, node, in: zoneID))
        }
        for root in batch.shared.keys.sorted() {
            guard let name = batch.shared[root],
                let record = records.first(where: { $0.recordID.recordName == root })
            else { continue }
            let id = Record.ID(recordName: name, zoneID: zoneID)
            var share = Share(rootRecord: record, shareID: id)
            try invite(to: &share)
            records.append(share.record)
        }
        records.shuffle(using: &generator)
        let deleted = batch.deleted.union(batch.ended).sorted()
        return (records, deleted.map { Record.ID(recordName: $0, zoneID: zoneID) })
    }

    /// A record that says all of what it is to be.
    private func record(
        _ name: String, _ node: SharingModel.Node, in zone: RecordZone.ID
    ) -> Record {
        var record = Record(
            recordType: node.type, recordID: Record.ID(recordName: name, zoneID: zone))
        record["n"] = .int64(node.value)
        record.parent = node.parent.map {
            Reference(recordID: Record.ID(recordName: $0, zoneID: zone))
        }
        return record
    }

    /// Opens a new share to all, or invites some.
    private mutating func invite(to share: inout Share) throws {
        if generator.oneIn(3) {
            share.publicPermission = generator.oneIn(2) ? .readWrite : .readOnly
            return
        }
        for user in Self.users where generator.below(3) > 0 {
            try share.addParticipant(
                Share.Participant(
                    UserIdentity.LookupInfo(userRecordID: container.userRecordID(for: user)),
                    permission: generator.below(3) > 0 ? .readWrite : .readOnly))
        }
    }

    mutating func apply(
        _ batch: SharingModel.Batch, _ after: SharingModel.Zone, in zone: String
    ) async throws {
        let (records, deleted) = try items(of: batch, in: zone)
        if records.isEmpty, deleted.isEmpty { return }
        tally.calls += 1
        let result = try await ownersDatabase.modifyRecords(
            saving: records, deleting: deleted, savePolicy: .changedKeys)
        if let failure = result.partialFailure {
            report("\(batch) failed: \(failure.partialErrors.values.map { $0.description })")
            return
        }
        var after = after
        for place in after.shares.indices where after.shares[place].link.isEmpty {
            tally.sharesMade += 1
            let name = after.shares[place].recordName
            let id = Record.ID(recordName: name, zoneID: zoneID(zone))
            guard let saved = try result.saveResults[id]?.get(), let share = Share(saved) else {
                report("\(name) is no share")
                return
            }
            note(share, &after.shares[place])
        }
        tally.sharesEnded +=
            (model.zones[zone]?.shares.count ?? 0) + batch.shared.count - after.shares.count
        for ended in model.zones[zone]?.shares ?? []
        where ended.root == nil && batch.ended.contains(ended.recordName) {
            for user in ended.accepted.keys { noteEnding(of: user, in: zone) }
        }
        model.zones[zone] = after
    }

    /// What a share that was made says of itself.
    private func note(_ share: Share, _ shared: inout SharingModel.Shared) {
        shared.link = share.shortGUID ?? ""
        shared.publicPermission = share.publicPermission
        for user in Self.users {
            let id = container.userRecordID(for: user)
            let participant = share.participants.first { $0.userIdentity.userRecordID == id }
            guard let participant else { continue }
            shared.invited[user] = SharingModel.Part(
                permission: participant.permission, participantID: participant.participantID)
        }
    }

    mutating func expectRefusal(
        of batch: SharingModel.Batch, in zone: String, _ codes: Set<StoreError.Code>
    ) async throws {
        let (records, deleted) = try items(of: batch, in: zone)
        tally.refused += 1
        let result = try await ownersDatabase.modifyRecords(
            saving: records, deleting: deleted, savePolicy: .changedKeys)
        guard let failure = result.partialFailure else {
            report("\(batch) was to fail with \(codes)")
            return
        }
        let found = Set(failure.partialErrors.values.map { $0.code })
        // Of a call that has two reasons to fail, not each need be told.
        if found.isDisjoint(with: codes) { report("\(batch) failed with \(found), not \(codes)") }
    }

    /// Gone and there again, perhaps elsewhere and of another type.
    mutating func deleteAndMakeAnew() async throws {
        let zone = Self.zones[generator.below(Self.zones.count)]
        guard let before = model.zones[zone] else { return }
        let parents = Set(before.nodes.values.compactMap { $0.parent })
        let leaves = before.nodes.keys.filter { !parents.contains($0) }.sorted()
        guard let name = leaves.randomElement(using: &generator) else { return }
        var deletion = SharingModel.Batch()
        deletion.deleted = [name]
        let between = try before.after(deletion)
        try await apply(deletion, between, in: zone)
        noteVisible()
        var insertion = SharingModel.Batch()
        let parent = generator.oneIn(2) ? between.nodes.keys.sorted().first : nil
        insertion.saved[name] = SharingModel.Node(
            type: Self.types[generator.below(Self.types.count)], parent: parent, value: next())
        try await apply(insertion, try between.after(insertion), in: zone)
    }
}

// Zones.
extension SharingRun {
    mutating func makeZone(_ zone: String) async throws {
        try await ownersDatabase.save(RecordZone(zoneID: zoneID(zone)))
        model.zones[zone] = SharingModel.Zone()
    }

    /// With its shares; and made anew under its name.
    mutating func deleteZone() async throws {
        guard generator.oneIn(3) else { return }
        let zone = Self.zones[generator.below(Self.zones.count)]
        // What grew there goes with it.
        if shape != .usual, zone == Self.grownZone, !generator.oneIn(4) { return }
        tally.sharesEnded += model.zones[zone]?.shares.count ?? 0
        try await ownersDatabase.deleteRecordZone(withID: zoneID(zone))
        for user in Self.users { noteEnding(of: user, in: zone) }
        try await makeZone(zone)
    }

    /// Shares all of a zone, or ends that.
    mutating func shareOrUnshareZone() async throws {
        guard let zone = wholeZone, let before = model.zones[zone] else { return }
        let id = Record.ID(recordName: Share.zoneWideRecordName, zoneID: zoneID(zone))
        if before.shares.contains(where: { $0.root == nil }) {
            if generator.oneIn(3) {
                try await endWholeZone(zone, before, id)
                return
            }
            let again = Share(recordZoneID: zoneID(zone)).record
            let result = try await ownersDatabase.modifyRecords(saving: [again])
            tally.refused += 1
            if result.saveResults[id]?.failureCode != .serverRecordChanged {
                report("a second share of \(zone)")
            }
            return
        }
        // Beside hierarchies that are shared, a zone is not.
        guard before.shares.isEmpty else { return }
        var share = Share(recordZoneID: zoneID(zone))
        try invite(to: &share)
        let result = try await ownersDatabase.modifyRecords(saving: [share.record])
        guard let saved = try result.saveResults[id]?.get(), let made = Share(saved) else {
            report("\(zone) was not shared")
            return
        }
        tally.sharesMade += 1
        var shared = SharingModel.Shared(
            root: nil, recordName: Share.zoneWideRecordName, link: "")
        note(made, &shared)
        model.zones[zone]?.shares.append(shared)
    }

    private mutating func endWholeZone(
        _ zone: String, _ before: SharingModel.Zone, _ id: Record.ID
    ) async throws {
        for user in Self.users where before.isVisible(to: user) { noteEnding(of: user, in: zone) }
        try await ownersDatabase.deleteRecord(withID: id)
        model.zones[zone]?.shares.removeAll { $0.root == nil }
        tally.sharesEnded += 1
    }

    /// A tree goes to the other zone, where nothing speaks against it.
    mutating func moveToOtherZone() async throws {
        let place = generator.below(2)
        let (from, to) = (Self.zones[place], Self.zones[1 - place])
        guard var source = model.zones[from], var target = model.zones[to],
            let name = source.nodes.keys.sorted().randomElement(using: &generator)
        else { return }
        let tree = source.tree(of: name)
        var codes: Set<StoreError.Code> = []
        if source.nodes[name]?.parent != nil { codes.insert(.referenceViolation) }
        if tree.contains(where: { source.isRoot($0) }) { codes.insert(.invalidArguments) }
        if tree.contains(where: { target.nodes[$0] != nil }) {
            codes.insert(.serverRecordChanged)
        }
        let id = Record.ID(recordName: name, zoneID: zoneID(from))
        do throws(StoreError) {
            try await ownersDatabase.moveRecords([id], to: zoneID(to))
        } catch {
            tally.refused += 1
            if !codes.contains(error.code) { report("moving \(name): \(error), not \(codes)") }
            return
        }
        if !codes.isEmpty { report("moving \(name) was to fail with \(codes)") }
        tally.moved += tree.count
        for name in tree { target.nodes[name] = source.nodes.removeValue(forKey: name) }
        model.zones[from] = source
        model.zones[to] = target
    }
}

extension Result where Failure == StoreError {
    /// The code of the failure, or nil.
    var failureCode: StoreError.Code? {
        if case .failure(let error) = self { error.code } else { nil }
    }
}
