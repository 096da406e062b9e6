import Stratus
import StratusEngine
import StratusFiles
import StratusJournal
import Support
import Testing

/// Trees that are shared by more commits than one: `Formats/README.md`, "Sharing", 5.
@Suite struct GrowingShareTests {
    /// Records below `root`, each with as many below it as a level has, but for the last.
    private static func fill(_ database: Database, levels: [Int]) async throws -> [String: String] {
        var parents: [String: String] = [:]
        var records: [Record] = [note("root")]
        func add(_ level: Int, below parent: String) {
            guard level < levels.count else { return }
            for number in 0..<levels[level] {
                let name = "\(parent)-\(number)"
                parents[name] = parent
                records.append(child(name, of: parent))
                add(level + 1, below: name)
            }
        }
        add(0, below: "root")
        try await database.save(RecordZone(zoneID: notes))
        try await database.saveAll(records)
        return parents
    }

    private static func share(
        _ database: Database, _ name: String = "root"
    ) async throws -> Share {
        let root = try await database.record(for: noteID(name))
        var share = Share(rootRecord: root)
        share.publicPermission = .readWrite
        let result = try await database.modifyRecords(saving: [root, share.record])
        #expect(result.partialFailure?.partialErrors ?? [:] == [:])
        let saved = Share(try #require(try result.saveResults[share.recordID]?.get()))
        return try #require(saved)
    }

    /// What a commit has of shares.
    private struct Commit {
        var states: [ShareState] = []
        /// The records that went along.
        var members: [MembersEntry.Item] = []
        var recordCount = 0
    }

    private static func commits(
        of container: Container, from start: UInt64
    ) throws -> [Commit] {
        var commits: [Commit] = []
        var log = container.log(from: start)
        var isNew = true
        while let entry = try log.nextLine()?.entry {
            guard entry.kind.isEntry else { continue }
            if isNew { commits.append(Commit()) }
            isNew = entry.commitTime != nil
            try entry.withPayload { payload in
                switch entry.kind {
                case .share: commits[commits.count - 1].states.append(try ShareEntry(payload).state)
                case .members: commits[commits.count - 1].members += try MembersEntry(payload).items
                case .record: commits[commits.count - 1].recordCount += 1
                default: break
                }
            }
        }
        return commits
    }

    /// How many rows a keyspace has.
    private static func rows(_ name: String, in container: Container) async throws -> Int {
        // Then all of them lie in tables, and none twice.
        try await container.maintenance.erase()
        return try await container.indexStatistics().keyspaces.first { $0.name == name }?.entries
            ?? 0
    }

    @Test
    func
        `a long tree is taken in by commits of 192 records, parents first, and seen with the last`()
        async throws
    {
        let container = try Container.inMemory()
        let alice = container.privateDatabase(for: "alice")
        let parents = try await Self.fill(alice, levels: [30, 10, 12])
        let start = container.snapshot().offset
        let share = try await Self.share(alice)
        let commits = try Self.commits(of: container, from: start)
        #expect(commits.map(\.states).first == [.growing])
        #expect(commits.map(\.states).last == [.alive])
        #expect(commits.dropFirst().dropLast().allSatisfy { $0.states.isEmpty })
        #expect(commits.allSatisfy { $0.members.count <= 192 })
        #expect(commits.count >= 2 + parents.count / 192)
        var entered: Set<String> = ["root"]
        for item in commits.flatMap(\.members) {
            #expect(entered.contains(try #require(parents[item.name])))
            #expect(entered.insert(item.name).inserted)
        }
        #expect(entered.count == parents.count + 1)
        #expect(try await Self.rows("growingShares", in: container) == 0)
        try await container.acceptShare(try #require(share.shortGUID), as: "bob")
        #expect(try await Self.seen(by: "bob", in: container) == parents.count + 2)
        try await container.close()
    }

    /// A tree of so many records below its root, and more further below, that is being shared, by a
    /// call that overwrites the root. Its first step, behind the commit with which the share begins,
    /// waits for the disk.
    private static func growing(
        _ count: Int, _ storage: GatedStorage, below: [Record] = []
    ) async throws -> (
        container: Container, start: UInt64, shareID: Record.ID,
        sharing: Task<ModifyRecordsResult, any Error>
    ) {
        let (container, alice) = try await makeDatabase(on: storage)
        _ = try await fill(alice, levels: [count])
        try await alice.saveAll(below)
        try await alice.saveAll(
            [note("target"), note("root", ["target": link("target", .deleteSelf)])],
            savePolicy: .allKeys)
        let start = container.snapshot().offset
        let root = try await alice.record(for: noteID("root"))
        let share = Share(rootRecord: root)
        storage.shut()
        let sharing = Task {
            try await alice.modifyRecords(saving: [root, share.record], savePolicy: .allKeys)
        }
        while !storage.isWaiting { await Task.yield() }
        storage.letOneThrough()
        while !storage.isWaiting { await Task.yield() }
        return (container, start, share.recordID, sharing)
    }

    @Test func `a share grows by fewer records once another's commit came first, then by more`()
        async throws
    {
        let storage = GatedStorage()
        let (container, start, _, sharing) = try await Self.growing(1400, storage)
        let alice = container.privateDatabase(for: "alice")
        let other = Task { try await alice.saveAll([note("other")]) }
        while container.queueDepth < 1 { await Task.yield() }
        storage.letOneThrough()
        // The next step is prepared while the other commit waits for the disk.
        while !storage.isWaiting || container.queueDepth < 1 { await Task.yield() }
        storage.open()
        _ = try await other.value
        #expect(try await sharing.value.partialFailure == nil)
        let steps = try Self.commits(of: container, from: start).map(\.members.count)
            .filter { $0 > 0 }
        #expect(steps == [192, 192, 16, 32, 64, 128] + Array(repeating: 192, count: 4) + [8])
        try await container.close()
    }

    @Test func `the root of a share that grows is not moved to another zone`() async throws {
        let storage = GatedStorage()
        let (container, _, _, sharing) = try await Self.growing(1500, storage)
        let alice = container.privateDatabase(for: "alice")
        let error = Task {
            await failure {
                try await alice.moveRecords(
                    [noteID("root"), noteID("target")], to: RecordZone.ID.default)
            }
        }
        while container.queueDepth < 1 { await Task.yield() }
        storage.open()
        #expect(await error.value.code == .invalidArguments)
        #expect(try await sharing.value.partialFailure == nil)
        try await container.close()
    }

    /// By itself, or along with another record.
    @Test(arguments: ["root", "target"])
    func `a share whose root is deleted while it grows ends with that`(
        first: String
    ) async throws {
        let storage = GatedStorage()
        let (container, start, shareID, sharing) = try await Self.growing(1500, storage)
        let alice = container.privateDatabase(for: "alice")
        let names = [first] + (0..<1500).map { "root-\($0)" }
        let deletion = Task {
            try await alice.modifyRecords(saving: [], deleting: names.map { noteID($0) })
        }
        while container.queueDepth < 1 { await Task.yield() }
        storage.open()
        #expect(try await deletion.value.partialFailure == nil)
        // One of that name is another record.
        _ = try await Self.fill(alice, levels: [1500])
        let result = try await sharing.value
        #expect(result.saveResults[shareID]?.code == .unknownItem)
        let states = try Self.commits(of: container, from: start).flatMap(\.states)
        #expect(states == [.growing, .ended])
        #expect(try await alice.record(for: noteID("root")).share == nil)
        let new = try await Self.share(alice)
        try await container.acceptShare(try #require(new.shortGUID), as: "bob")
        #expect(try await Self.seen(by: "bob", in: container) == 1502)
        try await container.close()
    }

    @Test func `a tree of one commit's length begins with that`() async throws {
        let container = try Container.inMemory()
        let alice = container.privateDatabase(for: "alice")
        _ = try await Self.fill(alice, levels: [1024])
        let start = container.snapshot().offset
        _ = try await Self.share(alice)
        let commits = try Self.commits(of: container, from: start)
        #expect(commits.count == 1 && commits[0].states == [.alive])
        #expect(commits[0].members.count == 1024)
        try await container.close()
    }

    @Test func `a tree that holds a share far below is not shared, and nothing of it stays`()
        async throws
    {
        let container = try Container.inMemory()
        let alice = container.privateDatabase(for: "alice")
        _ = try await Self.fill(alice, levels: [2000, 1])
        let below = try await alice.record(for: noteID("root-1999-0"))
        let inner = try await alice.modifyRecords(
            saving: [below, Share(rootRecord: below).record])
        #expect(inner.partialFailure == nil)
        for isAtomic in [true, false] {
            let root = try await alice.record(for: noteID("root"))
            let share = Share(rootRecord: root)
            let other = note("other-\(isAtomic)")
            let result = try await alice.modifyRecords(
                saving: [other, root, share.record], atomically: isAtomic)
            let codes = result.saveResults.mapValues(\.code)
            #expect(codes[share.recordID] == .some(.alreadyShared))
            #expect(codes[other.recordID] == (isAtomic ? .some(.batchRequestFailed) : .some(nil)))
            #expect(try await Self.rows("growingShares", in: container) == 0)
            let found = try await alice.record(for: noteID("root"))
            #expect(found.share == nil)
        }
        // Once that ends, the root can be shared.
        let share = try #require(try await alice.record(for: noteID("root-1999-0")).share)
        try await alice.deleteRecord(withID: share.recordID)
        _ = try await Self.share(alice)
        try await container.close()
    }

    @Test func `a tree that comes to the root of another that grows meanwhile is not shared`()
        async throws
    {
        let storage = GatedStorage()
        // The outer share takes 16 steps to the inner root, in turns with the inner one, which takes 42
        // at least.
        let chain = ["root"] + (1..<16).map { "above-\($0)" } + ["inner"]
        let below = zip(chain.dropFirst(), chain).map { child($0, of: $1) }
        let (container, start, shareID, sharing) = try await Self.growing(
            0, storage, below: below + (0..<4000).map { child("below-\($0)", of: "inner") })
        let alice = container.privateDatabase(for: "alice")
        let root = try await alice.record(for: noteID("inner"))
        let innerShare = Share(rootRecord: root)
        let inner = Task { try await alice.modifyRecords(saving: [root, innerShare.record]) }
        for _ in 0..<20 {
            // Until both have gone on.
            for _ in 0..<100 { await Task.yield() }
            while !storage.isWaiting { await Task.yield() }
            storage.letOneThrough()
        }
        storage.open()
        let codes = try await sharing.value.saveResults.mapValues(\.code)
        #expect(codes[shareID] == .some(.alreadyShared))
        // It is refused as well where it ends before the outer one is given up.
        let isShared = try await inner.value.partialFailure == nil
        let states = try Self.commits(of: container, from: start).flatMap(\.states)
        #expect(states.count == 4 && states.prefix(2) == [.growing, .growing])
        #expect(states.contains(.ended) && states.contains(.alive) == isShared)
        try await container.close()
    }

    @Test func `of two trees, one in the other, at most one is shared, and as a whole`()
        async throws
    {
        for _ in 0..<6 {
            let container = try Container.inMemory()
            let alice = container.privateDatabase(for: "alice")
            _ = try await Self.fill(alice, levels: [6000])
            let below = (0..<1100).map { child("below-\($0)", of: "root-7") }
            try await alice.saveAll(below)
            let start = container.snapshot().offset
            let sharing = ["root", "root-7"].map { name in
                Task {
                    // The inner one begins while the outer one grows, and has not come to it, as a rule.
                    while name == "root-7", container.snapshot().offset == start {
                        await Task.yield()
                    }
                    let root = try await alice.record(for: noteID(name))
                    var share = Share(rootRecord: root)
                    share.publicPermission = .readOnly
                    let result = try await alice.modifyRecords(saving: [root, share.record])
                    return try result.saveResults[share.recordID]?.get()
                }
            }
            var seen: [Int] = []
            for (task, count) in zip(sharing, [7102, 1102]) {
                switch await task.result {
                case .success(let record):
                    let share = try #require(record.flatMap { Share($0) })
                    try await container.acceptShare(try #require(share.shortGUID), as: "bob")
                    let found = try await Self.seen(by: "bob", in: container)
                    #expect(found == count)
                    seen.append(found)
                case .failure(let error):
                    let codes = [StoreError.Code.alreadyShared, .batchRequestFailed]
                    #expect(codes.contains(try #require(error as? StoreError).code))
                }
            }
            #expect(seen.count <= 1)
            #expect(try await Self.rows("growingShares", in: container) == 0)
            try await container.close()
        }
    }

    /// Alice's tree, whose record `root-0` is shared with bob, with all that lies below it.
    private static func sharedWithBob(
        _ levels: [Int]
    ) async throws -> (container: Container, alice: Database, outer: Share) {
        let container = try Container.inMemory()
        let alice = container.privateDatabase(for: "alice")
        _ = try await fill(alice, levels: levels)
        let share = try await share(alice)
        try await container.acceptShare(try #require(share.shortGUID), as: "bob")
        return (container, alice, share)
    }

    private static func seen(by user: String, in container: Container) async throws -> Int {
        try await container.sharedDatabase(for: user).allRecords(
            in: RecordZone.ID(
                zoneName: notes.zoneName, ownerName: container.userRecordName(for: "alice"))
        ).count
    }

    @Test func `a long tree inside of a share is not shared, and nobody loses any of it`()
        async throws
    {
        let (container, alice, _) = try await Self.sharedWithBob([1, 2, 1100])
        let count = try await Self.seen(by: "bob", in: container)
        let end = container.snapshot().offset
        let inner = try await alice.record(for: noteID("root-0"))
        let share = Share(rootRecord: inner)
        let below = try await alice.record(for: noteID("root-0-0"))
        for items in [
            [inner, share.record], [share.record, inner], [below, inner, share.record],
        ] {
            let result = try await alice.modifyRecords(saving: items)
            let codes = [inner, share.record].map { result.saveResults[$0.recordID]?.code }
            #expect(codes.contains(.alreadyShared))
        }
        #expect(container.snapshot().offset == end)
        #expect(try await Self.seen(by: "bob", in: container) == count)
        try await container.close()
    }

    @Test func `the share of a long tree is replaced in one batch`() async throws {
        let (container, alice, old) = try await Self.sharedWithBob([1100])
        let root = try await alice.record(for: noteID("root"))
        var share = Share(
            rootRecord: root, shareID: Record.ID(recordName: "other", zoneID: notes))
        share.publicPermission = .readOnly
        let result = try await alice.modifyRecords(
            saving: [root, share.record], deleting: [old.recordID])
        #expect(result.partialFailure?.partialErrors ?? [:] == [:])
        let saved = Share(try #require(try result.saveResults[share.recordID]?.get()))
        try await container.acceptShare(try #require(saved?.shortGUID), as: "carol")
        #expect(try await Self.seen(by: "carol", in: container) == 1102)
        try await container.close()
    }

    @Test func `for a batch that fails anyway no share grows`() async throws {
        let container = try Container.inMemory()
        let alice = container.privateDatabase(for: "alice")
        _ = try await Self.fill(alice, levels: [1100])
        let root = try await alice.record(for: noteID("root"))
        let share = Share(rootRecord: root)
        let other = try await alice.record(for: noteID("root-1"))
        try await alice.save(other.with("n", 1))
        let end = container.snapshot().offset
        let result = try await alice.modifyRecords(
            saving: [root, share.record, other.with("n", 2)])
        #expect(result.saveResults[other.recordID]?.code == .serverRecordChanged)
        #expect(result.saveResults[share.recordID]?.code == .batchRequestFailed)
        #expect(container.snapshot().offset == end)
        try await container.close()
    }

    @Test func `a call that is cancelled while its share grows gives that up`() async throws {
        let storage = GatedStorage()
        let (container, alice) = try await makeDatabase(on: storage)
        _ = try await Self.fill(alice, levels: [40, 40])
        let start = container.snapshot().offset
        let root = try await alice.record(for: noteID("root"))
        let share = Share(rootRecord: root)
        storage.shut()
        let sharing = Task { try await alice.modifyRecords(saving: [root, share.record]) }
        while !storage.isWaiting { await Task.yield() }
        sharing.cancel()
        storage.open()
        let result = try await sharing.value
        #expect(result.saveResults[share.recordID]?.code == .operationCancelled)
        let states = try Self.commits(of: container, from: start).flatMap(\.states)
        #expect(states == [.growing, .ended])
        #expect(try await Self.rows("growingShares", in: container) == 0)
        _ = try await Self.share(alice)
        try await container.close()
    }

    @Test func `a share that a full disk left growing is given up by the next call`() async throws {
        var store = DiskStore()
        (store.options.segmentLength, store.steppedByCaller) = (16 << 10, true)
        let container = try store.open()
        let alice = container.privateDatabase(for: "alice")
        let parents = try await Self.fill(alice, levels: [40, 60])
        let start = container.snapshot().offset
        store.disk.faults = [DiskFault(.fail(.noSpace), at: 1, of: .allocate, lasting: true)]
        let root = try await alice.record(for: noteID("root"))
        let share = Share(rootRecord: root)
        let result = try await alice.modifyRecords(saving: [root, share.record])
        #expect(result.partialFailure != nil)
        store.disk.faults = []
        let left = try Self.commits(of: container, from: start).flatMap(\.states)
        #expect(left == [.growing])
        let shared = try await Self.share(alice)
        try await container.acceptShare(try #require(shared.shortGUID), as: "bob")
        #expect(try await Self.seen(by: "bob", in: container) == parents.count + 2)
        let states = try Self.commits(of: container, from: start).flatMap(\.states)
        #expect(states == [.growing, .ended, .growing, .alive])
        try await container.close()
    }

    @Test func `while a share grows others save, and what they leave is right`() async throws {
        for seed in UInt64(0)..<4 {
            let container = try Container.inMemory()
            let alice = container.privateDatabase(for: "alice")
            let parents = try await Self.fill(alice, levels: [20, 20, 20])
            try await alice.saveAll([note("outside")])
            let names = parents.keys.sorted()
            let sharing = Task { try await Self.share(alice) }
            var generator = SeededGenerator(seed: seed)
            for round in 0..<150 {
                let name = names[Int(generator.next() % UInt64(names.count))]
                let other = names[Int(generator.next() % UInt64(names.count))]
                guard var record = try? await alice.record(for: noteID(name)) else { continue }
                switch generator.next() % 3 {
                case 0:
                    // In or out, with all below it; a circle is refused.
                    let parent = generator.next() % 4 == 0 ? "outside" : other
                    record.parent = Reference(recordID: noteID(parent))
                    _ = try? await alice.save(record)
                case 1: _ = try? await alice.save(child("new-\(round)", of: name))
                default: _ = try? await alice.deleteRecord(withID: noteID(name))
                }
            }
            let share = try await sharing.value
            try await container.acceptShare(try #require(share.shortGUID), as: "bob")
            var due: Set<String> = []
            let all = try await alice.allRecords()
            let above = Dictionary(
                uniqueKeysWithValues: all.map {
                    ($0.recordID.recordName, $0.parent?.recordID.recordName)
                })
            for name in above.keys {
                var top = name
                while top != "root", let parent = above[top] ?? nil { top = parent }
                if top == "root" { due.insert(name) }
            }
            due.insert(share.recordID.recordName)
            let seen = try await container.sharedDatabase(for: "bob").allRecords(
                in: RecordZone.ID(
                    zoneName: notes.zoneName, ownerName: container.userRecordName(for: "alice")))
            let found = Set(seen.map(\.recordID.recordName))
            let differences = found.symmetricDifference(due).sorted().map {
                "\($0) of \((above[$0] ?? nil) ?? "nothing")"
            }
            #expect(differences == [], "seed \(seed)")
            try await container.close()
        }
    }

    @Test func `a record that stays where it is waits for its turn, with all that lies below it`()
        async throws
    {
        let container = try Container.inMemory()
        let alice = container.privateDatabase(for: "alice")
        let parents = try await Self.fill(alice, levels: [80, 50])
        let start = container.snapshot().offset
        let sharing = Task { try await Self.share(alice) }
        while container.snapshot().offset == start { await Task.yield() }
        for number in 0..<80 {
            let record = try await alice.record(for: noteID("root-\(number)"))
            _ = try await alice.saveAll([record.with("n", 1)], savePolicy: .allKeys)
        }
        let share = try await sharing.value
        let commits = try Self.commits(of: container, from: start)
        for commit in commits where commit.states.isEmpty && commit.recordCount > 0 {
            #expect(commit.members.isEmpty)
        }
        #expect(commits.reduce(0) { $0 + $1.members.count } == parents.count)
        try await container.acceptShare(try #require(share.shortGUID), as: "bob")
        #expect(try await Self.seen(by: "bob", in: container) == parents.count + 2)
        try await container.close()
    }

    @Test func `nobody sees a share that grows, and the next opening gives it up`() async throws {
        let disk = SimulatedDisk()
        var store = DiskStore(disk)
        store.steppedByCaller = true
        var container = try store.open()
        let parents = try await Self.fill(
            container.privateDatabase(for: "alice"), levels: [60, 60])
        let first = container.snapshot().offset
        disk.keepsCrashPoints = true
        let whole = try await Self.share(container.privateDatabase(for: "alice"))
        let link = try #require(whole.shortGUID)
        disk.keepsCrashPoints = false
        let last = container.snapshot().offset
        try await container.close()
        var grew = 0
        for point in disk.crashPoints {
            let crashed = DiskStore(point.crashed(seed: UInt64(point.call)))
            let reader = try crashed.openReadOnly()
            let seen = try Self.commits(of: reader, from: first).flatMap(\.states)
            if seen.last == .growing {
                grew += 1
                let root = try await reader.privateDatabase(for: "alice").record(
                    for: noteID("root"))
                #expect(root.share == nil)
                // The link of a root is always the same.
                let error = await failure { try await reader.shareMetadata(for: link, as: "bob") }
                #expect(error.code == .unknownItem)
            }
            container = try crashed.open(creating: false)
            let states = try Self.commits(of: container, from: first).flatMap(\.states)
            let isDropped = states == [.growing, .ended]
            #expect(isDropped || states == [] || states == [.growing, .alive], "\(states)")
            // Nothing is written where nothing grew.
            let end = container.recoveryReport.end
            #expect((container.snapshot().offset > end) == isDropped)
            let alice = container.privateDatabase(for: "alice")
            let isShared = try await alice.record(for: noteID("root")).share != nil
            if !isShared {
                #expect(end < last)
                // One in the tree can be shared, and the tree once that has ended.
                let below = try await alice.record(for: noteID("root-7-7"))
                let inner = Share(rootRecord: below)
                let result = try await alice.modifyRecords(saving: [below, inner.record])
                let failures = result.partialFailure?.partialErrors ?? [:]
                #expect(failures.isEmpty, "call \(point.call): \(failures)")
                try await alice.deleteRecord(withID: inner.recordID)
                let share = try await Self.share(alice)
                try await container.acceptShare(try #require(share.shortGUID), as: "bob")
                let seen = try await container.sharedDatabase(for: "bob").allRecords(
                    in: RecordZone.ID(
                        zoneName: notes.zoneName,
                        ownerName: container.userRecordName(for: "alice")))
                #expect(seen.count == parents.count + 2)
            }
            #expect(try await Self.rows("growingShares", in: container) == 0)
            try await container.close()
        }
        #expect(grew >= 3)
    }
}
