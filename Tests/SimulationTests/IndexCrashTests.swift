import StratusBytes
import StratusFiles
import StratusIndex
import Support
import Testing

/// The power goes, or a call fails, at every call of checkpoints and merges.
struct IndexCrashTests {
    /// An index on a simulated disk whose descriptions lie in files of their own.
    private struct Store {
        let disk: SimulatedDisk
        let storage: LocalStorage
        var index: OrderedIndex
        var generation = 0

        private static let storeID = Hash128(high: 1, low: 2)

        /// Opens what is on the disk: the newest description, or nothing.
        init(on disk: SimulatedDisk) throws {
            self.disk = disk
            storage = try LocalStorage(at: "store", .writing(creating: true), on: disk.process())
            let store = TableStore(
                storage, cache: BlockCache(limit: 1 << 16), storeID: Self.storeID)
            index = OrderedIndex(in: store)
            let names = try storage.list()
            if let name = names.last(where: { $0.hasPrefix("runs-") && $0.count == 10 }) {
                generation = try #require(Int(name.dropFirst(5)))
                let file = try storage.open(name)
                let bytes = try file.read(0..<file.length, .blocking)
                index = try OrderedIndex(description: bytes.span, file: name, in: store)
            }
            // The index does not name these.
            for name in names where name.hasPrefix("index-") && !index.fileNames.contains(name) {
                _ = try storage.delete(name)
            }
        }

        /// Makes what a job made the index on disk.
        mutating func install(_ output: IndexJob.Output) throws {
            var next = index
            let obsolete = next.install(output)
            let name = String(10_001 + generation).dropFirst()
            try storage.put("runs-0" + name, next.description)
            index = next
            generation += 1
            for name in obsolete { _ = try storage.delete(name) }
        }

        /// All keys, by the numbers that are their last bytes.
        func content() throws -> [UInt64: UInt64] {
            for number in index.tableNumbers { try index.verify(number) }
            let whole = IndexKey()..<IndexKey().appending(UInt8(0xff))
            var cursor = index.cursor(whole, .blocking)
            var content: [UInt64: UInt64] = [:]
            while let next = try cursor.next() {
                content[next.key.uint64(at: 5)] = next.value.first
            }
            return content
        }
    }

    private static func key(_ number: UInt64) -> IndexKey {
        IndexKey().appending(UInt32(1)).appending(UInt8(1)).appending(number)
    }

    /// What is in the index after so many parts of the work; a part ends when its files are named.
    private static let states: [[UInt64: UInt64]] = {
        var states: [[UInt64: UInt64]] = [[:]]
        var state: [UInt64: UInt64] = [:]
        for part in UInt64(0)..<5 {
            for number in UInt64(0)..<40 { state[part * 30 + number] = part }
            for number in UInt64(0)..<5 { state[part * 30 + number * 7] = nil }
            states.append(state)
        }
        return states
    }()

    private static func change(_ index: inout OrderedIndex, _ part: UInt64) {
        let stamp = part * 1000 + 512
        for number in UInt64(0)..<40 {
            index.set(key(part * 30 + number), IndexValue(stamp: stamp + number, first: part))
        }
        for number in UInt64(0)..<5 {
            index.remove(key(part * 30 + number * 7), at: stamp + 100 + number)
        }
        index.freeze()
    }

    /// Five checkpoints, and merges between them; calls `done` after each part.
    private static func work(_ store: inout Store, _ done: (Int) -> Void) throws {
        for part in 0..<5 {
            change(&store.index, UInt64(part))
            let checkpoint = try #require(try store.index.checkpointJob()?.run())
            try store.install(checkpoint)
            done(part + 1)
            if part % 2 == 1, let merged = try store.index.fullMergeJob()?.run() {
                try store.install(merged)
            }
        }
    }

    @Test func `after a crash at any call the index is that of the newest description`() throws {
        let disk = SimulatedDisk()
        disk.keepsCrashPoints = true
        var store = try Store(on: disk)
        var ends: [Int] = []
        try Self.work(&store) { _ in ends.append(disk.callCount) }
        #expect(try store.content() == Self.states[5])
        let points = disk.crashPoints
        #expect(points.count > 60)
        for point in points {
            for seed in UInt64(0)..<4 {
                let after = ends.count { $0 <= point.call }
                var store = try Store(on: point.crashed(seed: seed))
                let content = try store.content()
                // What was being named may be there or not.
                #expect(Self.states[after...].prefix(2).contains(content), "call \(point.call)")
                // And it goes on.
                Self.change(&store.index, 9)
                let output = try #require(try store.index.checkpointJob()?.run())
                try store.install(output)
                #expect(try store.content().count > content.count)
            }
        }
    }

    @Test(arguments: [DiskFault.Effect.fail(.inputOutput), .fail(.noSpace), .short])
    func `a call that fails costs no more than the job`(effect: DiskFault.Effect) throws {
        var failures = 0
        for number in 1...400 {
            let disk = SimulatedDisk()
            var store = try Store(on: disk)
            disk.resetCalls()
            disk.faults = [DiskFault(effect, at: number)]
            var parts = 0
            do {
                try Self.work(&store) { parts = $0 }
            } catch {
                let isStorage =
                    if case .storage? = error as? IndexError { true } else {
                        error is StorageError
                    }
                #expect(isStorage, "call \(number): \(error)")
                failures += 1
            }
            disk.faults = []
            // What memory has is whole, and so is the disk.
            let content = try store.content()
            #expect(Self.states[parts...].prefix(2).contains(content), "call \(number)")
            disk.killProcesses()
            let reopened = try Store(on: disk).content()
            #expect(Self.states[parts...].prefix(2).contains(reopened), "call \(number)")
        }
        #expect(effect == .short || failures > 20)
    }
}
