import Stratus
import StratusFiles
import StratusJournal
import Support
import Synchronization
import Testing

// What a profile lets callers do, and what they are told where they want more.

/// A clock for tests: moved by hand.
private final class HandClock: Sendable {
    private let nanoseconds = Mutex<UInt64>(5_000_000_000)

    func advance(_ duration: Duration) {
        let (seconds, attoseconds) = duration.components
        nanoseconds.withLock {
            $0 += UInt64(seconds) * 1_000_000_000 + UInt64(attoseconds / 1_000_000_000)
        }
    }

    var clock: Clock {
        Clock(now: Clock.system.now, monotonic: { self.nanoseconds.withLock { $0 } })
    }
}

private func open(_ profile: Profile, _ clock: HandClock) throws -> Container {
    var options = JournalOptions()
    options.clock = clock.clock
    return try Container(
        writing: MemoryStorage(), creating: true, durability: .none, profile: profile,
        options: options, steppedByCaller: false)
}

struct LimitTests {
    @Test func `the profile of CloudKit has its numbers`() {
        let profile = Profile.cloudKit
        #expect(profile.itemsPerRequest == 400)
        #expect(profile.bytesPerRequest == 2_000_000)
        #expect(profile.bytesPerRecord == 1_000_000)
        #expect(profile.referencesPerTarget == 750)
        #expect(profile.requestRate == Profile.RequestRate(perSecond: 40, burst: 80))
        #expect(profile.commitsWaitingPerZone == 64)
        #expect(profile.userQuota == nil && profile.publicQuota == nil)
        #expect(Profile() == .unlimited)
    }

