internal import StratusIndex
internal import StratusJournal
internal import StratusEngine

/// Finds the numbers of users, zones, types and fields, and assigns new ones.
///
/// Only a serial context assigns; in any other a missing number means that the transaction must be
/// prepared in one. What is assigned is written at the head of the same commit.
struct NumberAssignment {
    private let reading: StoreReading
    private let context: PreparationContext
    private let environment: Container.Environment
    private let indexing: Profile.Indexing
    private var newUsers: [UserEntry] = []
    private var newZone: ZoneEntry?
    private var shareCount: UInt32 = 0
    private var addition: SchemaAddition
    private var newNumbers: [String: UInt32] = [:]
    /// What the entry with the new names and columns takes, in bytes, at most.
    private var newLength = SchemaAddition.countsLength
    private var newColumns: [Schema.Column: FieldKind] = [:]
    /// Whether a number, or the kind of a field, is missing and the context may not assign it.
    private(set) var isIncomplete = false

    init(
        _ reading: StoreReading, _ context: PreparationContext,
        _ environment: Container.Environment = .development,
        _ indexing: Profile.Indexing = .declared
    ) {
        self.environment = environment
        self.indexing = indexing
        self.reading = reading
        self.context = context
        addition = SchemaAddition(firstNumber: UInt32(reading.schema.nameCount))
    }

    /// Of a user that the host gave as `name`. Nil where there is none; so are the others.
    mutating func user(_ user: UserID, name: String = "") throws(EngineError) -> UInt32? {
        if let number = try reading.user(user) { return number }
        if let new = newUsers.first(where: { $0.bits == user.bits }) { return new.number }
        guard context.isSerial else {
            isIncomplete = true
            return nil
        }
        let number = reading.userCount + 1 + UInt32(newUsers.count)
        newUsers.append(
            UserEntry(number: number, user: user, name: name, created: context.now / 1000))
        return number
    }

    /// The numbers of the caller and of the database that a zone lies in.
    mutating func caller(
        _ caller: UserID, name: String, in scope: DatabaseScope, _ zone: RecordZone.ID
    ) throws(EngineError) -> (user: UInt32?, database: UInt32?) {
        let number = try user(caller, name: name)
        switch scope {
        case .public: return (number, 0)
        case .private(let owner): return (number, owner == caller ? number : try user(owner))
        case .shared:
            guard let database = try reading.database(of: zone, in: scope) else {
                throw .refused(.zoneNotFound(zone))
            }
            return (number, database)
        }
    }

    /// Of a share that is made now: shares have the numbers of zones.
    mutating func newShare() -> UInt32? {
        guard context.isSerial else {
            isIncomplete = true
            return nil
        }
        shareCount += 1
        return reading.zoneCount + (newZone == nil ? 0 : 1) + shareCount
    }

    /// Microseconds since 1970.
    var now: Int64 { context.now }

    /// The zone, which must be there; the default zone is made when it is first needed, and so is
    /// any other where the caller says `orMade`.
    mutating func zone(
        _ id: RecordZone.ID, in database: UInt32?, orMade: Bool = false,
        of lineage: ZoneLineage? = nil, _ draft: inout Draft
    ) throws(EngineError) -> ZonePlace? {
        let isMade = id.isDefault || orMade
        if let database {
            let key = IndexKey.zone(database, reading.hash(id.zoneName))
            let value = try reading.value(key)
            draft.readSet.append(key)
            let place = try ZonePlace.decoded(value)
            if let place, place.isAlive {
                // A restore has made it meanwhile.
                guard lineage == nil else { throw .refused(.overtakenRestore) }
                return place
            }
            if !isMade { throw .refused(.noZone(id, place)) }
        }
        guard isMade else { throw .refused(.zoneNotFound(id)) }
        guard context.isSerial, let database else {
            isIncomplete = true
            return nil
        }
        precondition(shareCount == 0, "a zone is made before its shares")
        var zone = try ZoneEntry(newZone: id, number: reading.zoneCount + 1, in: database)
        zone.lineage = lineage
        newZone = zone
        return ZonePlace(zone, at: .zero)
    }

    mutating func type(_ name: String) throws(EngineError) -> UInt32? {
        let known = reading.schema.number(name)
        // Users are in every schema.
        if environment == .production, name != Record.userRecordType,
            known.map(reading.schema.mayBeType) != true
        {
            guard NameRules.isRecordType(name) else { throw .refused(.badName) }
            throw .refused(
                .invalidArguments, "cannot create new type '\(name)' in production schema")
        }
        if let known { return known }
        guard NameRules.isRecordType(name) else { throw .refused(.badName) }
        return try number(of: name)
    }

