internal import StratusEngine
package import StratusLanguage

extension Container {
    /// The type of the values of a field, as CloudKit's schema language names it, a list as Web
    /// Services do (`STRING_LIST`), without the `ENCRYPTED` of an encrypted field; nil where no value of
    /// it was saved yet.
    package func fieldType(_ field: String, of type: String) -> String? {
        let schema = reading.schema
        guard let type = schema.number(type), let field = schema.number(field) else { return nil }
        return schema.kind(of: Schema.Column(type: type, field: field))?.unencrypted.name
    }

    /// The schema as text in CloudKit's schema language: what was imported last, with the types and
    /// fields that saves have made since, and the indexes that there are.
    public nonisolated(nonsending) func schema() async throws(StoreError) -> String {
        try await schemaDocument().text
    }

    /// The same as data, in the order of CloudKit's exports.
    package nonisolated(nonsending) func schemaDocument() async throws(StoreError) -> SchemaDocument
    {
        try await answer { () async throws(EngineError) -> SchemaDocument in
            try await read { reading throws(EngineError) in try reading.schemaDocument().sorted() }
        }
    }

    /// Makes the schema of a store of the development environment what a text says: types and fields are
    /// made, indexes declared and built, or removed. Roles and grants are kept.
    ///
    /// What CloudKit cannot say stands in comments: `// stratus: INDEX name ON Type (field, field)` is an
    /// index on several fields, and `// stratus: UNIQUE name ON Type (field)`, or `// stratus: UNIQUE` at
    /// the end of a field's line, a unique one.
    ///
    /// - Returns: what was changed, a line each; empty where the schema was that already.
    /// - Throws: ``StoreError`` with `invalidArguments`, and nothing is changed, where the text is no
    ///   schema, with line and column; where a type or a field would go, or have another kind; and in
    ///   the production environment. With `constraintViolation` where records have the same values
    ///   under an index that is to be unique: all else is changed then.
    @discardableResult
    public nonisolated(nonsending) func importSchema(
        _ text: String
    ) async throws(StoreError) -> [String] {
        guard environment == .development else {
            throw StoreError(
                .invalidArguments, "the schema of a store of production is deployed, not imported")
        }
        return try await setSchema(text, .development)
    }

    /// The same of either environment, from the schema of another store: types, fields, indexes and
    /// grants are added or changed, and nothing goes.
    ///
    /// - Returns: as ``importSchema(_:)``.
    /// - Throws: ``StoreError`` with `invalidArguments`, and nothing is changed, where the text is no
    ///   schema, with line and column; and where a type, a field or a role would go or be changed.
    @discardableResult
    public nonisolated(nonsending) func deploySchema(
        _ text: String
    ) async throws(StoreError) -> [String] {
        try await setSchema(text, .production)
    }

    /// Deletes all zones of all databases of a store of the development environment, with their records, and
    /// forgets its schema: types, fields with their kinds, indexes, roles and grants. One commit.
    ///
    /// Feeds report the zones as deleted. Users, subscriptions and devices stay, and so does the past as far
    /// as the store keeps it.
    ///
    /// - Throws: ``StoreError`` with `invalidArguments` in the production environment, of which nothing is
    ///   ever reset.
    public nonisolated(nonsending) func resetSchema() async throws(StoreError) {
        guard environment == .development else {
            throw StoreError(.invalidArguments, "a store of production is not reset")
        }
        try await answer { () async throws(EngineError) in
            _ = try await engine().commit(SchemaReset())
        }
    }

    /// Says how the strings of a field are compared, and builds the indexes on it anew, as the line
    /// `// stratus: COLLATION BINARY ON Type (field)` of a schema does. Live queries go by it from the next change
    /// of a record on.
    ///
    /// - Throws: ``StoreError`` with `invalidArguments` where the type has no such field of strings, or it is
    ///   encrypted; `constraintViolation` where records have the same values under an index that is to be
    ///   unique, which is removed.
    public nonisolated(nonsending) func setCollation(
        _ collation: RecordType.Collation, of field: String, ofRecordType recordType: String
    ) async throws(StoreError) {
        try await answer { () async throws(EngineError) in
            _ = try await engine().commit(
                CollationChange(
                    recordType: recordType, field: field, isBinary: collation == .binary))
        }
        try await buildIndexes()
    }

    /// Fails where a text is no schema that could be imported.
    ///
    /// - Throws: ``StoreError`` with `invalidArguments` and line and column of what is wrong first.
    public static func validateSchema(_ text: String) throws(StoreError) {
        _ = try schemaDocument(text)
    }

    private nonisolated(nonsending) func setSchema(
        _ text: String, _ environment: SchemaDocument.Environment
    ) async throws(StoreError) -> [String] {
        let document = try Self.schemaDocument(text)
        let changes = try await answer { () async throws(EngineError) -> [String] in
            let change = SchemaImport(document: document, environment: environment)
            let committed = try await engine().commit(change)
            guard case .done(let changes as [String])? = committed.draft.results.first else {
                throw .refused(.internalError, "the schema was not changed")
            }
            return changes
        }
        try await buildIndexes()
        return changes
    }

    private static func schemaDocument(_ text: String) throws(StoreError) -> SchemaDocument {
        let document: SchemaDocument
        do throws(SchemaSyntaxError) {
            document = try SchemaDocument(parsing: text)
        } catch {
            throw Self.invalidSchema("\(error)", at: error.place)
        }
        if let finding = document.validate().first(where: { $0.severity == .error }) {
            throw Self.invalidSchema("\(finding)", at: finding.place)
        }
        return document
    }

    private static func invalidSchema(_ reason: String, at place: SchemaPlace?) -> StoreError {
        var error = StoreError(.invalidArguments, "the schema is not valid: \(reason)")
        error.textPlace = place.map { StoreError.TextPlace(line: $0.line, column: $0.column) }
        return error
    }
}
