internal import StratusEngine
internal import StratusIndex
internal import StratusLanguage

/// A step from the fields that records of a type have to those that they are to have. A step that was
/// made already has nothing to do, so the steps of all releases can stand one after the other.
public struct FieldMigration: Sendable {
    /// Gives a field's value, of another type, for the one that it has; nil: the field goes.
    public typealias Conversion = @Sendable (RecordValue) throws -> RecordValue?

    enum Step: Sendable {
        case add(String, Record.FieldType, value: RecordValue?)
        case rename(String, to: String)
        case change(String, to: Record.FieldType, Conversion)
    }

    let step: Step

    /// A new field. Where the type has it already, nothing is done.
    ///
    /// - Parameter value: what records have in it that are there already and lack it; nil: nothing.
    public static func add(
        _ field: String, _ type: Record.FieldType, value: RecordValue? = nil
    ) -> FieldMigration {
        FieldMigration(step: .add(field, type, value: value))
    }

    /// Another name for a field, in records, indexes and the schema. Where a record has a value under
    /// both names, that of the new one stays.
    public static func rename(_ field: String, to name: String) -> FieldMigration {
        FieldMigration(step: .rename(field, to: name))
    }

    /// Another type for a field. `convert` gives the new value of each record that has a value of
    /// another type; it may be asked twice for one record.
    public static func change(
        _ field: String, to type: Record.FieldType, _ convert: @escaping Conversion
    ) -> FieldMigration {
        FieldMigration(step: .change(field, to: type, convert))
    }
}

extension Container {
    /// Changes the fields of a record type, and then those of all records of the type in all databases, a
    /// few at a time, while others read and save.
    ///
    /// One commit changes the schema; from then on saves bring the new names and types, and those that
    /// bring an old type fail. Indexes go along with a field that is renamed; of a field whose type is
    /// changed those stay that the new type can have. Then each record that has to be changed is saved once
    /// more by the host, without validators and triggers: it gets a new change tag, and feeds report it. A
    /// record that is not saved yet is read as it was, and queries for the new field do not find it:
    /// ``RecordType/migratingFields`` says of which fields this may be so.
    ///
    /// What a crash or an error leaves undone the next call does: call it at each start, after opening.
    /// Where all is done it only reads the schema.
    ///
    /// - Parameters:
    ///   - steps: in their order, each of what the one before leaves behind.
    ///   - user: whose name the changes bear.
    /// - Returns: how many records were changed.
    /// - Throws: ``StoreError`` with `invalidArguments`, and nothing is changed, where a step adds a field
    ///   that has another type, or renames one to such a field, and in the production environment, where
    ///   fields are only ever added, by ``deploySchema(_:)``. With `invalidArguments` and the record
    ///   where a conversion fails or gives a value of a wrong type, `operationCancelled`, and what saves
    ///   say of a record: then the records before it are changed. With `constraintViolation` where
    ///   records have the same values under an index that is to be unique: all else is done then.
    @discardableResult
    public nonisolated(nonsending) func migrate(
        _ recordType: String, _ steps: [FieldMigration], asHost user: String
    ) async throws(StoreError) -> Int {
        guard environment == .development else {
            throw StoreError(
                .invalidArguments, "the fields of a store of production are only ever added")
        }
        let steps = try MigrationSteps(steps.map(\.step))
        let mustChangeRecords = try await answer { () async throws(EngineError) -> Bool in
            let start = MigrationStart(recordType: recordType, steps: steps)
            let committed = try await engine().commit(start)
            guard case .done(let isNeeded as Bool)? = committed.draft.results.first else {
                throw .refused(.internalError, "the schema was not changed")
            }
            return isNeeded
        }
        var count = 0
        if mustChangeRecords {
            let records = RecordMigration(recordType: recordType, steps: steps)
            // Records may be moved to where they were looked for, and others be saved meanwhile.
            var pass: (found: Int, saved: Int)
            repeat {
                pass = try await change(records, asHost: user)
                count += pass.saved
            } while pass.found > 0
            try await answer { () async throws(EngineError) in
                _ = try await engine().commit(MigrationEnd(recordType: recordType))
            }
        }
        try await buildIndexes()
        return count
    }

