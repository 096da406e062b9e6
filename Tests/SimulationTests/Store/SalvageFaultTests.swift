import FoundationEssentials
import Stratus
import StratusFiles
import StratusJournal
import Support
import Testing

/// Salvages and repairs in which calls of the system fail, or the power goes.
@Suite struct SalvageFaultTests {
    private let store: SmallStore
    private let hash: String

    init() async throws {
        store = SmallStore(seed: 5)
        let container = try store.open()
        let database = container.privateDatabase(for: "alice")
        let zone = RecordZone.ID(zoneName: "notes")
        try await database.save(RecordZone(zoneID: zone))
        for number in 0..<20 {
            var record = Record(
                recordType: "Note", recordID: .init(recordName: "r\(number)", zoneID: zone))
            record["number"] = .int64(Int64(number))
            if number == 7 {
                record["file"] = .asset(Asset(data: Data((0..<40_000).map { UInt8($0 % 251) })))
            }
            try await database.save(record)
        }
        hash = try await database.contentHash(of: zone).description
        try await container.checkpoint()
        try await container.close()
        store.disk.killProcesses()
        store.settle()
    }

    private func hash(_ store: SmallStore) async throws -> String {
        let container = try store.openReadOnly()
        let hash = try await container.privateDatabase(for: "alice")
            .contentHash(of: RecordZone.ID(zoneName: "notes")).description
        try await container.close()
        return hash
    }

    private static func salvage(_ store: SmallStore) async throws(StoreError) -> SalvageReport {
        try await Container.salvage(
            SmallStore.directory, to: "saved", on: store.disk.process(),
            scratch: SmallStore.directory)
    }

    @Test(arguments: [false, true])
    func `whatever call goes wrong, a salvaged store is whole or not there`(
        powerIsCut: Bool
    ) async throws {
        // The last record is lost.
        let segment = try #require(store.manifest.segments.last)
        let path = store.path(segment.fileName)
        let end = try #require(store.disk.contents(path).lastIndex { $0 != 0 })
        store.disk.flip(path, at: end - 200)
        let files = store.disk.paths.filter { $0.hasPrefix(SmallStore.directory + "/") }
        let expected = try await Self.salvage(store.copy(seed: 1))
        var outcomes: Set<String> = []
        try await store.sweepFaults(cuttingPower: powerIsCut, leastCalls: 60) {
            store async throws(StoreError) in
            _ = try await Self.salvage(store)
        } _: { copy, failed, context in
            let isThere = copy.disk.paths.contains { $0.hasPrefix("saved/") }
            if isThere {
                let saved = copy.opening("saved")
                #expect(try saved.verification(scratch: "saved").findings.isEmpty, context)
                let container = try saved.openReadOnly()
                let found = try await container.privateDatabase(for: "alice").usage()
                #expect(found.recordCount == expected.recordCount, context)
                try await container.close()
            }
            let strays = copy.disk.paths.filter { $0.hasPrefix("saved.new") }
            #expect(strays.isEmpty || powerIsCut, context)
            for file in files {
                #expect(copy.disk.contents(file) == store.disk.contents(file), context)
            }
            outcomes.insert("\(failed) \(isThere)")
        }
        #expect(outcomes.contains("true false") && outcomes.contains("false true"))
    }

    @Test(arguments: [false, true])
    func `whatever call of a repair goes wrong, the next one repairs the store`(
        powerIsCut: Bool
    ) async throws {
        let name = try store.manifest.fileName
        store.disk.delete(store.path(name))
        var outcomes: Set<Bool> = []
        try await store.sweepFaults(cuttingPower: powerIsCut, leastCalls: 60) {
            store async throws(StoreError) in
            try await Container.repair(
                at: SmallStore.directory, on: store.disk.process(), scratch: SmallStore.directory)
        } _: { copy, failed, context in
            try await Container.repair(
                at: SmallStore.directory, on: copy.disk.process(), scratch: SmallStore.directory)
            #expect(try await hash(copy) == hash, context)
            #expect(try copy.verification().findings.isEmpty, context)
            outcomes.insert(failed)
        }
        #expect(outcomes.contains(true))
    }
}
