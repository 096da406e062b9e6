import Stratus
import StratusBytes
import StratusEngine
import StratusFiles
import StratusJournal
import Support
import Testing

/// A store with more names of types and fields than a preamble repeats.
@Suite struct ManyNamesTests {
    private func findings(_ store: DiskStore) throws -> [StoreError.Place] {
        // What does not fit into memory lies in the directory of the store itself here.
        let storage = try LocalStorage(at: "store", .reading, on: store.disk.process())
        return try StoreVerification(storage, scratch: "store").findings.map(\.place)
    }

    private static let letters = String(repeating: "x", count: 240)

    private func name(_ number: Int) -> String { "f\(number)_\(Self.letters)" }

    /// A record with 200 fields of their own.
    private func wide(_ first: Int) -> Record {
        var record = note("r\(first)")
        for number in first..<first + 200 { record[name(number)] = .int64(Int64(number)) }
        return record
    }

    /// That the records have all fields, under their names.
    private func expectAll(_ container: Container, _ count: Int) async throws {
        #expect(container.information.nameCount == count + 1)
        let records = try await container.privateDatabase(for: "alice").allRecords()
        #expect(records.count == count / 200)
        for record in records {
            let first = try #require(Int(record.recordID.recordName.dropFirst()))
            #expect(record.allKeys.count == 200)
            let numbers = (first..<first + 200).filter { record[name($0)] == .int64(Int64($0)) }
            #expect(numbers.count == 200, "from \(first) on")
        }
    }

    @Test func `forty thousand long names are there after an opening with and without checkpoint`()
        async throws
    {
        var store = DiskStore()
        store.steppedByCaller = true
        var container = try store.open()
        let count = 40_000
        var database = container.privateDatabase(for: "alice")
        try await database.save(RecordZone(zoneID: notes))
        for first in stride(from: 0, to: count, by: 200) { try await database.save(wide(first)) }
        try await expectAll(container, count)

        // Without a checkpoint.
        store.disk.killProcesses()
        container = try store.open(creating: false)
        #expect(container.recoveryReport.checkpoint == nil)
        try await expectAll(container, count)
        #expect(try findings(store) == [])

        // With one, and more behind it.
        try await container.checkpoint()
        database = container.privateDatabase(for: "alice")
        try await database.save(wide(count))
        store.disk.killProcesses()
        container = try store.open(creating: false)
        #expect(container.recoveryReport.replayedCommits == 1)
        try await expectAll(container, count + 200)
        #expect(try findings(store) == [])
        try await container.close()

        let segments = try store.expectNamesInEverySegment()
        #expect(segments.count > 10)
        // No segment is longer for the sake of its preamble.
        #expect(segments.allSatisfy { $0.segment.lengthInBytes == 1 << 20 })
        #expect(segments.last?.preambles.first?.locations.isEmpty == false)
    }

    @Test func `twenty thousand names that came one by one are all found`() async throws {
        var store = DiskStore()
        store.durability = .none
        store.steppedByCaller = true
        var container = try store.open()
        let database = container.privateDatabase(for: "alice")
        try await database.save(RecordZone(zoneID: notes))
        for number in 0..<20_000 {
            try await database.save(note("r\(number)", ["Field\(number)": 1]))
        }
        try await container.close()
        let segments = try store.expectNamesInEverySegment()
        #expect(segments.count > 2)
        container = try store.open(creating: false)
        #expect(container.recoveryReport.replayedCommits == 0)
        #expect(container.information.nameCount == 20_001)
        let again = container.privateDatabase(for: "alice")
        let records = try await again.allRecords()
        #expect(records.count == 20_000)
        let whole = records.filter { $0["Field\($0.recordID.recordName.dropFirst())"] == 1 }
        #expect(whole.count == 20_000)
        #expect(try findings(store) == [])
    }

    @Test func `a store has sixty-five thousand names and no more, however long they are`()
        async throws
    {
        var options = JournalOptions()
        options.groupLimit = 1 << 20
        let container = try Container(
            writing: MemoryStorage(), creating: true, durability: .none, options: options,
            steppedByCaller: true)
        let database = container.privateDatabase(for: "alice")
        try await database.save(RecordZone(zoneID: notes))
        for first in stride(from: 0, to: 65_400, by: 200) { try await database.save(wide(first)) }
        let error = await failure { try await database.save(wide(65_400)) }
        #expect(error.code == .limitExceeded)
        #expect(error.reason == "a store has at most 65,536 names of types and fields")
        #expect(container.information.nameCount == 65_401)
        var last = note("last")
        for number in 0..<135 { last["last\(number)"] = 1 }
        try await database.save(last)
        #expect(container.information.nameCount == 65_536)
        // All of it is kept by a checkpoint.
        try await container.checkpoint()
        try await container.close()
    }

    // What is left of a commit that was given up on a full disk gives no names.
    @Test func `a preamble behind a commit that could not be taken back has no names of it`()
        async throws
    {
        var store = DiskStore()
        store.steppedByCaller = true
        store.options.segmentLength = 32 << 10
        store.options.groupLimit = 8 << 10
        let container = try store.open()
        let database = container.privateDatabase(for: "alice")
        try await database.save(RecordZone(zoneID: notes))
        try await database.save(note("before"))
        let text = RecordValue.string(String(repeating: "x", count: 900))
        for write in stride(from: 4, to: 16, by: 3) {
            store.disk.resetCalls()
            store.disk.faults = [DiskFault(.fail(.noSpace), at: write, of: .write, lasting: true)]
            let lost = (0..<100).map { note("lost\($0)", ["Lost\(write)": text]) }
            let result = try await database.modifyRecords(saving: lost)
            #expect(result.partialFailure?.partialErrors.count == 100)
            store.disk.faults = []
        }
        for number in 0..<100 {
            try await database.save(note("r\(number)", ["Field\(number)": text]))
        }
        #expect(container.information.nameCount == 101)
        var log = container.log()
        var lost = 0
        while let line = try log.nextLine() {
            let entry = container.describe(line.entry)
            if entry.kind == "names", entry.detail?.hasPrefix("Lost") == true { lost += 1 }
        }
        #expect(lost > 0)
        try await container.close()
        #expect(try findings(store) == [])
        let again = try store.open(creating: false)
        #expect(again.information.nameCount == 101)
        #expect(try await again.privateDatabase(for: "alice").allRecords().count == 101)
    }
}
