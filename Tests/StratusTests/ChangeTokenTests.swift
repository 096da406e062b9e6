import FoundationEssentials
import Stratus
import StratusBytes
import Support
import Testing

/// C64: which tokens are good where.
@Suite struct ChangeTokenTests {
    @Test func `a token survives as bytes and as text`() async throws {
        let (_, database) = try await makeDatabase()
        try await database.save(note("a"))
        for token in [
            try await database.recordZoneChanges(inZoneWith: notes).changeToken,
            try await database.databaseChanges().changeToken,
        ] {
            #expect(try ChangeToken(data: token.data) == token)
            #expect(ChangeToken(token.description) == token)
            #expect(Set([token, try ChangeToken(data: token.data)]).count == 1)
        }
    }

    @Test func `a token with a changed, a missing or an added byte is refused`() async throws {
        let (_, database) = try await makeDatabase()
        let data = try await database.recordZoneChanges(inZoneWith: notes).changeToken.data
        for place in data.indices {
            for bit in 0..<8 {
                var damaged = data
                damaged[place] ^= 1 << UInt8(bit)
                let error = await failure { try ChangeToken(data: damaged) }
                #expect(error.code == .invalidArguments, "byte \(place), bit \(bit)")
                #expect(error.place?.kind.hasPrefix("token.") == true)
            }
            let short = await failure { try ChangeToken(data: data.prefix(place)) }
            #expect(short.code == .invalidArguments)
            #expect(short.place?.kind == "token.length" && short.place?.byte == place)
        }
        let long = await failure { try ChangeToken(data: data + [0]) }
        #expect(long.code == .invalidArguments)
        #expect(ChangeToken("") == nil)
        #expect(ChangeToken("not base64") == nil)
    }

    /// After an erasure the journal goes on in a segment in which nothing is yet, behind a gap.
    @Test func `a token of a store whose last segment is empty stays good`() async throws {
        let store = DiskStore()
        var container = try store.open()
        var database = container.privateDatabase(for: "alice")
        try await database.save(RecordZone(zoneID: notes))
        try await database.save(note("a"))
        try await container.maintenance.erase()
        try await container.close()
        for name in ["b", "c"] {
            container = try store.open()
            database = container.privateDatabase(for: "alice")
            let ofStore = try await container.changes().changeToken
            let ofDatabase = try await database.databaseChanges().changeToken
            let ofZone = try await database.recordZoneChanges(inZoneWith: notes).changeToken
            let shared = container.sharedDatabase(for: "alice")
            let ofShared = try await shared.databaseChanges().changeToken
            let ofUser = try await container.notificationToken()
            #expect(try await container.changes(since: ofStore).changeToken == ofStore)
            #expect(try await container.notificationToken(since: ofUser) == ofUser)
            try await database.save(note(name))
            #expect(try await container.changes(since: ofStore).zones.count == 1)
            #expect(try await database.databaseChanges(since: ofDatabase).modifications == [notes])
            let page = try await database.recordZoneChanges(inZoneWith: notes, since: ofZone)
            #expect(page.modifications.map(\.recordID.recordName) == [name])
            #expect(try await shared.databaseChanges(since: ofShared).modifications.isEmpty)
            #expect(try await container.told(since: ofUser).isEmpty)
            try await container.close()
        }
    }

    // C64.
    @Test func `tokens of another zone, user or store are expired`() async throws {
        let (container, database) = try await makeDatabase()
        let second = RecordZone.ID(zoneName: "second")
        try await database.save(RecordZone(zoneID: second))
        let bob = container.privateDatabase(for: "bob")
        try await bob.save(RecordZone(zoneID: notes))
        try await bob.save(note("a"))
        let (_, elsewhere) = try await makeDatabase()
        try await elsewhere.save(note("a"))
        let zoneTokens: [(ChangeToken, ChangeToken.Difference)] = [
            (try await database.recordZoneChanges(inZoneWith: second).changeToken, .zone),
            (try await bob.recordZoneChanges(inZoneWith: notes).changeToken, .user),
            (try await elsewhere.recordZoneChanges(inZoneWith: notes).changeToken, .store),
        ]
        for (token, difference) in zoneTokens {
            let error = await failure {
                try await database.recordZoneChanges(inZoneWith: notes, since: token)
            }
            #expect(error.code == .changeTokenExpired)
            #expect(error.cause == .changeToken(difference))
        }
        let databaseTokens: [(ChangeToken, ChangeToken.Difference)] = [
            (try await bob.databaseChanges().changeToken, .user),
            (try await elsewhere.databaseChanges().changeToken, .store),
        ]
        for (token, difference) in databaseTokens {
            let error = await failure { try await database.databaseChanges(since: token) }
            #expect(error.code == .changeTokenExpired)
            #expect(error.cause == .changeToken(difference))
            let zone = await failure { try await database.zoneToken(for: notes, asOf: token) }
            #expect(zone.code == .changeTokenExpired)
        }
    }

