import FoundationEssentials
import Stratus
import Support

// What participants do, and what is done with them.
extension SharingRun {
    private mutating func anyUser() -> String { Self.users[generator.below(Self.users.count)] }

    /// A living share, by its zone and its place there.
    private mutating func anyShare() -> (zone: String, place: Int)? {
        var all: [(zone: String, place: Int)] = []
        for (zone, content) in model.zones.sorted(by: { $0.key < $1.key }) {
            for place in content.shares.indices { all.append((zone, place)) }
        }
        return all.randomElement(using: &generator)
    }

    /// Accepts a share, for the first time, again, or without being invited.
    mutating func accept() async throws {
        guard let (zone, place) = anyShare() else { return }
        try await acceptShare(at: place, in: zone, as: anyUser())
    }

    /// Accepts all shares of the zone that grows of which a user may be a participant.
    mutating func acceptAll() async throws {
        let user = anyUser()
        for (place, share) in (model.zones[Self.grownZone]?.shares ?? []).enumerated()
        where share.invited[user] != nil || share.publicPermission != .none {
            try await acceptShare(at: place, in: Self.grownZone, as: user)
        }
    }

    private mutating func acceptShare(
        at place: Int, in zone: String, as user: String
    ) async throws {
        guard var share = model.zones[zone]?.shares[place] else { return }
        var isAllowed = true
        if share.accepted[user] != nil {
            // Again.
        } else if let part = share.invited.removeValue(forKey: user) {
            share.accepted[user] = part
        } else if share.publicPermission != .none {
            share.accepted[user] = SharingModel.Part(permission: share.publicPermission)
        } else {
            // Of one who left and comes back uninvited the law says nothing.
            if share.left.contains(user) { return }
            isAllowed = false
        }
        do throws(StoreError) {
            try await container.acceptShare(share.link, as: user)
        } catch {
            tally.refused += 1
            if isAllowed || error.code != .permissionFailure {
                report("\(user) does not accept \(share.recordName): \(error)")
            }
            return
        }
        if !isAllowed { report("\(user) accepts \(share.recordName) uninvited") }
        tally.accepted += 1
        model.zones[zone]?.shares[place] = share
    }

    mutating func leave() async throws {
        let user = anyUser()
        guard let (zone, place) = anyShare(), var share = model.zones[zone]?.shares[place],
            share.accepted.removeValue(forKey: user) != nil
        else { return }
        let id = Record.ID(recordName: share.recordName, zoneID: sharedID(zone))
        try await database(of: user).deleteRecord(withID: id)
        if share.root == nil { noteEnding(of: user, in: zone) }
        share.left.insert(user)
        model.zones[zone]?.shares[place] = share
        tally.left += 1
    }

    /// Invites, removes, gives another permission, opens to all or closes.
    mutating func editShare() async throws {
        guard let (zone, place) = anyShare(), var shared = model.zones[zone]?.shares[place] else {
            return
        }
        let id = Record.ID(recordName: shared.recordName, zoneID: zoneID(zone))
        guard var share = Share(try await ownersDatabase.record(for: id)) else {
            report("\(shared.recordName) is no share")
            return
        }
        let user = anyUser()
        if shared.publicPermission != .none {
            guard generator.oneIn(2) else { return }
            share.publicPermission = .none
            shared.publicPermission = .none
            for (user, part) in shared.accepted where part.participantID == nil {
                shared.accepted[user] = nil
                if shared.root == nil { noteEnding(of: user, in: zone) }
            }
            shared.invited = [:]
        } else if generator.oneIn(5) {
            let permission: Share.Permission = generator.oneIn(2) ? .readWrite : .readOnly
            share.publicPermission = permission
            shared.publicPermission = permission
            shared.invited = [:]
        } else if let part = shared.accepted[user] ?? shared.invited[user] {
            let place = share.participants.firstIndex { $0.participantID == part.participantID }
            guard let place else {
                report("\(user) has no part in \(shared.recordName)")
                return
            }
            if generator.oneIn(2) {
                try share.removeParticipant(share.participants[place])
                tally.removed += 1
                if shared.accepted.removeValue(forKey: user) != nil, shared.root == nil {
                    noteEnding(of: user, in: zone)
                }
                shared.invited[user] = nil
            } else {
                let permission: Share.Permission = generator.oneIn(2) ? .readWrite : .readOnly
                var list = share.participants
                list[place].permission = permission
                share.setParticipants(list)
                shared.accepted[user]?.permission = permission
                shared.invited[user]?.permission = permission
            }
        } else {
            try reinvite(user, to: &share, &shared)
        }
        let result = try await ownersDatabase.modifyRecords(saving: [share.record])
        if let failure = result.partialFailure { throw failure }
        model.zones[zone]?.shares[place] = shared
    }

