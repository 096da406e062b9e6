import FoundationEssentials
import Stratus
import StratusBytes
import StratusFiles
import StratusIndex
import StratusJournal
import Support
import Testing
import StratusEngine

/// What adding a kind of state takes: a projection, and a line in the registry.
@Suite struct ProjectionTests {
    /// The records that were ever deleted, by zone and offset. Reads tombstones, and defines no
    /// entries of its own.
    private struct Deletions: Projection {
        static let entries: [EntryForm] = []
        static let alsoReads = [EntryKind(rawValue: 33)]
        static let keyspaces = [KeySpace(100, "deletions")]

        mutating func apply(
            _ entry: inout FoldedEntry, _ payload: Span<UInt8>, to state: inout FoldState
        ) throws(FormatError) {
            let key = Self.keyspaces[0].key(zone: entry.zone).appending(entry.stamp)
            state.index.set(key, IndexValue(stamp: entry.stamp))
        }

        static func validate(
            _ payload: Span<UInt8>, of entry: JournalEntry, _ numbers: inout NumberCheck
        ) throws(FormatError) {}

        static func describe(
            _ payload: Span<UInt8>, _ kind: EntryKind, _ schema: Schema
        ) throws(FormatError) -> EntryDescription { EntryDescription() }
    }

    private static let registry = ProjectionRegistry(
        ProjectionRegistry.store.projections + [Deletions.self])

    private func open(_ disk: SimulatedDisk) throws -> Container {
        let storage = try LocalStorage(
            at: "store", .writing(creating: true), on: disk.process())
        return try Container(
            writing: storage, Self.registry, creating: true, durability: .full,
            options: JournalOptions(), steppedByCaller: true)
    }

    private func entries(_ container: Container) async throws -> Int? {
        try await container.indexStatistics().keyspaces.first { $0.name == "deletions" }?.entries
    }

    @Test func `a further projection is maintained, kept by checkpoints and rebuilt`() async throws
    {
        let store = DiskStore()
        var container = try open(store.disk)
        let database = container.privateDatabase(for: "alice")
        try await database.save(RecordZone(zoneID: notes))
        for number in 0..<5 { try await database.save(note("r\(number)")) }
        for number in 0..<3 { try await database.deleteRecord(withID: noteID("r\(number)")) }
        try await container.checkpoint()
        #expect(try await entries(container) == 3)
        try await container.close()
        container = try open(store.disk)
        #expect(container.recoveryReport.checkpoint != nil)
        #expect(try await entries(container) == 3)
        try await container.close()
        try store.deleteIndex()
        container = try open(store.disk)
        try await container.checkpoint()
        #expect(try await entries(container) == 3)
        try await container.close()
    }

    @Test func `each kind of entry and each keyspace has one projection`() {
        let registry = ProjectionRegistry.store
        #expect(Set(registry.forms.map(\.name)).count == registry.forms.count)
        #expect(Set(registry.allKeyspaces.map(\.name)).count == registry.allKeyspaces.count)
    }
}
