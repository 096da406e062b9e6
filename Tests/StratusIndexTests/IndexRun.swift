import StratusBytes
import StratusFiles
import StratusIndex
import Support
import Testing

/// Random changes to an index and its model, with all that happens in the background.
struct IndexRun {
    var index: OrderedIndex
    var model = IndexModel()
    let storage: any Storage
    private var generator: SeededGenerator
    /// The stamp of the last change, and whether a reader may read the state behind it.
    private var head: UInt64 = 1
    private var isObserved = false
    private var held: [UInt64] = []
    /// The stamps of the last changes of groups.
    private var groupEnds: [UInt64] = [0]
    private var floor: UInt64?
    /// Outputs of jobs that are not installed yet.
    private var outputs: [IndexJob.Output] = []
    private let cacheLimit: Int
    /// How many keys that were asked for were there.
    private(set) var found = 0

    static let storeID = Hash128(high: 7, low: 11)

    init(seed: UInt64, in storage: any Storage) {
        generator = SeededGenerator(seed: seed)
        self.storage = storage
        // From a cache that keeps nothing to one that keeps all.
        cacheLimit = [0, 200_000, 8_000_000][generator.below(3)]
        index = OrderedIndex(in: Self.tables(storage, cacheLimit))
    }

    private static func tables(_ storage: any Storage, _ cacheLimit: Int) -> TableStore {
        TableStore(
            storage, cache: BlockCache(limit: cacheLimit, pinLimit: cacheLimit / 4),
            storeID: storeID, groupings: [2: KeyGrouping(prefixLength: 9)])
    }

    private mutating func key() -> IndexKey {
        let key = IndexKey().appending(UInt32(1 + generator.below(3)))
            .appending(UInt8(1 + generator.below(2)))
        switch generator.below(8) {
        case 0: return key.appending(UInt8(generator.below(4)))
        case 1, 2: return key.appending(UInt64(generator.below(30)) &* 0x9e37_79b9_7f4a_7c15)
        case 3:
            var long = key.appending(UInt64(generator.below(5)))
            while long.count + 8 <= IndexKey.limit { long = long.appending(UInt64(0)) }
            return generator.oneIn(2) ? long : long.appending(UInt8(generator.below(3)))
        default: return key.appending(UInt64(generator.below(30)))
        }
    }

    private mutating func nextStamp() -> UInt64 {
        // One commit may make several changes at one stamp.
        let step = isObserved || !generator.oneIn(8) ? 1 + generator.below(500) : 0
        head += UInt64(step)
        isObserved = false
        return head
    }

    private mutating func word(_ stamp: UInt64) -> UInt64 {
        switch generator.below(4) {
        case 0: 0
        case 1: stamp
        case 2: UInt64(generator.below(1000))
        default: generator.next() >> UInt64(generator.below(64))
        }
    }

    mutating func step() throws {
        switch generator.below(100) {
        case 0..<60:
            let key = key()
            let stamp = nextStamp()
            let value = IndexValue(stamp: stamp, first: word(stamp), second: word(stamp))
            let isFresh = !model.knows(key) && !generator.oneIn(4)
            index.set(key, value, isFresh: isFresh)
            model.set(key, value)
        case 60..<80:
            let key = key()
            let stamp = nextStamp()
            index.remove(key, at: stamp)
            model.remove(key, at: stamp)
        case 80 where generator.oneIn(10):
            let partition = UInt32(1 + generator.below(3))
            let stamp = nextStamp()
            index.drop(partition: partition, at: stamp)
            model.drop(partition, at: stamp)
        case 81..<84: movePoints()
        case 84..<87:
            index.freeze()
            groupEnds.append(head)
        case 87..<92: try background()
        case 92 where generator.oneIn(4): try reopen()
        case 93 where generator.oneIn(2): try check()
        // Groups of all sizes, so that layers of all sizes meet.
        case 94..<97:
            index.endGroup()
            groupEnds.append(head)
        default: for _ in 0..<4 { try checkOne() }
        }
    }

    private mutating func movePoints() {
        isObserved = true
        if !held.isEmpty, generator.oneIn(2) {
            held.remove(at: generator.below(held.count))
        } else {
            held.append(head)
        }
        if generator.oneIn(10) { floor = generator.oneIn(3) ? nil : max(floor ?? 0, head) }
        // In any order, and one may be held twice.
        index.points = NeededPoints(held.reversed(), floor: floor)
    }

    private mutating func background() throws {
        switch generator.below(4) {
        case 0:
            if let job = index.checkpointJob(), let output = try job.run() {
                outputs.append(output)
            }
        case 1:
            let job = generator.oneIn(3) ? index.fullMergeJob() : index.mergeJob()
            if let output = try job?.run() { outputs.append(output) }
        default: try install()
        }
    }