    mutating func field(_ name: String, ofType type: String) throws(EngineError) -> UInt32? {
        // A name that has a number is one of a field, or of those of shares.
        let isKnown = reading.schema.number(name) != nil && !NameRules.isShareField(name)
        guard isKnown || NameRules.isField(name, ofType: type) else { throw .refused(.badName) }
        if environment == .production, reading.schema.number(name) == nil {
            throw .refused(.frozen(name))
        }
        return try number(of: name)
    }

    private mutating func number(of name: String) throws(EngineError) -> UInt32? {
        if let number = reading.schema.number(name) ?? newNumbers[name] { return number }
        guard context.isSerial else {
            isIncomplete = true
            return nil
        }
        let number = addition.firstNumber + UInt32(addition.names.count)
        guard number < Schema.nameLimit else {
            throw .refused(
                .limitExceeded, "a store has at most 65,536 names of types and fields")
        }
        try grow(by: SchemaAddition.lengthOf(name))
        addition.names.append(name)
        newNumbers[name] = number
        return number
    }

    /// All that is new stands in one entry.
    private mutating func grow(by length: Int) throws(EngineError) {
        guard newLength + length <= context.payloadLimit else {
            throw .refused(
                .limitExceeded,
                "the new names and fields of a call take more than \(context.payloadLimit) bytes")
        }
        newLength += length
    }

    /// The number of a field that is to be removed, where it ever had one.
    func known(_ field: String, ofType type: String) throws(EngineError) -> UInt32? {
        guard NameRules.isField(field, ofType: type) else { throw .refused(.badName) }
        if NameRules.isReserved(field) { throw .refused(.reservedName) }
        return reading.schema.number(field)
    }

    /// Checks what a save says of type and fields, and assigns nothing.
    func check(
        _ record: Record, _ policy: SavePolicy, isInsert: Bool, of batch: RecordBatch
    ) throws(EngineError) {
        guard NameRules.isRecordType(record.recordType) else { throw .refused(.badName) }
        for edit in record.edits.all {
            _ = try known(edit.key, ofType: record.recordType)
        }
        var numbers = self
        try numbers.assign(record, policy, isInsert: isInsert, of: batch)
    }

    /// Makes sure that a field may hold a value of `kind`: the first save fixes it.
    mutating func fix(
        _ kind: FieldKind, of column: Schema.Column, _ name: String
    ) throws(EngineError) {
        let known = reading.schema.kind(of: column) ?? newColumns[column]
        if let known {
            let isEmptyOfKnown =
                kind.element == nil && known.isList && kind.isEncrypted == known.isEncrypted
            guard kind == known || isEmptyOfKnown else {
                throw .refused(
                    .invalidArguments,
                    "invalid attempt to set value type \(kind.name) for field '\(name)', "
                        + "defined to be: \(known.name)")
            }
            return
        }
        if NameRules.isReserved(name) { throw .refused(.reservedName) }
        if environment == .production { throw .refused(.frozen(name)) }
        // An empty list does not say what its elements are.
        if kind.element == nil { return }
        guard context.isSerial else {
            isIncomplete = true
            return
        }
        try add(kind, of: column)
    }

    /// Gives a field another kind than it has, or none any more; its strings are folded then.
    mutating func replace(
        _ column: Schema.Column, by kind: FieldKind?
    ) throws(EngineError) {
        if reading.schema.kind(of: column) != nil {
            try grow(by: SchemaAddition.columnLength)
            addition.columns.append((column, nil))
        }
        if let kind { try add(kind, of: column) }
    }

    /// Says how the strings of a field are compared that has a kind, or gets one here.
    mutating func compare(
        _ column: Schema.Column, byBytes isBinary: Bool
    ) throws(EngineError) {
        if newColumns[column] == nil {
            let schema = reading.schema
            if isBinary == schema.binaryColumns.contains(column) { return }
            try replace(column, by: schema.kind(of: column))
        }
        if isBinary { addition.binaryColumns.insert(column) }
    }