    /// Looks at all records of the type once. Says how many had to be changed, and how many of these were;
    /// others were saved by someone else at that moment.
    private nonisolated(nonsending) func change(
        _ migration: RecordMigration, asHost user: String
    ) async throws(StoreError) -> (found: Int, saved: Int) {
        var (found, saved) = (0, 0)
        for number in 0..<reading.zoneCount {
            guard let (database, zone) = try await zone(number + 1, asHost: user) else { continue }
            var cursor: RecordPage.Cursor?
            repeat {
                if Task.isCancelled { throw StoreError(EngineError.cancelled) }
                let page: RecordPage
                do throws(StoreError) {
                    page = try await database.records(
                        inZoneWith: zone, type: migration.recordType,
                        resultsLimit: RecordMigration.pageLimit, from: cursor)
                } catch {
                    guard error.isOfNoZone else { throw error }
                    break
                }
                var changed: [Record] = []
                for record in page.records {
                    if let record = try migration.changed(record) { changed.append(record) }
                }
                found += changed.count
                saved += try await database.rewrite(changed, migration)
                cursor = page.cursor
            } while cursor != nil
        }
        return (found, saved)
    }

    /// A zone that is alive, with its database; nil where that number is of no such zone.
    private nonisolated(nonsending) func zone(
        _ number: UInt32, asHost user: String
    ) async throws(StoreError) -> (Database, RecordZone.ID)? {
        let found = try await answer {
            () async throws(EngineError) -> (DatabaseScope, RecordZone.ID)? in
            try await read { reading throws(EngineError) in
                guard let zone = try reading.zone(number), zone.isAlive else { return nil }
                let id = RecordZone.ID(zoneName: try reading.zoneEntry(zone).name)
                guard zone.database > 0 else { return (.public, id) }
                guard let owner = try reading.user(zone.database) else {
                    throw reading.damaged(at: reading.head)
                }
                return (.private(owner: owner), id)
            }
        }
        guard let (scope, id) = found else { return nil }
        let database = Database(
            container: self, scope: scope, principal: host(user), userName: user, device: nil)
        return (database, id)
    }
}

extension Database {
    /// Saves records of one zone as a migration has changed them. Where others save one of them at that
    /// moment, all are fetched and saved once more, each by itself. Returns how many were saved.
    fileprivate nonisolated(nonsending) func rewrite(
        _ changed: [Record], _ migration: RecordMigration
    ) async throws(StoreError) -> Int {
        if try await rewrite(changed) { return changed.count }
        var count = 0
        for record in changed {
            guard let found = try await self.records(for: [record.recordID])[record.recordID],
                let newest = try? found.get(), newest.recordType == migration.recordType,
                let newer = try migration.changed(newest)
            else { continue }
            if try await rewrite([newer]) { count += 1 }
        }
        return count
    }

    /// Saves records of one zone that were fetched, in one commit, as a restore does. Returns whether
    /// that was possible: otherwise others have changed one of them meanwhile.
    fileprivate nonisolated(nonsending) func rewrite(
        _ records: [Record]
    ) async throws(StoreError) -> Bool {
        if records.isEmpty { return true }
        let items = Self.items(saving: records, deleting: [], .ifServerRecordUnchanged)
        let options = RecordCall.Options(isAtomic: true, isRestore: true)
        let outcomes = try await answering { () async throws(EngineError) -> RecordCall.Outcomes in
            try await run(RecordCall(items, options, of: self), nil)
        }
        for outcome in outcomes {
            guard case .failure(let error) = outcome, error.code != .batchRequestFailed else {
                continue
            }
            guard error.isConflict || error.isOfNoZone else { throw error }
            return false
        }
        return true
    }
}

/// The steps of a migration, in their order.
struct MigrationSteps: Sendable {
    struct Placed: Sendable {
        let step: FieldMigration.Step
        /// The names and the types that its field gets by the steps behind it.
        var laterNames: [String] = []
        var laterTypes: [Record.FieldType] = []

        init(_ step: FieldMigration.Step, before others: ArraySlice<FieldMigration.Step>) {
            self.step = step
            var current = step.field
            if case .rename(_, let name) = step { current = name }
            for other in others where other.field == current {
                switch other {
                case .rename(_, let name):
                    current = name
                    laterNames.append(name)
                case .change(_, let type, _): laterTypes.append(type)
                case .add: continue
                }
            }
        }
    }