    @Test func `a token of a zone before it was deleted, or of another copy of it, is expired`()
        async throws
    {
        let (_, database) = try await makeDatabase()
        try await database.save(note("a"))
        let old = try await database.recordZoneChanges(inZoneWith: notes).changeToken
        try await database.deleteRecordZone(withID: notes)
        try await database.save(RecordZone(zoneID: notes))
        try await database.save(note("a"))
        let error = await failure {
            try await database.recordZoneChanges(inZoneWith: notes, since: old)
        }
        #expect(error.code == .changeTokenExpired && error.cause == .changeToken(.zone))
        // Bits 52 and up of the position are the incarnation; the last four bytes the checksum.
        let token = try await database.recordZoneChanges(inZoneWith: notes).changeToken
        var bytes = [UInt8](token.data).dropLast(4)
        bytes[41] ^= 0x10
        let copy = try ChangeToken(data: Data(sealed(Array(bytes))))
        let other = await failure {
            try await database.recordZoneChanges(inZoneWith: notes, since: copy)
        }
        #expect(other.code == .changeTokenExpired && other.cause == .changeToken(.incarnation))
        // Of a database it lies four bytes earlier.
        let all = try await database.databaseChanges().changeToken
        bytes = [UInt8](all.data).dropLast(4)
        bytes[37] ^= 0x10
        let copyOfAll = try ChangeToken(data: Data(sealed(Array(bytes))))
        let third = await failure { try await database.databaseChanges(since: copyOfAll) }
        #expect(third.code == .changeTokenExpired && third.cause == .changeToken(.incarnation))
    }

    private func sealed(_ bytes: [UInt8]) -> [UInt8] {
        let checksum = UInt32(truncatingIfNeeded: Checksum.xxh3(bytes.span))
        return bytes + (0..<4).map { UInt8(truncatingIfNeeded: checksum >> ($0 * 8)) }
    }

    // C73.
    @Test func `a token of the other kind makes no sense`() async throws {
        let (_, database) = try await makeDatabase()
        let zoneToken = try await database.recordZoneChanges(inZoneWith: notes).changeToken
        let databaseToken = try await database.databaseChanges().changeToken
        let zone = await failure {
            try await database.recordZoneChanges(inZoneWith: notes, since: databaseToken)
        }
        #expect(zone.code == .invalidArguments && zone.cause == .changeToken(.kind))
        let whole = await failure { try await database.databaseChanges(since: zoneToken) }
        #expect(whole.code == .invalidArguments && whole.cause == .changeToken(.kind))
    }

    @Test func `a token of a future that a crash took is expired, and fetching anew recovers`()
        async throws
    {
        var store = DiskStore()
        store.durability = .none
        store.steppedByCaller = true
        let container = try store.open()
        let database = container.privateDatabase(for: "alice")
        try await database.save(RecordZone(zoneID: notes))
        try await database.save(note("kept"))
        let good = try await database.recordZoneChanges(inZoneWith: notes).changeToken
        try await container.close()
        let second = try store.open().privateDatabase(for: "alice")
        for number in 0..<20 { try await second.save(note("lost\(number)")) }
        let zoneToken = try await FollowedChanges(of: second).token
        let databaseToken = try await second.databaseChanges().changeToken
        var found: [Bool] = []
        let snapshot = store.disk.snapshot()
        for seed in UInt64(0)..<20 {
            let crashed = SimulatedDisk(snapshot)
            crashed.crash(seed: seed)
            let third = try DiskStore(crashed).open().privateDatabase(for: "alice")
            let names = try await FollowedChanges(of: third).modifiedNames
            #expect(names.first == "kept")
            // A new future, in which other things lie where the lost ones did.
            try await third.saveAll((0..<40).map { note("new\($0)") })
            let isWhole = names.count == 21
            found.append(isWhole)
            let known = try await FollowedChanges(of: third, since: good)
            #expect(known.modified.count == names.count - 1 + 40)
            if isWhole { continue }
            let zone = await failure {
                try await third.recordZoneChanges(inZoneWith: notes, since: zoneToken)
            }
            #expect(zone.code == .changeTokenExpired && zone.cause == .changeToken(.future))
            let whole = await failure { try await third.databaseChanges(since: databaseToken) }
            #expect(whole.code == .changeTokenExpired)
            #expect(try await FollowedChanges(of: third).modified.count == names.count + 40)
        }
        #expect(found.contains(false))
    }
    @Test func `a fetch that saw a future that a crash took begins anew`() async throws {
        var store = DiskStore()
        store.durability = .none
        store.steppedByCaller = true
        let container = try store.open()
        let database = container.privateDatabase(for: "alice")
        try await database.save(RecordZone(zoneID: notes))
        try await database.saveAll((0..<3).map { note("kept\($0)") })
        try await container.close()
        let second = try store.open().privateDatabase(for: "alice")
        // Behind the page in that future, before it where the future is lost.
        var moved = try await second.record(for: noteID("kept0"))
        moved["text"] = "later"
        try await second.save(moved)
        let page = try await second.recordZoneChanges(inZoneWith: notes, resultsLimit: 1)
        #expect(page.moreComing && page.modifications.count == 1)
        #expect(page.modifiedNames == ["kept1"])
        let snapshot = store.disk.snapshot()
        var found: Set<Bool> = []
        for seed in UInt64(0)..<20 {
            let crashed = SimulatedDisk(snapshot)
            crashed.crash(seed: seed)
            let third = try DiskStore(crashed).open().privateDatabase(for: "alice")
            let isWhole = try await third.record(for: noteID("kept0"))["text"] != nil
            found.insert(isWhole)
            if isWhole {
                let rest = try await third.recordZoneChanges(
                    inZoneWith: notes, since: page.changeToken)
                #expect(rest.modifiedNames == ["kept2", "kept0"])
            } else {
                let error = await failure {
                    try await third.recordZoneChanges(inZoneWith: notes, since: page.changeToken)
                }
                #expect(error.cause == .changeToken(.future))
            }
        }
        #expect(found == [true, false])
    }
}
