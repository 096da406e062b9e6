import FoundationEssentials
import Stratus
import StratusFiles
import StratusJournal
import Support
import Synchronization
import Testing

/// The zone that tests use unless they are about zones.
let notes = RecordZone.ID(zoneName: "notes")

/// A new record of type Note.
func note(
    _ name: String, _ fields: [String: RecordValue] = [:], type: String = "Note",
    in zone: RecordZone.ID = notes
) -> Record {
    var record = Record(
        recordType: type, recordID: Record.ID(recordName: name, zoneID: zone))
    for (key, value) in fields { record[key] = value }
    return record
}

func noteID(_ name: String, in zone: RecordZone.ID = notes) -> Record.ID {
    Record.ID(recordName: name, zoneID: zone)
}

/// Alice's database of a new container in memory, with the zone `notes`.
func makeDatabase() async throws -> (container: Container, database: Database) {
    let container = try Container.inMemory()
    let database = container.privateDatabase(for: "alice")
    try await database.save(RecordZone(zoneID: notes))
    return (container, database)
}

/// The same on a storage whose calls can be made to wait.
func makeDatabase(
    on storage: GatedStorage, _ profile: Profile = .unlimited
) async throws -> (container: Container, database: Database) {
    let container = try Container(
        writing: storage, creating: true, durability: .full, profile: profile,
        options: JournalOptions(), steppedByCaller: false)
    let database = container.privateDatabase(for: "alice")
    try await database.save(RecordZone(zoneID: notes))
    return (container, database)
}

/// Runs `body` on so many threads and waits for them without blocking a task's.
func onThreads(_ count: Int, _ body: @escaping @Sendable (Int) -> Void) async throws {
    let left = Atomic(count)
    await withCheckedContinuation { continuation in
        for number in 0..<count {
            try? Thread.start {
                body(number)
                if left.subtract(1, ordering: .acquiringAndReleasing).newValue == 0 {
                    continuation.resume()
                }
            }
        }
    }
}

/// The error of a call that must fail; where it does not, that is recorded.
func failure<Value>(
    _ body: () async throws -> Value, sourceLocation: SourceLocation = #_sourceLocation
) async -> StoreError {
    do {
        let value = try await body()
        Issue.record("it did not fail but gave \(value)", sourceLocation: sourceLocation)
    } catch let error as StoreError {
        return error
    } catch {
        Issue.record("another error: \(error)", sourceLocation: sourceLocation)
    }
    return StoreError(StoreError.Code(rawValue: -1), "no error")
}

extension Result where Failure == StoreError {
    /// The code of the failure, or nil.
    var code: StoreError.Code? {
        if case .failure(let error) = self { error.code } else { nil }
    }
}

/// Whether two values are equal to the bit, which `==` does not say of numbers and text.
func areIdentical(_ left: RecordValue?, _ right: RecordValue?) -> Bool {
    switch (left, right) {
    case (.string(let left), .string(let right)): left.utf8.elementsEqual(right.utf8)
    case (.double(let left), .double(let right)): left.bitPattern == right.bitPattern
    case (.date(let left), .date(let right)): left.bits == right.bits
    case (.location(let left), .location(let right)): left.bits == right.bits
    case (.list(let left), .list(let right)):
        left.count == right.count && zip(left, right).allSatisfy { areIdentical($0, $1) }
    default: left == right
    }
}

extension Date {
    fileprivate var bits: UInt64 { timeIntervalSinceReferenceDate.bitPattern }
}

extension Location {
    fileprivate var bits: [UInt64] {
        [latitude, longitude, altitude, horizontalAccuracy, verticalAccuracy, course, speed].map(
            \.bitPattern) + [timestamp.bits]
    }
}

/// A store on a simulated disk, to be opened again and again.
struct DiskStore {
    let disk: SimulatedDisk
    var options = JournalOptions()
    var durability = Container.Durability.full
    var steppedByCaller = false
    var memoryLimit = 64 << 20
    var profile = Profile.unlimited

    init(_ disk: SimulatedDisk = SimulatedDisk()) { self.disk = disk }