    // C35
    @Test func `a call with more items than the limit is refused as a whole`() async throws {
        let container = try Container.inMemory(profile: Profile(itemsPerRequest: 3))
        let database = container.privateDatabase(for: "alice")
        try await database.save(RecordZone(zoneID: notes))
        try await database.saveAll([note("a"), note("b"), note("c")])
        let error = await failure {
            try await database.modifyRecords(
                saving: [note("d"), note("e"), note("f")], deleting: [noteID("a")])
        }
        #expect(error.code == .limitExceeded && error.item == nil)
        #expect(error.remedy == .splitRequest)
        #expect(
            try await database.allRecords().map(\.recordID.recordName).sorted() == ["a", "b", "c"])
    }

    // C36
    @Test func `half of a call that was too large goes through`() async throws {
        let container = try Container.inMemory(profile: Profile(itemsPerRequest: 50))
        let database = container.privateDatabase(for: "alice")
        try await database.save(RecordZone(zoneID: notes))
        func save(_ records: ArraySlice<Record>) async throws {
            do {
                try await database.saveAll(Array(records))
            } catch let error as StoreError where error.remedy == .splitRequest {
                let middle = records.startIndex + records.count / 2
                try await save(records[..<middle])
                try await save(records[middle...])
            }
        }
        try await save((0..<100).map { note("n\($0)") }[...])
        #expect(try await database.recordCount(inZoneWith: notes) == 100)
    }

    // C23
    @Test func `a fetch of more records than the limit is refused as a whole`() async throws {
        let container = try Container.inMemory(profile: Profile(itemsPerRequest: 2))
        let database = container.privateDatabase(for: "alice")
        let error = await failure {
            try await database.records(for: ["a", "b", "c"].map { noteID($0) })
        }
        #expect(error.code == .limitExceeded)
        #expect(try await database.records(for: [noteID("a"), noteID("b")]).count == 2)
    }

    @Test func `a call that sends more bytes than the limit is refused as a whole`() async throws {
        let container = try Container.inMemory(profile: Profile(bytesPerRequest: 20))
        let database = container.privateDatabase(for: "alice")
        try await database.save(RecordZone(zoneID: notes))
        let ten: RecordValue = .string(String(repeating: "x", count: 10))
        let eleven: RecordValue = .string(String(repeating: "x", count: 11))
        try await database.saveAll([note("a", ["t": ten]), note("b", ["t": ten])])
        let error = await failure {
            try await database.saveAll([note("c", ["t": ten]), note("d", ["t": eleven])])
        }
        #expect(error.code == .limitExceeded && error.remedy == .splitRequest)
        #expect(try await database.recordCount(inZoneWith: notes) == 2)
        // Only what is sent counts, and a record that is too much by itself is named.
        var a = try await database.record(for: noteID("a"))
        a["u"] = .string(String(repeating: "x", count: 20))
        a = try await database.save(a)
        a["v"] = .string(String(repeating: "x", count: 21))
        let large = await failure { try await database.save(a) }
        #expect(large.code == .limitExceeded && large.recordID == noteID("a"))
        #expect(large.remedy == .correctRequest)
        a["v"] = nil
        a["u"] = nil
        let all = await failure {
            try await database.save(
                try await database.record(for: noteID("a")), savePolicy: .allKeys)
        }
        #expect(all.code == .limitExceeded, "all that is here is sent under allKeys")
    }

    @Test func `a record over the limit fails by itself`() async throws {
        let container = try Container.inMemory(profile: Profile(bytesPerRecord: 100))
        let database = container.privateDatabase(for: "alice")
        let fits = note("a", ["t": .string(String(repeating: "x", count: 100))], in: .default)
        let large = note("b", ["t": .string(String(repeating: "x", count: 101))], in: .default)
        let result = try await database.modifyRecords(saving: [large, fits])
        #expect(result.saveResults[large.recordID]?.code == .limitExceeded)
        #expect(result.saveResults[fits.recordID]?.code == nil)
        // What is there already counts too.
        var saved = try await database.record(for: fits.recordID)
        saved["u"] = 1
        let error = await failure { try await database.save(saved) }
        #expect(error.code == .limitExceeded && error.recordID == fits.recordID)
        saved["t"] = "short"
        try await database.save(saved)
    }

    @Test func `a record over the limit fails the others of an atomic batch`() async throws {
        let container = try Container.inMemory(profile: Profile(bytesPerRecord: 100))
        let database = container.privateDatabase(for: "alice")
        try await database.save(RecordZone(zoneID: notes))
        let large = note("b", ["t": .string(String(repeating: "x", count: 101))])
        let result = try await database.modifyRecords(saving: [note("a"), large])
        #expect(result.saveResults[large.recordID]?.code == .limitExceeded)
        #expect(result.saveResults[noteID("a")]?.code == .batchRequestFailed)
        #expect(try await database.recordCount(inZoneWith: notes) == 0)
    }

    // C37
    @Test func `who asks too often is told when to ask again`() async throws {
        let clock = HandClock()
        let rate = Profile.RequestRate(perSecond: 40, burst: 80)
        let container = try open(Profile(requestRate: rate), clock)
        let database = container.privateDatabase(for: "alice")
        try await database.save(RecordZone(zoneID: notes))
        for number in 1..<80 {
            if number.isMultiple(of: 2) {
                _ = try await database.recordZone(for: notes)
            } else {
                try await database.save(note("n\(number)"))
            }
        }
        let error = await failure { try await database.save(note("late")) }
        #expect(error.code == .requestRateLimited && error.remedy == .retryLater)
        #expect(error.retryAfter == .milliseconds(25))
        #expect(
            try container.snapshot().privateDatabase(for: "alice")
                .recordCount(inZoneWith: notes) == 40, "nothing was stored")
        // Reads count as well, other users do not, nor do those who have no name.
        let read = await failure { try await database.record(for: noteID("n1")) }
        #expect(read.code == .requestRateLimited)
        let pages = await failure { try await database.records(inZoneWith: notes) }
        #expect(pages.code == .requestRateLimited)
        _ = try await container.privateDatabase(for: "bob").allRecordZones()
        _ = try await container.publicDatabase().allRecordZones()

        clock.advance(try #require(error.retryAfter))
        try await database.save(note("late"))
        let again = await failure { try await database.allRecordZones() }
        #expect(again.code == .requestRateLimited)
        clock.advance(.seconds(2))
        for _ in 0..<80 { _ = try await database.allRecordZones() }
        let full = await failure { try await database.allRecordZones() }
        #expect(full.retryAfter == .milliseconds(25))
    }

    @Test func `a call is one request, however many zones it has`() async throws {
        let clock = HandClock()
        let rate = Profile.RequestRate(perSecond: 1, burst: 3)
        let container = try open(Profile(requestRate: rate), clock)
        let database = container.privateDatabase(for: "alice")
        try await database.save(RecordZone(zoneID: notes))
        let other = RecordZone.ID(zoneName: "other")
        try await database.save(RecordZone(zoneID: other))
        let result = try await database.modifyRecords(saving: [note("a"), note("b", in: other)])
        #expect(result.partialFailure == nil)
        let error = await failure { try await database.allRecordZones() }
        #expect(error.code == .requestRateLimited)
        #expect(error.retryAfter == .seconds(1))
    }

    @Test func `a zone takes as many commits at once as the profile says`() async throws {
        let storage = GatedStorage()
        let profile = Profile(commitsWaitingPerZone: 1)
        let database = try await makeDatabase(on: storage, profile).database
        let other = RecordZone.ID(zoneName: "other")
        try await database.save(RecordZone(zoneID: other))
        storage.shut()
        let first = Task { try await database.save(note("a")) }
        while !storage.isWaiting { await Task.yield() }
        let error = await failure { try await database.save(note("b")) }
        #expect(error.code == .zoneBusy && error.zoneID == notes)
        #expect(error.retryAfter != nil && error.remedy == .retryLater)
        let elsewhere = Task { try await database.save(note("c", in: other)) }
        storage.open()
        _ = try await first.value
        _ = try await elsewhere.value
        #expect(try await database.allRecords().count == 1, "nothing was stored")
        try await database.save(note("b"))
    }
}