    /// One who was never invited, or who has left or was removed.
    private mutating func reinvite(
        _ user: String, to share: inout Share, _ shared: inout SharingModel.Shared
    ) throws {
        let id = container.userRecordID(for: user)
        if let old = share.participants.first(where: { $0.userIdentity.userRecordID == id }) {
            try share.removeParticipant(old)
        }
        let participant = Share.Participant(
            UserIdentity.LookupInfo(userRecordID: id),
            permission: generator.below(3) > 0 ? .readWrite : .readOnly)
        try share.addParticipant(participant)
        shared.left.remove(user)
        shared.invited[user] = SharingModel.Part(
            permission: participant.permission, participantID: participant.participantID)
    }
}

// What participants write.
extension SharingRun {
    /// One record, which the user may see or not, and write or not.
    mutating func changeAsParticipant() async throws {
        let zone = anyZone()
        let user = anyUser()
        guard let before = model.zones[zone], before.isVisible(to: user) else { return }
        let seen = before.visible(to: user).filter { before.nodes[$0] != nil }.sorted()
        let name =
            seen.isEmpty || generator.oneIn(3)
            ? "n\(generator.below(16))" : seen[generator.below(seen.count)]
        guard let node = before.nodes[name] else {
            try await insert(name, as: user, zone, before, seen)
            return
        }
        switch generator.below(6) {
        case ..<3: try await update(name, node, as: user, zone, before)
        case 3: try await delete(name, as: user, zone, before, seen)
        default: try await move(name, node, as: user, zone, before, seen)
        }
    }

    private func isWhole(_ zone: SharingModel.Zone) -> Bool {
        zone.shares.contains { $0.root == nil }
    }

    /// Anything, of which the user sees some.
    private mutating func anyParent(
        _ seen: [String], _ zone: SharingModel.Zone
    ) -> String? {
        if generator.oneIn(6) { return nil }
        let names = generator.oneIn(5) ? zone.nodes.keys.sorted() + ["missing"] : seen
        return names.randomElement(using: &generator)
    }

    /// Why a record may not get that parent; empty where it may.
    private func refusals(
        of parent: String?, _ user: String, _ zone: SharingModel.Zone, _ seen: [String]
    ) -> Set<StoreError.Code> {
        guard let parent else {
            // All of a zone that is shared as a whole is in one share.
            let mayWrite = isWhole(zone) && zone.mayWrite(user, "new")
            return mayWrite ? [] : [.permissionFailure]
        }
        // Who may write nowhere may be told that first.
        if !seen.contains(parent) { return [.referenceViolation, .permissionFailure] }
        return zone.mayWrite(user, parent) ? [] : [.permissionFailure]
    }

    private mutating func insert(
        _ name: String, as user: String, _ zone: String, _ before: SharingModel.Zone,
        _ seen: [String]
    ) async throws {
        let node = SharingModel.Node(
            type: Self.types[generator.below(Self.types.count)],
            parent: anyParent(seen, before), value: next())
        let refusals = refusals(of: node.parent, user, before, seen)
        var after = before
        after.nodes[name] = node
        try await save(name, node, as: user, zone, after, refusals)
    }

