internal import StratusBytes
internal import StratusFiles

/// A checkpoint or a merge, which any thread can run: it reads what is never changed and writes
/// files that nothing references yet.
package struct IndexJob: Sendable {
    private let memtables: [FrozenMemtable]
    private let runs: [Run]
    private let points: NeededPoints
    private let dropped: DroppedKeys?
    private let isOldest: Bool
    private let numbers: Range<UInt64>
    private let store: TableStore

    /// What a job made, for ``OrderedIndex/install(_:)``.
    package struct Output: Sendable {
        let memtables: [FrozenMemtable]
        let inputs: [Run]
        /// Nil where nothing had to be kept.
        let run: Run?
    }

    init(
        _ memtables: [FrozenMemtable], _ runs: [Run], _ points: NeededPoints,
        _ dropped: DroppedKeys?, isOldest: Bool, numbers: Range<UInt64>, in store: TableStore
    ) {
        self.memtables = memtables
        self.runs = runs
        self.points = points
        self.dropped = dropped
        self.isOldest = isOldest
        self.numbers = numbers
        self.store = store
    }

    /// No more tables than this can come out of so many entries.
    static func mostTables(entries: Int) -> Int {
        entries / TableFormat.entriesOfFullTable + 1
    }

    /// How many entries pass between two questions whether to stop.
    private static let stride = 4096

    /// Runs the job; returns nil if it was told to stop. Where it does not end, its files are
    /// deleted again. `pace` is told how many bytes were written, and may wait.
    package func run(
        stop: () -> Bool = { false }, pace: (_ bytes: Int) -> Void = { _ in }
    ) throws(IndexError) -> Output? {
        var writer = RunWriter(in: store, numbers: numbers)
        do {
            let isDone = try write(to: &writer, stop, pace)
            if !isDone { writer.discard() }
            return isDone ? Output(memtables: memtables, inputs: runs, run: writer.run) : nil
        } catch {
            writer.discard()
            throw error
        }
    }

    private func write(
        to writer: inout RunWriter, _ stop: () -> Bool, _ pace: (Int) -> Void
    ) throws(IndexError) -> Bool {
        let reading = Reading(passingThrough: runs.count)
        let start = IndexPosition(IndexKey())
        var entries = EntryMerger(
            memtables.flatMap { $0.memtable.sources(from: start) }
                + runs.map { EntrySource($0, from: start, .forward) }, .forward)
        var sieve = VersionSieve(points, isOldest: isOldest)
        var count = 0
        while try entries.settle(reading) {
            try entries.visit { entry throws(IndexError) in
                if dropped?.contains(entry.key) != true {
                    try sieve.pass(entry) { kept throws(IndexError) in
                        try writer.append(kept, pace)
                    }
                }
                count += 1
                return count % Self.stride != 0
            }
            if count % Self.stride == 0, stop() { return false }
        }
        try sieve.finish { kept throws(IndexError) in try writer.append(kept, pace) }
        try writer.finish(pace)
        return true
    }
}

/// Writes entries, which come in order, as the tables of a run.
private struct RunWriter {
    private let store: TableStore
    private var numbers: Range<UInt64>
    private var builder: TableBuilder?
    private var tables: [Table] = []

    init(in store: TableStore, numbers: Range<UInt64>) {
        self.store = store
        self.numbers = numbers
    }

    var run: Run? { tables.isEmpty ? nil : Run(tables) }

    /// Adds an entry. `pace` is told how many bytes were written, where any were.
    mutating func append(
        _ entry: borrowing IndexEntry, _ pace: (Int) -> Void
    ) throws(IndexError) {
        if builder?.append(entry) == true { return }
        try finish(pace)
        guard let number = numbers.popFirst() else {
            preconditionFailure("a job has numbers for all its tables")
        }
        var next = TableBuilder(number: number, in: store)
        let isFirst = next.append(entry)
        precondition(isFirst, "the first entry fits")
        builder = next
    }

    /// Writes the table that was begun.
    mutating func finish(_ pace: (Int) -> Void) throws(IndexError) {
        guard let (info, bytes) = builder?.finish(storeID: store.storeID) else { return }
        builder = nil
        let table = Table(info, in: store)
        tables.append(table)
        do {
            try store.storage.put(info.fileName, bytes)
        } catch {
            throw .storage(error)
        }
        // Opened now, so that a reader that may not block finds it open.
        _ = try table.open(.blocking)
        pace(bytes.count)
    }

    /// Deletes the tables that were written, as far as possible: nothing references them.
    func discard() {
        for table in tables { _ = try? store.storage.delete(table.info.fileName) }
    }
}
