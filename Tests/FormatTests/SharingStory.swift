import Stratus
import StratusBytes
import Testing

/// A store whose zones alice shares, and what users do in it. It chooses no name and no ID at
/// random, so that the same calls give the same bytes.
struct SharingStory {
    let maker: SampleMaker
    let container: Container
    /// The owner's database.
    let alice: Database

    static let zone = SampleMaker.zone
    /// Shared as a whole.
    static let whole = RecordZone.ID(zoneName: "whole")
    /// Deleted with what is shared of it.
    static let gone = RecordZone.ID(zoneName: "gone")

    init(seed: UInt64) throws {
        maker = SampleMaker(seed: seed)
        container = try maker.open()
        alice = container.privateDatabase(for: "alice")
    }
}

// Records.
extension SharingStory {
    func id(_ name: String, in zone: RecordZone.ID = zone) -> Record.ID {
        Record.ID(recordName: name, zoneID: zone)
    }

    func note(
        _ name: String, of parent: String? = nil, in zone: RecordZone.ID = zone
    ) -> Record {
        var record = maker.record(name, in: zone, ["title": .string(name)])
        record.parent = parent.map { Reference(recordID: id($0, in: zone)) }
        return record
    }

    func save(_ records: [Record]) async throws {
        let result = try await alice.modifyRecords(saving: records)
        if let failure = result.partialFailure { throw failure }
    }

    func update(
        _ name: String, _ title: String, in zone: RecordZone.ID = zone,
        by database: Database? = nil
    ) async throws {
        let database = database ?? alice
        var record = try await database.record(for: id(name, in: zone))
        record["title"] = .string(title)
        try await database.save(record)
    }

    func move(_ name: String, under parent: String?) async throws {
        var record = try await alice.record(for: id(name))
        record.parent = parent.map { Reference(recordID: id($0)) }
        try await alice.save(record)
    }

    func delete(_ name: String, in zone: RecordZone.ID = zone) async throws {
        try await alice.deleteRecord(withID: id(name, in: zone))
    }
}

// Shares.
extension SharingStory {
    /// A zone as participants name it.
    func shared(_ zone: RecordZone.ID = zone) -> RecordZone.ID {
        RecordZone.ID(
            zoneName: zone.zoneName, ownerName: container.userRecordName(for: "alice"))
    }

    func user(_ name: String) -> UserIdentity.LookupInfo {
        UserIdentity.LookupInfo(userRecordID: container.userRecordID(for: name))
    }

    /// An invitation, whose ID is made of the number.
    func guest(
        _ number: UInt64, _ info: UserIdentity.LookupInfo,
        _ permission: Share.Permission = .readWrite, role: Share.Role = .privateUser
    ) throws -> Share.Participant {
        let participant = Share.Participant(
            participantID: Self.guestID(number), UserIdentity(lookupInfo: info), role: role,
            permission: permission)
        return try #require(participant)
    }

    private static func guestID(_ number: UInt64) -> String {
        Hex.encode(UInt64(7)) + Hex.encode(number)
    }

    func share(
        _ root: String, as name: String, in zone: RecordZone.ID = zone,
        with participants: [Share.Participant] = [],
        publicPermission: Share.Permission = .none
    ) async throws {
        let record = try await alice.record(for: id(root, in: zone))
        var share = Share(rootRecord: record, shareID: id(name, in: zone))
        share.title = "about \(root)"
        for participant in participants { try share.addParticipant(participant) }
        if publicPermission != .none { share.publicPermission = publicPermission }
        try await save([record, share.record])
    }

    /// The share as it is now.
    func stored(_ name: String, in zone: RecordZone.ID = zone) async throws -> Share {
        let share = Share(try await alice.record(for: id(name, in: zone)))
        return try #require(share)
    }

    func edit(
        _ name: String, in zone: RecordZone.ID = zone,
        _ change: (inout Share) throws -> Void
    ) async throws {
        var share = try await stored(name, in: zone)
        try change(&share)
        try await save([share.record])
    }

    func remove(
        _ number: UInt64, from name: String, in zone: RecordZone.ID = zone
    ) async throws {
        try await edit(name, in: zone) { share in
            let others = share.participants.filter { $0.participantID != Self.guestID(number) }
            share.setParticipants(others)
        }
    }

    func accept(
        _ name: String, in zone: RecordZone.ID = zone, as users: String...
    ) async throws {
        let share = try await stored(name, in: zone)
        let link = try #require(share.shortGUID)
        for user in users { try await container.acceptShare(link, as: user) }
    }

    func leave(
        _ name: String, in zone: RecordZone.ID = zone, as user: String
    ) async throws {
        let record = id(name, in: shared(zone))
        try await container.sharedDatabase(for: user).deleteRecord(withID: record)
    }
}
