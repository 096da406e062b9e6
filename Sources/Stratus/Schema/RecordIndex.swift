internal import StratusEngine

/// An index on a field of a record type: with it a query finds its records without looking at all of
/// the type.
public struct RecordIndex: Hashable, Sendable {
    /// What an index serves, by the names of CloudKit's schema language.
    public enum Option: String, Sendable, Hashable, CaseIterable {
        /// Equality, `IN`, the membership of lists, and how far places are from a point.
        case queryable = "QUERYABLE"
        /// Order: `<`, `BETWEEN`, `BEGINSWITH` and sorting.
        case sortable = "SORTABLE"
        /// The words of texts.
        case searchable = "SEARCHABLE"
    }

    /// Whether queries use it.
    public enum State: String, Sendable, Hashable {
        /// Not yet: not all records are in it.
        case building
        /// All records are in it.
        case complete
    }

    /// The type of the records.
    public var recordType: String
    /// The field.
    public var field: String
    /// What it serves. One of numbers or dates serves both.
    public var options: Set<Option>
    /// Whether queries use it.
    public var state: State
    let number: UInt32
}

extension RecordIndex {
    init?(_ index: FieldIndex, _ schema: Schema) {
        guard let type = schema.name(index.type), let field = schema.name(index.field),
            index.state != .dropped
        else { return nil }
        recordType = type
        self.field = field
        state = index.state == .complete ? .complete : .building
        number = index.number
        switch index.form {
        case .hash, .cell: options = [.queryable]
        case .word: options = [.searchable]
        case .prefix: options = [.sortable]
        case .number: options = [.queryable, .sortable]
        }
    }
}

extension Container {
    /// The indexes that are declared, in the order in which they were.
    public nonisolated(nonsending) func indexes() async throws(StoreError) -> [RecordIndex] {
        let reading = reading
        return reading.indexes.all.compactMap { RecordIndex($0, reading.schema) }
    }

    /// Declares an index on a field that records of the type were saved with, and builds it: a few
    /// records at a time, while others save. Where it is there already, only what is missing is built.
    ///
    /// - Returns: the index, complete.
    /// - Throws: ``StoreError`` with `invalidArguments` where the field has no values that such an index
    ///   can have, `operationCancelled` where the task was; the index is then built by the next call or
    ///   the next opening, and until then no query uses it.
    @discardableResult
    public nonisolated(nonsending) func addIndex(
        on field: String, of recordType: String, _ option: RecordIndex.Option
    ) async throws(StoreError) -> RecordIndex {
        try await answering { () async throws(EngineError) -> RecordIndex in
            let declared = try await engine().commit(
                IndexDeclaration(recordType: recordType, field: field, option: option))
            guard case .done(let index as FieldIndex)? = declared.draft.results.first else {
                throw .refused(.internalError, "the index was not declared")
            }
            try await build(index)
            return try described(index.number)
        }
    }

    /// Removes an index. What it took is freed by and by.
    ///
    /// - Throws: ``StoreError`` with `unknownItem` where the index is not there any more.
    public nonisolated(nonsending) func removeIndex(_ index: RecordIndex) async throws(StoreError) {
        try await answering { () async throws(EngineError) in
            _ = try await engine().commit(IndexState(number: index.number, state: .dropped))
        }
    }

    /// Builds what is missing of the indexes that are declared, as after a crash.
    ///
    /// - Throws: ``StoreError`` of the first index that cannot be built, after all others are.
    public nonisolated(nonsending) func buildIndexes() async throws(StoreError) {
        try await answering { () async throws(EngineError) in
            var failure: EngineError?
            for index in reading.indexes.all where index.state == .building {
                do throws(EngineError) {
                    try await build(index)
                } catch {
                    // One that was removed meanwhile need not be built.
                    if reading.indexes.isKept(index.number) { failure = failure ?? error }
                }
            }
            if let failure { throw failure }
        }
    }

    /// Builds on what a death left unfinished, as a task of its own, which ends with the container.
    func resumeIndexes() {
        guard reading.indexes.all.contains(where: { $0.state == .building }) else { return }
        Task.detached(priority: .background) { [self] in try? await buildIndexes() }
    }

    private func described(_ number: UInt32) throws(EngineError) -> RecordIndex {
        let reading = reading
        guard let index = RecordIndex(reading.indexes.all[Int(number)], reading.schema) else {
            throw .refused(.unknownItem, "the index was removed meanwhile")
        }
        return index
    }

    private nonisolated(nonsending) func build(_ index: FieldIndex) async throws(EngineError) {
        if index.state == .complete { return }
        let zoneCount = reading.zoneCount
        for zone in 0..<zoneCount {
            var next: RecordPage.Cursor? = RecordPage.Cursor(zone: zone + 1, high: 0, low: 0)
            while let cursor = next {
                if Task.isCancelled { throw .cancelled }
                let step = try await engine().commit(IndexBuild(index: index, start: cursor))
                guard case .done(let end as IndexBuild.End)? = step.draft.results.first else {
                    throw .refused(.internalError, "the index was not built")
                }
                next = end.next
            }
        }
        _ = try await engine().commit(IndexState(number: index.number, state: .complete))
    }
}