    private mutating func install() throws {
        guard !outputs.isEmpty else { return }
        let output = outputs.remove(at: generator.below(outputs.count))
        for name in index.install(output) { _ = try storage.delete(name) }
    }

    /// Writes all that is in memory, and begins again from the description.
    private mutating func reopen() throws {
        index.freeze()
        while !outputs.isEmpty { try install() }
        if let output = try index.checkpointJob()?.run() {
            for name in index.install(output) { _ = try storage.delete(name) }
        }
        let description = index.description
        index = try OrderedIndex(
            description: description.span, file: "manifest", in: Self.tables(storage, cacheLimit))
        index.points = NeededPoints(held, floor: floor)
        // No draft is older than the opening.
        groupEnds = [head]
        #expect(index.description == description)
        #expect(try storage.list().filter { $0 != "writer" } == index.fileNames.sorted())
        for number in index.tableNumbers { try index.verify(number) }
    }

    /// A point at which one may look, the head among them.
    private mutating func point() -> UInt64 {
        if let floor, generator.oneIn(3) {
            return floor + UInt64(generator.below(Int(head - floor) + 1))
        }
        return held.isEmpty || generator.oneIn(2) ? .max : held[generator.below(held.count)]
    }
}

// Comparing.
extension IndexRun {
    private mutating func checkOne() throws {
        let key = key()
        let point = point()
        let found = try resident { mode throws(IndexError) in
            try index.value(of: key, at: point, mode)
        }
        #expect(found == model.value(of: key, at: point))
        if found != nil { self.found += 1 }
        // Behind the end of a group, as readers see it.
        let stamp = groupEnds[groupEnds.count - 1 - generator.below(min(groupEnds.count, 20))] + 1
        if model.differs(key, since: stamp) {
            #expect(index.mayHaveChanged(key, since: stamp))
            #expect(index.mayHaveChanged(key..<key.next, since: stamp))
        }
        try checkGroup(of: key)
    }

    /// A group that is told to be empty has no key, at whatever point.
    private mutating func checkGroup(of key: IndexKey) throws {
        guard key.byte(at: 4) == 2, key.count > 9 else { return }
        let group = IndexKey().appending(key.uint32(at: 0)).appending(2 as UInt8)
            .appending(key.uint32(at: 5))
        let range = group..<group.afterPrefix
        let isEmpty = try resident { mode throws(IndexError) in
            try index.isEmptyGroup(range, mode)
        }
        if isEmpty {
            for point in [point(), .max] {
                #expect(model.entries(in: range, at: point).isEmpty)
            }
        }
    }

    /// What memory alone could not answer is asked again.
    private func resident<Result>(
        _ read: (ReadMode) throws(IndexError) -> Result
    ) throws(IndexError) -> Result {
        do {
            return try read(.resident)
        } catch .storage(let error) where error.kind == .notResident {
            return try read(.blocking)
        }
    }

    mutating func check() throws {
        let first = key()
        let second = key()
        let whole = IndexKey()..<IndexKey().appending(UInt8(0xff))
        let range =
            generator.oneIn(3) ? whole : min(first, second)..<max(first, second)
        let point = point()
        let expected = model.entries(in: range, at: point)
        for direction in [IndexDirection.forward, .backward] {
            var cursor = index.cursor(range, at: point, .resident, direction)
            var found: [(key: IndexKey, value: IndexValue)] = []
            while let next = try goOn(&cursor) { found.append(next) }
            if direction == .backward { found.reverse() }
            #expect(found.map(\.key) == expected.map(\.key))
            #expect(found.map(\.value) == expected.map(\.value))
        }
        try checkWalks(range, point, expected.map(\.key))
    }

    /// All keys in one walk, and counted: at once or in parts.
    private mutating func checkWalks(
        _ range: Range<IndexKey>, _ point: UInt64, _ expected: [IndexKey]
    ) throws {
        let most = generator.below(expected.count + 2)
        var found: [IndexKey] = []
        var cursor = index.cursor(range, at: point, .blocking)
        try cursor.forEach { key, _ in
            if found.count < most { found.append(key) }
            return found.count < most
        }
        #expect(found == Array(expected.prefix(most)))
        let limit = generator.oneIn(2) ? .max : 1 + generator.below(20)
        var count = 0
        var rest: Range<IndexKey>? = range
        while let part = rest {
            var cursor = index.cursor(part, at: point, .blocking)
            let counted = try cursor.count(upTo: limit)
            count += counted.count
            rest = counted.last.map { $0.next..<part.upperBound }
        }
        #expect(count == expected.count)
    }

    private func goOn(
        _ cursor: inout IndexCursor
    ) throws(IndexError) -> (key: IndexKey, value: IndexValue)? {
        cursor.mode = .resident
        do {
            return try cursor.next()
        } catch .storage(let error) where error.kind == .notResident {
            cursor.mode = .blocking
            return try cursor.next()
        }
    }
}
