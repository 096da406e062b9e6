import FoundationEssentials
import Stratus
import StratusBytes
import StratusFiles
import StratusIndex
import StratusJournal
import Support
import Synchronization
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
        ProjectionRegistry.store.projections + [Deletions.self, Labels.self])

    private func open(_ disk: SimulatedDisk) throws -> Container {
        let storage = try LocalStorage(
            at: "store", .writing(creating: true), on: disk.process())
        return try Container(
            writing: storage, Self.registry, creating: true, durability: .full,
            options: JournalOptions(), steppedByCaller: true)
    }

    /// Labels of zones, by number: a kind of entries of its own.
    private struct Labels: Projection {
        static let kind = EntryKind(rawValue: 100)
        static let entries = [EntryForm(kind, "label", isInZone: true)]
        static let keyspaces = [KeySpace(101, "labels")]

        mutating func apply(
            _ entry: inout FoldedEntry, _ payload: Span<UInt8>, to state: inout FoldState
        ) throws(FormatError) {
            let label = try Label(payload)
            let key = Self.keyspaces[0].key(zone: entry.zone).appending(label.number)
            state.index.set(key, entry.location())
        }

        static func validate(
            _ payload: Span<UInt8>, of entry: JournalEntry, _ numbers: inout NumberCheck
        ) throws(FormatError) {
            _ = try Label(payload)
        }

        static func describe(
            _ payload: Span<UInt8>, _ kind: EntryKind, _ schema: Schema
        ) throws(FormatError) -> EntryDescription {
            let label = try Label(payload)
            return EntryDescription(detail: "\(label.number) \(label.text)")
        }
    }

    private struct Label {
        var number: UInt64
        var text: String

        init(number: UInt64, text: String) {
            self.number = number
            self.text = text
        }

        init(_ bytes: Span<UInt8>) throws(FormatError) {
            var cursor = ByteCursor()
            number = try cursor.uint64(bytes)
            text = try cursor.text(bytes, upTo: 255)
            try cursor.end(bytes)
        }

        func write(to writer: inout ByteWriter) {
            writer.uint64(number)
            writer.countedText(text)
        }
    }

    private struct Labelling: Transaction {
        let label: Label
        let zone: UInt32

        func draft(
            _ reading: StoreReading, _ context: PreparationContext, sink: PartSink
        ) throws(EngineError) -> Draft? {
            var draft = Draft(reading)
            try draft.buffer.add(Labels.kind, zone: zone) { label.write(to: &$0) }
            return draft
        }
    }

    private func reading(_ container: Container) throws -> StoreReading {
        StoreReading(try container.engine().published.current, .blocking)
    }

    private func commit(_ label: Label, in name: String, of container: Container) throws {
        let reading = try reading(container)
        let zone = try (1...reading.zoneCount).first { number in
            try reading.zone(number).map { try reading.zoneEntry($0).name } == name
        }
        let labelling = Labelling(label: label, zone: try #require(zone))
        _ = try container.engine().commitBlocking(labelling)
    }

    /// A store with a zone that has three labels, of which the second replaces the first.
    private func labelled(_ store: DiskStore) async throws -> Container {
        let container = try open(store.disk)
        try await container.privateDatabase(for: "alice").save(RecordZone(zoneID: notes))
        let labels: [(UInt64, String)] = [(1, "green"), (1, "red"), (2, "blue")]
        for (number, text) in labels {
            try commit(Label(number: number, text: text), in: notes.zoneName, of: container)
        }
        return container
    }

    /// The labels of all zones, as the index and the journal have them.
    private func labels(of container: Container) throws -> [UInt64: String] {
        let reading = try reading(container)
        var labels: [UInt64: String] = [:]
        for zone in 1...reading.zoneCount {
            try reading.scan(Labels.keyspaces[0].range(zone: zone)) {
                _, value throws(EngineError) in
                let entry = try reading.entry(EntryLocation(value))
                guard let label = entry.withPayload({ try? Label($0) }) else {
                    throw .damaged(entry, Self.registry)
                }
                labels[label.number] = label.text
                return true
            }
        }
        return labels
    }

    /// All entries of labels that the journal has, in their order.
    private func entries(of container: Container) throws -> [JournalEntry] {
        var entries: [JournalEntry] = []
        var log = container.log(from: 0)
        while let entry = try log.nextLine()?.entry {
            if entry.kind == Labels.kind { entries.append(entry) }
        }
        return entries
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

    @Test func `entries of a further kind are maintained, kept by checkpoints and rebuilt`()
        async throws
    {
        let store = DiskStore()
        let container = try await labelled(store)
        let expected: [UInt64: String] = [1: "red", 2: "blue"]
        #expect(try labels(of: container) == expected)
        try await container.checkpoint()
        #expect(try labels(of: container) == expected)
        try await container.close()
        var again = try open(store.disk)
        #expect(again.recoveryReport.checkpoint != nil)
        #expect(try labels(of: again) == expected)
        try await again.close()
        try store.deleteIndex()
        again = try open(store.disk)
        #expect(try labels(of: again) == expected)
        try await again.close()
    }

    @Test func `entries of a further kind are verified, and described in the log`() async throws {
        let store = DiskStore()
        let container = try await labelled(store)
        try await container.checkpoint()
        try await container.close()
        let storage = try LocalStorage(at: "store", .reading, on: store.disk.process())
        let verification = try StoreVerification(storage, Self.registry, scratch: "store")
        #expect(verification.findings == [] && verification.hasCheckpoint)
        // What does not know the kind may not pass over it.
        try store.deleteIndex()
        #expect(throws: (any Error).self) { try Container(reading: storage) }
        let again = try open(store.disk)
        let described = try entries(of: again).map { again.describe($0) }
        #expect(described.map(\.kind) == ["label", "label", "label"])
        #expect(described.map(\.detail) == ["1 green", "1 red", "2 blue"])
        // One whose payload has no meaning is found, and said to be damaged where it lies.
        let entry = try #require(try entries(of: again).first)
        let empty = entry.replacing(entry.kind, zone: entry.zone, payload: [])
        #expect(again.describe(empty).kind == "kind 100")
        guard case .journal(.damaged(let damage)) = EngineError.damaged(empty, Self.registry)
        else {
            Issue.record("no damage")
            return
        }
        #expect(damage == empty.damage(JournalDamage.Kind(.truncated)))
        try await again.close()
    }

    @Test func `entries of a further kind are dropped once no row names them`() async throws {
        let store = DiskStore()
        let container = try await labelled(store)
        try await container.maintenance.erase()
        let kept = try entries(of: container).map { container.describe($0).detail }
        #expect(kept == ["1 red", "2 blue"])
        #expect(try labels(of: container) == [1: "red", 2: "blue"])
        try await container.close()
    }

    @Test func `an archive of a zone has the entries of a further kind of that zone alone`()
        async throws
    {
        let container = try await labelled(DiskStore())
        let other = RecordZone.ID(zoneName: "other")
        try await container.privateDatabase(for: "alice").save(RecordZone(zoneID: other))
        try commit(Label(number: 9, text: "elsewhere"), in: "other", of: container)
        let first = try #require(try entries(of: container).first).zone
        let selected = SelectedZones(zones: [first], owners: [1], chunks: [])
        let chosen = try entries(of: container).filter { entry in
            var entry = entry
            return try Self.registry.select(&entry, by: selected)
        }
        #expect(chosen.map { container.describe($0).detail } == ["1 green", "1 red", "2 blue"])
        let bytes = Mutex<[UInt8]>([])
        try await container.backup(of: [.zone(notes.zoneName, of: "alice")]) { part in
            bytes.withLock { $0 += part }
        }
        let archive = bytes.withLock { $0 }
        #expect(archive.contains("blue".utf8) && !archive.contains("elsewhere".utf8))
        try await container.close()
    }

    @Test func `each kind of entry and each keyspace has one projection`() {
        let registry = ProjectionRegistry.store
        #expect(Set(registry.forms.map(\.name)).count == registry.forms.count)
        #expect(
            Set(registry.allKeyspaces.map(\.name.description)).count == registry.allKeyspaces.count)
    }
}