    private mutating func add(
        _ kind: FieldKind, of column: Schema.Column
    ) throws(EngineError) {
        guard reading.schema.columnCount + newColumns.count < Schema.columnLimit else {
            throw .refused(.limitExceeded, "a store has at most 1,048,576 fields of types")
        }
        try grow(by: SchemaAddition.columnLength)
        addition.columns.append((column, kind))
        newColumns[column] = kind
    }

    /// Assigns all that a save needs, or nothing where it cannot be done.
    mutating func assign(
        _ record: Record, _ policy: SavePolicy, isInsert: Bool, of batch: RecordBatch
    ) throws(EngineError) {
        let before = (addition, newLength, newColumns)
        do throws(EngineError) {
            let type = try type(record.recordType)
            let sent = record.sent(policy, isInsert: isInsert)
            for edit in sent.sorted(by: { $0.key < $1.key }) {
                guard let value = edit.value else { continue }
                let kind = try batch.kind(of: edit, value)
                guard let field = try field(edit.key, ofType: record.recordType), let type else {
                    continue
                }
                try fix(kind, of: Schema.Column(type: type, field: field), edit.key)
            }
        } catch {
            for name in addition.names.dropFirst(before.0.names.count) { newNumbers[name] = nil }
            (addition, newLength, newColumns) = before
            throw error
        }
    }

    /// Assigns what an item of a restored zone needs beside its fields.
    mutating func assign(_ item: ZoneHistory.Item) throws(EngineError) {
        _ = try user(item.creator.id, name: item.creator.name)
        _ = try user(item.modifier.id, name: item.modifier.name)
        if let type = item.deletedType { _ = try self.type(type) }
    }

    /// Writes what was assigned since the last call, and makes `draft` know the names.
    mutating func write(to draft: inout Draft) throws(EngineError) {
        for user in newUsers { try draft.buffer.add(.user) { user.write(to: &$0) } }
        if let newZone {
            try draft.buffer.add(.zone, zone: newZone.number) { newZone.write(to: &$0) }
        }
        if !addition.isEmpty {
            let addition = addition
            try draft.buffer.add(.names, limit: context.payloadLimit) {
                addition.write(to: &$0)
            }
            // Where the entry will lie is not known yet, and no draft needs it.
            draft.schema = reading.schema.adding(addition, at: .zero)
            if indexing == .service { try declareIndexes(&draft) }
        }
    }

    /// Declares all indexes that the new fields can have. One of a type that is new as well is complete:
    /// it has no records but those of the commit.
    private func declareIndexes(_ draft: inout Draft) throws(EngineError) {
        for (column, kind) in addition.kinds {
            guard draft.schema.name(column.type).map(NameRules.isTypeName) == true else { continue }
            var forms: [FieldIndex.Form] = []
            for option in RecordIndex.Option.allCases {
                if let form = option.form(kind, of: column.field), !forms.contains(form) {
                    forms.append(form)
                }
            }
            let isNew = column.type >= addition.firstNumber
            for form in forms where draft.indexes.all.count < IndexTable.limit {
                let index = FieldIndex(
                    number: 0, type: column.type, field: column.field, form: form,
                    state: isNew ? .complete : .building)
                if draft.indexes.of(type: column.type).contains(where: { $0.isLike(index) }) {
                    continue
                }
                try draft.declare(index)
                if !isNew { draft.buildsIndexes = true }
            }
        }
    }
}

extension StoreError {
    static let badName = StoreError(
        .invalidArguments,
        "the name of a type or field is letters, digits and _, beginning with a letter")
    static let reservedName = StoreError(
        .invalidArguments, "a field cannot be named like a property of the record")

    static func frozen(_ field: String) -> StoreError {
        StoreError(
            .invalidArguments, "cannot create or modify field '\(field)' in production schema")
    }

    static func zoneNotFound(_ id: RecordZone.ID) -> StoreError {
        StoreError(.zoneNotFound, "there is no such zone").with(id)
    }

    /// Of an archive of other zones.
    static func zoneNotSelected(_ id: RecordZone.ID) -> StoreError {
        StoreError(
            .zoneNotFound, "the archive was made without this zone, and says nothing of it"
        ).with(id)
    }

    /// Why a zone is not there, of which the index says `place`.
    static func noZone(_ id: RecordZone.ID, _ place: ZonePlace?) -> StoreError {
        guard place?.state == .purged, !id.isDefault else { return zoneNotFound(id) }
        return StoreError(
            .userDeletedZone, "the zone was removed with all that the user had"
        ).with(id)
    }
}