    let all: [Placed]

    /// - Throws: ``StoreError`` with `invalidArguments` where a name is used again that a field was renamed
    ///   from, or a field gets a type again that it had: a record would not show which steps were made.
    init(_ steps: [FieldMigration.Step]) throws(StoreError) {
        all = steps.indices.map { Placed(steps[$0], before: steps[($0 + 1)...]) }
        var former: Set<String> = []
        for placed in all {
            var used = [placed.step.field]
            if case .rename(_, let name) = placed.step { used.append(name) }
            if let name = used.first(where: { former.contains($0) }) { throw Self.repeated(name) }
            if case .rename(let field, let name) = placed.step {
                if name == field { throw Self.repeated(name) }
                former.insert(field)
            }
            let types = [placed.step.type].compactMap { $0 } + placed.laterTypes
            guard Set(types).count == types.count else {
                throw StoreError(
                    .invalidArguments,
                    "the steps of a migration give field '\(placed.step.field)' one type twice")
            }
        }
    }

    private static func repeated(_ name: String) -> StoreError {
        StoreError(
            .invalidArguments,
            "a step of a migration uses the name '\(name)', from which a field was renamed")
    }
}

extension FieldMigration.Step {
    /// The field as it is named before the step.
    fileprivate var field: String {
        switch self {
        case .add(let field, _, _), .rename(let field, _), .change(let field, _, _): field
        }
    }

    /// That which the step gives the field.
    fileprivate var type: Record.FieldType? {
        switch self {
        case .add(_, let type, _), .change(_, let type, _): type
        case .rename: nil
        }
    }
}

/// What a migration makes of each record.
private struct RecordMigration {
    /// So many records are looked at and saved at once.
    static let pageLimit = 200

    let recordType: String
    let steps: MigrationSteps

    /// The record as it is to be; nil where it is so already.
    func changed(_ record: Record) throws(StoreError) -> Record? {
        var record = record
        for placed in steps.all {
            switch placed.step {
            case .add(let field, let type, let value):
                let names = [field] + placed.laterNames
                guard let value, names.allSatisfy({ record[$0] == nil }) else { continue }
                record.replace(field, by: value, isEncrypted: type.isEncrypted)
            case .rename(let field, let name):
                guard let value = record[field] else { continue }
                if record[name] == nil {
                    record.replace(name, by: value, isEncrypted: record.isEncrypted(field))
                }
                record.removeValue(forKey: field)
            case .change(let field, let type, let convert):
                guard let value = record[field] else { continue }
                let isEncrypted = record.isEncrypted(field)
                let types = [type] + placed.laterTypes
                if types.contains(where: { $0.isType(of: value, isEncrypted: isEncrypted) }) {
                    continue
                }
                if let new = try converted(value, of: field, in: record, to: type, convert) {
                    record.replace(field, by: new, isEncrypted: type.isEncrypted)
                } else {
                    record.removeValue(forKey: field)
                }
            }
        }
        return record.changedKeys.isEmpty ? nil : record
    }

    private func converted(
        _ value: RecordValue, of field: String, in record: Record, to type: Record.FieldType,
        _ convert: FieldMigration.Conversion
    ) throws(StoreError) -> RecordValue? {
        let new: RecordValue?
        do {
            new = try convert(value)
        } catch {
            throw StoreError(
                .invalidArguments, "the value of field '\(field)' cannot be converted: \(error)"
            ).with(record.recordID)
        }
        guard let new else { return nil }
        guard type.isType(of: new, isEncrypted: type.isEncrypted) else {
            throw StoreError(
                .invalidArguments,
                "the value that field '\(field)' is converted to is expected to be of type \(type)"
            ).with(record.recordID)
        }
        return new
    }
}

extension Record.FieldType {
    /// Whether a field of this type can have a value. An empty list is one of any list.
    fileprivate func isType(of value: RecordValue, isEncrypted: Bool) -> Bool {
        guard isEncrypted == self.isEncrypted, let kind,
            let valueKind = try? ValueFormat.kind(of: value)
        else { return false }
        return valueKind == kind.unencrypted || valueKind.element == nil && isList
    }
}
