import Stratus
import StratusFiles
import StratusJournal
import Support
import Testing

/// Batches that are longer than a group and cannot be saved.
@Suite struct RefusedBatchTests {
    /// What is wrong with one record of many.
    enum Fault: CaseIterable {
        case staleTag, missingParent, wrongKind, parentOfOthers
    }

    private let count = 600
    private let store = {
        var store = DiskStore()
        store.steppedByCaller = true
        store.options.segmentLength = 32 << 10
        store.options.groupLimit = 8 << 10
        return store
    }()

    /// The bytes of the journal that are not zero.
    private var journalBytes: Int {
        store.disk.paths.filter { $0.hasPrefix("store/journal-") }
            .reduce(0) { $0 + store.disk.contents($1).count { $0 != 0 } }
    }

    private func prepared(_ container: Container) async throws -> Database {
        let database = container.privateDatabase(for: "alice")
        try await database.save(RecordZone(zoneID: notes))
        let old = try await database.save(note("old", ["number": 1]))
        try await database.save(old.with("number", 2))
        try await database.save(note("parent"))
        var child = note("child")
        child.parent = Reference(recordID: noteID("parent"))
        try await database.save(child)
        return database
    }

    private func batch(_ fault: Fault) -> (saves: [Record], deletes: [Record.ID]) {
        var saves = (0..<count).map { note("r\($0)", ["number": .int64(Int64($0))]) }
        switch fault {
        case .staleTag: saves.append(note("old", ["number": 3]))
        case .missingParent:
            var child = note("orphan")
            child.parent = Reference(recordID: noteID("missing"))
            saves.append(child)
        case .wrongKind: saves.append(note("wrong", ["number": "text"]))
        case .parentOfOthers: return (saves, [noteID("parent")])
        }
        return (saves, [])
    }

    @Test(arguments: Fault.allCases)
    func `a refused batch that is longer than a group leaves no bytes in the journal`(
        fault: Fault
    ) async throws {
        let container = try store.open()
        let database = try await prepared(container)
        let before = journalBytes
        let (saves, deletes) = batch(fault)
        let result = try await database.modifyRecords(saving: saves, deleting: deletes)
        #expect(result.partialFailure?.partialErrors.count == count + 1)
        #expect(journalBytes == before)
        // The store goes on, also behind segments that were given up.
        try await database.save(note("next"))
        try await container.close()
        let again = try store.open().privateDatabase(for: "alice")
        let names = Set(try await again.allRecords().map(\.recordID.recordName))
        #expect(names == ["old", "parent", "child", "next"])
    }

    /// The parent of all children is not there, or fails itself.
    @Test(arguments: ["missing", "wrong"])
    func `items that fail in a long batch that is not atomic are not written`(
        parent: String
    ) async throws {
        let container = try store.open()
        let database = try await prepared(container)
        let before = journalBytes
        var children: [Record] = []
        for number in 0..<count {
            var child = note("c\(number)", ["number": 1])
            child.parent = Reference(recordID: noteID(parent))
            children.append(child)
        }
        if parent == "wrong" { children.append(note("wrong", ["number": "text"])) }
        store.disk.logsCalls = true
        let result = try await database.modifyRecords(
            saving: [note("good", ["number": 1])] + children, atomically: false)
        #expect(result.partialFailure?.partialErrors.count == children.count)
        #expect(journalBytes - before < 1000, "\(journalBytes - before)")
        // Nor were they taken back: one group was written.
        let writes = store.disk.log.filter { $0.call == .write && $0.name.hasPrefix("journal-") }
        #expect(writes.count == 1)
        #expect(try await database.record(for: noteID("good"))["number"] == .int64(1))
    }

    @Test func `what was written of a batch before one of its items failed is taken back`()
        async throws
    {
        let container = try store.open()
        let database = try await prepared(container)
        let usage = try await database.usage().recordCount
        let good = (0..<count).map { note("r\($0)", ["number": 1]) }
        let head = container.information.head
        // A parent of what stays, which is found when the others have been written.
        let result = try await database.modifyRecords(
            saving: good, deleting: [noteID("parent")], atomically: false)
        #expect(result.partialFailure?.partialErrors.count == 1)
        var names: [String: Int] = [:]
        var log = container.log(from: head)
        while let entry = try log.nextLine()?.entry {
            if entry.kind.isEntry { names["\(entry.kind.rawValue)", default: 0] += 1 }
        }
        #expect(names["32"] == count)
        #expect(try await database.usage().recordCount == usage + count)
        try await container.close()
        let again = try store.open().privateDatabase(for: "alice")
        #expect(try await again.usage().recordCount == usage + count)
    }
}

extension Record {
    fileprivate func with(_ key: String, _ value: RecordValue) -> Record {
        var copy = self
        copy[key] = value
        return copy
    }
}