    private mutating func update(
        _ name: String, _ node: SharingModel.Node, as user: String, _ zone: String,
        _ before: SharingModel.Zone
    ) async throws {
        var node = node
        node.value = next()
        let refusals: Set<StoreError.Code> =
            before.mayWrite(user, name) ? [] : [.permissionFailure]
        var after = before
        after.nodes[name] = node
        try await save(name, node, as: user, zone, after, refusals, keepsParent: true)
    }

    private mutating func move(
        _ name: String, _ node: SharingModel.Node, as user: String, _ zone: String,
        _ before: SharingModel.Zone, _ seen: [String]
    ) async throws {
        // The parent of a root is not the participants' to see or change.
        if before.isRoot(name) { return }
        var node = node
        node.value = next()
        node.parent = anyParent(seen, before)
        guard node.parent != name else { return }
        var refusals: Set<StoreError.Code> =
            before.mayWrite(user, name) ? [] : [.permissionFailure]
        // The name of a record that is not seen is taken, and no more is said.
        if seen.contains(name) {
            refusals.formUnion(self.refusals(of: node.parent, user, before, seen))
        }
        if let parent = node.parent, before.tree(of: name).contains(parent) {
            // Its own ancestor would be in no share, which may be said first.
            refusals.formUnion([.invalidArguments, .permissionFailure])
        }
        var after = before
        after.nodes[name] = node
        try await save(name, node, as: user, zone, after, refusals)
    }

    private mutating func save(
        _ name: String, _ node: SharingModel.Node, as user: String, _ zone: String,
        _ after: SharingModel.Zone, _ refusals: Set<StoreError.Code>, keepsParent: Bool = false
    ) async throws {
        let database = database(of: user)
        let id = Record.ID(recordName: name, zoneID: sharedID(zone))
        var record = Record(recordType: node.type, recordID: id)
        var policy = SavePolicy.changedKeys
        if generator.oneIn(2), let fetched = try? await database.record(for: id) {
            record = fetched
            policy = .ifServerRecordUnchanged
        }
        record["n"] = .int64(node.value)
        if !keepsParent {
            record.parent = node.parent.map {
                Reference(recordID: Record.ID(recordName: $0, zoneID: sharedID(zone)))
            }
        }
        do throws(StoreError) {
            try await database.save(record, savePolicy: policy)
        } catch {
            tally.refused += 1
            if !refusals.contains(error.code) {
                report("\(user) saves \(name): \(error), not \(refusals)")
            }
            if error.serverRecord != nil || error.ancestorRecord != nil {
                report("\(user) is shown a record by \(error)")
            }
            return
        }
        if !refusals.isEmpty {
            report("\(user) saves \(name), which was to fail with \(refusals)")
        }
        tally.written += 1
        model.zones[zone] = after
    }

    private mutating func delete(
        _ name: String, as user: String, _ zone: String, _ before: SharingModel.Zone,
        _ seen: [String]
    ) async throws {
        var refusals: Set<StoreError.Code> = []
        var after = before
        if seen.contains(name) {
            if !before.mayWrite(user, name) || before.isRoot(name) {
                refusals.insert(.permissionFailure)
            }
            if before.hasChildren(name) { refusals.insert(.referenceViolation) }
            after.nodes[name] = nil
        }
        let id = Record.ID(recordName: name, zoneID: sharedID(zone))
        do throws(StoreError) {
            try await database(of: user).deleteRecord(withID: id)
        } catch {
            tally.refused += 1
            if !refusals.contains(error.code) {
                report("\(user) deletes \(name): \(error), not \(refusals)")
            }
            return
        }
        if !refusals.isEmpty {
            report("\(user) deletes \(name), which was to fail with \(refusals)")
        }
        tally.written += 1
        model.zones[zone] = after
    }
}