    /// Opens the store as a process of its own, or as `process`.
    func open(
        creating: Bool = true, environment: Container.Environment? = nil,
        as process: SimulatedProcess? = nil
    ) throws -> Container {
        let storage = try LocalStorage(
            at: "store", .writing(creating: creating), on: process ?? disk.process(),
            holder: "the other")
        return try Container(
            writing: storage, creating: creating, durability: durability, profile: profile,
            environment: environment, options: options, steppedByCaller: steppedByCaller,
            memoryLimit: memoryLimit)
    }

    /// The names of the index's files.
    var indexFiles: [String] {
        get throws {
            try LocalStorage(at: "store", .reading, on: disk.process()).list()
                .filter { $0.hasPrefix("index-") }
        }
    }

    /// Takes the index away, which is then made again from the journal.
    func deleteIndex() throws {
        let storage = try LocalStorage(at: "store", .writing(creating: false), on: disk.process())
        for name in try indexFiles { _ = try storage.delete(name) }
        storage.close()
    }

    /// Puts a changed manifest above the newest one, while the store is closed.
    func editManifest(_ body: (inout Manifest) throws -> Void) throws {
        let storage = try LocalStorage(at: "store", .writing(creating: false), on: disk.process())
        var manifest = try #require(try Journal.newestManifest(in: storage))
        manifest.generation += 1
        try body(&manifest)
        try storage.put(manifest.fileName, manifest.encoded())
        storage.close()
    }

    func openReadOnly() throws -> Container {
        try Container(reading: LocalStorage(at: "store", .reading, on: disk.process()))
    }
}

extension Database {
    /// Saves records in one call and fails where one of them does.
    func saveAll(
        _ records: [Record], savePolicy: SavePolicy = .ifServerRecordUnchanged
    ) async throws {
        let result = try await modifyRecords(saving: records, savePolicy: savePolicy)
        if let failure = result.partialFailure { throw failure }
    }

    /// All records of a zone, page by page.
    func allRecords(
        in zone: RecordZone.ID = notes, type: String? = nil, resultsLimit: Int? = nil,
        reversed: Bool = false
    ) async throws -> [Record] {
        var records: [Record] = []
        var cursor: RecordPage.Cursor?
        repeat {
            let page = try await self.records(
                inZoneWith: zone, type: type, resultsLimit: resultsLimit, from: cursor,
                reversed: reversed)
            records += page.records
            cursor = page.cursor
        } while cursor != nil
        return records
    }
}

extension Database {
    /// All that a query finds, page by page.
    func allRecords(
        matching query: Query, in zone: RecordZone.ID? = notes, resultsLimit: Int? = nil
    ) async throws -> [Record] {
        var records: [Record] = []
        var cursor: QueryPage.Cursor?
        repeat {
            let page = try await self.records(
                matching: query, inZoneWith: zone, resultsLimit: resultsLimit, from: cursor)
            records += page.records
            cursor = page.cursor
        } while cursor != nil
        return records
    }
}

extension RecordZoneChanges {
    /// The names of the records in it, in their order.
    var modifiedNames: [String] { modifications.map(\.recordID.recordName) }
    var deletedNames: [String] { deletions.map(\.recordID.recordName) }
}

/// A whole zone as its feed tells it since a token, page by page.
struct FollowedChanges {
    var modified: [Record] = []
    var deleted: [RecordZoneChanges.Deletion] = []
    var token: ChangeToken?
    var pageCount = 0

    init(
        of database: Database, in zone: RecordZone.ID = notes, since token: ChangeToken? = nil,
        asOf point: ChangeToken? = nil, resultsLimit: Int? = nil
    ) async throws {
        self.token = token
        var moreComing = true
        while moreComing {
            let page = try await database.recordZoneChanges(
                inZoneWith: zone, since: self.token, asOf: point, resultsLimit: resultsLimit)
            modified += page.modifications
            deleted += page.deletions
            self.token = page.changeToken
            moreComing = page.moreComing
            pageCount += 1
        }
    }

    var modifiedNames: [String] { modified.map(\.recordID.recordName) }
    var deletedNames: [String] { deleted.map(\.recordID.recordName) }
}
