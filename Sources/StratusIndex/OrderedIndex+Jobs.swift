internal import StratusFiles

// What happens in the background. A job is made from the index, run by any thread, and installed
// in the index, which may have moved on meanwhile.
extension OrderedIndex {
    /// A job that writes all frozen memtables into one new run, if there are any.
    package mutating func checkpointJob() -> IndexJob? {
        guard let store, !frozen.isEmpty,
            let numbers = reserve(entries: frozen.reduce(0) { $0 + $1.memtable.count })
        else { return nil }
        return IndexJob(
            frozen, [], points, nil, isOldest: runs.isEmpty, numbers: numbers, in: store)
    }

    /// A job that merges the newest runs into one, if there are enough of similar size.
    package mutating func mergeJob() -> IndexJob? {
        let count = MergePolicy.runs.countToMerge(runs.count) { runs[$0].bytes }
        return count > 1 ? mergeJob(newest: count) : nil
    }

    /// A job that merges all runs into one, so that nothing is left that no point needs.
    package mutating func fullMergeJob() -> IndexJob? {
        runs.isEmpty ? nil : mergeJob(newest: runs.count)
    }

    /// Whether there are more runs than reading should have to ask.
    package var hasTooManyRuns: Bool { runs.count > MergePolicy.runs.mostParts * 2 }

    private mutating func mergeJob(newest count: Int) -> IndexJob? {
        let inputs = Array(runs.prefix(count))
        guard let store, let numbers = reserve(entries: inputs.reduce(0) { $0 + $1.entryCount })
        else { return nil }
        return IndexJob(
            [], inputs, points, dropped, isOldest: count == runs.count, numbers: numbers,
            in: store)
    }

    /// Numbers for the tables of a job, which no other job gets; nil when none are left, which
    /// happens in no store that this code wrote.
    private mutating func reserve(entries: Int) -> Range<UInt64>? {
        let first = nextNumber
        let next = first + UInt64(IndexJob.mostTables(entries: entries))
        guard next <= TableFormat.numberLimit else { return nil }
        nextNumber = next
        return first..<next
    }

    /// Puts what a job made in the place of what it was made from. Returns the names of files that
    /// this index does not read: the old ones, or those of the job if what it was made from is no
    /// longer there.
    ///
    /// A file must stay while a description that names it may be opened, or an older copy of the
    /// index is read.
    package mutating func install(_ output: IndexJob.Output) -> [String] {
        let memtables = frozen.filter { old in output.memtables.contains { $0 === old } }
        let inputs = runs.indices.filter { place in
            output.inputs.contains { $0.identity === runs[place].identity }
        }
        guard memtables.count == output.memtables.count, inputs.count == output.inputs.count
        else { return forget(output.run.map { [$0] } ?? []) }
        frozen.removeAll { old in output.memtables.contains { $0 === old } }
        leftMemoryThrough = memtables.reduce(leftMemoryThrough) { max($0, $1.lastStamp) }
        // What was frozen since then is newer, what a checkpoint has added stands before.
        let place = inputs.first ?? 0
        runs.replaceSubrange(
            place..<place + inputs.count, with: output.run.map { [$0] } ?? [])
        movePins()
        return forget(output.inputs)
    }

    /// Where a table that is looked into lacks room in memory, those that have not been for a while
    /// make some, if that is enough for it.
    private mutating func movePins() {
        guard let cache = store?.cache else { return }
        let tables = runs.flatMap(\.tables)
        for table in tables { table.rest() }
        let room = tables.reduce(cache.pinRoom) { $0 + ($1.hasIdlePin ? $1.pinSize : 0) }
        if tables.contains(where: { $0.lacksPin && $0.pinSize <= room }) {
            runs = runs.map { $0.withPinsMoved() }
        }
    }

    private func forget(_ runs: [Run]) -> [String] {
        runs.flatMap(\.tables).map { table in
            store?.cache.remove(file: TableStore.cacheFile(table.info.number))
            return table.info.fileName
        }
    }
}
