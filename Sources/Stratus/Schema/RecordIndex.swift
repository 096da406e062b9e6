internal import StratusEngine
internal import StratusJournal
internal import StratusLanguage

/// An index on fields of a record type: with it a query finds its records without looking at all of
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
    /// The fields, system fields by the names of the schema. An index on several finds the records that
    /// have given values in all but the last, in the order of the last or by a part of it.
    public var fields: [String]
    /// What it serves, of the last field. One of numbers or dates serves both.
    public var options: Set<Option>
    /// Whether no two records of a zone may have the same values in all of the fields.
    public var isUnique: Bool
    /// Whether queries use it.
    public var state: State
    let number: UInt32
}

extension RecordIndex {
    init?(_ index: FieldIndex, _ schema: Schema) {
        let fields = index.columns.compactMap { schema.columnName($0) }
        guard let type = schema.name(index.type), fields.count == index.columns.count,
            index.state != .dropped
        else { return nil }
        recordType = type
        self.fields = fields
        isUnique = index.isUnique
        state = index.state == .complete ? .complete : .building
        number = index.number
        switch index.form {
        case .hash, .cell, .digest: options = [.queryable]
        case .word: options = [.searchable]
        case .prefix: options = [.sortable]
        case .number:
            let isUser = SystemField(column: index.field)?.isUser == true
            options = isUser ? [.queryable] : [.queryable, .sortable]
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
    /// The system fields `creationDate`, `modificationDate`, `creatorUserRecordID` and
    /// `lastModifiedUserRecordID` can have one, too, those of users for equality. (Records are found by
    /// their names without.)
    ///
    /// - Returns: the index, complete.
    /// - Throws: ``StoreError`` with `invalidArguments` where the field has no values that such an index
    ///   can have, `operationCancelled` where the task was; the index is then built by the next call or
    ///   the next opening, and until then no query uses it.
    @discardableResult
    public nonisolated(nonsending) func addIndex(
        on field: String, of recordType: String, _ option: RecordIndex.Option
    ) async throws(StoreError) -> RecordIndex {
        try await add(
            IndexDeclaration(recordType: recordType, fields: [field], content: .plain(option)))
    }

    /// Declares an index on several fields that records of the type were saved with, and builds it: a
    /// query that says what all but the last are equal to finds its records in it, by a part of the
    /// last field or in the order of it.
    ///
    /// - Parameters:
    ///   - fields: 2 to 8, none of them a list, a place or an asset.
    /// - Returns: the index, complete.
    /// - Throws: as ``addIndex(on:of:_:)``.
    @discardableResult
    public nonisolated(nonsending) func addIndex(
        on fields: [String], of recordType: String
    ) async throws(StoreError) -> RecordIndex {
        guard fields.count > 1 else {
            throw StoreError(
                .invalidArguments, "an index on one field says which option it is to serve")
        }
        return try await add(
            IndexDeclaration(recordType: recordType, fields: fields, content: .combined))
    }

    /// Declares that within a zone no two records of the type have the same values in all of some
    /// fields, and builds the index that keeps it so. Strings that differ by case alone are the same, but in
    /// fields whose collation is binary. A record without a value in one of the fields may be there as often as one likes.
    ///
    /// A save that would break this fails with `constraintViolation`
    /// (``StoreError/Cause/duplicate(fields:of:)``), judged on what the whole batch leaves behind. While
    /// the index is built that is so of values of records that are in it already; a save that takes one
    /// of another record is found by the build, which fails.
    ///
    /// - Parameters:
    ///   - fields: 1 to 8, none of them a list, a place, an asset or what every save changes.
    /// - Returns: the index, complete.
    /// - Throws: as ``addIndex(on:of:_:)``; and `constraintViolation` where records have the same values
    ///   already: ``StoreError/partialErrors`` says which, the first 100, and there is no such index.
    @discardableResult
    public nonisolated(nonsending) func addUniqueIndex(
        on fields: [String], of recordType: String
    ) async throws(StoreError) -> RecordIndex {
        try await add(
            IndexDeclaration(recordType: recordType, fields: fields, content: .unique))
    }

    private nonisolated(nonsending) func add(
        _ declaration: IndexDeclaration
    ) async throws(StoreError) -> RecordIndex {
        try await answer { () async throws(EngineError) -> RecordIndex in
            let declared = try await engine().commit(declaration)
            guard case .done(let index as FieldIndex)? = declared.draft.results.first else {
                throw .refused(.internalError, "the index was not declared")
            }
            try await build(index, declared: declared.start)
            return try described(index.number)
        }
    }

    /// Removes an index. What it took is freed by and by.
    ///
    /// - Throws: ``StoreError`` with `unknownItem` where the index is not there any more.
    public nonisolated(nonsending) func removeIndex(_ index: RecordIndex) async throws(StoreError) {
        try await answer { () async throws(EngineError) in
            _ = try await engine().commit(IndexState(number: index.number, state: .dropped))
        }
    }

    /// Builds what is missing of the indexes that are declared, as after a crash.
    ///
    /// - Throws: ``StoreError`` of the first index that cannot be built, after all others are:
    ///   `constraintViolation` of one that cannot be unique, which is removed.
    public nonisolated(nonsending) func buildIndexes() async throws(StoreError) {
        try await answer { () async throws(EngineError) in
            var failure: EngineError?
            for index in reading.indexes.all where index.state == .building {
                do throws(EngineError) {
                    try await build(index)
                } catch {
                    // One that was removed meanwhile need not be built.
                    if StoreError(error).code == .unknownItem { continue }
                    failure = failure ?? error
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

    /// So many duplicates are listed.
    private static let duplicateLimit = 100

    private func described(_ number: UInt32) throws(EngineError) -> RecordIndex {
        let reading = reading
        guard let index = RecordIndex(reading.indexes.all[Int(number)], reading.schema) else {
            throw .refused(.unknownItem, "the index was removed meanwhile")
        }
        return index
    }

    /// `declared` says where the index was, if nothing was built of it yet.
    private nonisolated(nonsending) func build(
        _ index: FieldIndex, declared: JournalOffset? = nil
    ) async throws(EngineError) {
        if index.state == .complete { return }
        let zoneCount = reading.zoneCount
        var duplicates: [StoreError] = []
        var duplicateCount = 0
        for zone in 0..<zoneCount {
            var next: RecordPage.Cursor? = RecordPage.Cursor(zone: zone + 1, high: 0, low: 0)
            while let cursor = next {
                if Task.isCancelled { throw .cancelled }
                let step = try await engine().commit(
                    IndexBuild(index: index, declared: declared, start: cursor))
                guard case .done(let end as IndexBuild.End)? = step.draft.results.first else {
                    throw .refused(.internalError, "the index was not built")
                }
                next = end.next
                duplicateCount += end.duplicates.count
                duplicates += end.duplicates.prefix(Self.duplicateLimit - duplicates.count)
            }
        }
        guard duplicates.isEmpty else {
            _ = try await engine().commit(IndexState(number: index.number, state: .dropped))
            throw .refused(
                .notUnique(reading.columns(of: index.number), duplicates, duplicateCount))
        }
        _ = try await engine().commit(IndexState(number: index.number, state: .complete))
    }
}
