internal import FoundationEssentials
internal import StratusBytes
internal import StratusEngine
internal import StratusJournal
internal import StratusLanguage

/// A query that was checked, ready to test records.
struct QueryPlan: Sendable {
    let recordType: String
    /// The number of the type; nil where no record of it was ever saved.
    let type: UInt32?
    /// Of the query, its zone and its caller: what a cursor is good for.
    let identity: UInt64
    /// Whether the records come in an order other than the store's own.
    var isSorted: Bool { !sorting.isEmpty }

    private let predicate: RecordPredicate
    private let evaluator: PredicateEvaluator
    private let sorting: [Sorting]
    private let searchableFields: [String]

    private struct Sorting: Sendable {
        var field: String
        var ascending: Bool
        /// Of its strings.
        var equality: TextEquality
        /// Where the places are sorted by their distance from a point.
        var circle: GreatCircle?
    }

    /// Fails as ``Database/records(matching:inZoneWith:desiredKeys:resultsLimit:from:skippingDamaged:)``
    /// says.
    init(
        _ query: Query, in zone: RecordZone.ID?, of view: DatabaseView, _ profile: Profile?
    ) throws(EngineError) {
        let reading = try view.reading
        let schema = reading.schema
        guard !query.recordType.isEmpty else {
            throw .refused(.invalidArguments, "a query needs a record type")
        }
        guard query.recordType != Record.userRecordType else {
            throw .refused(.invalidArguments, "records of the type Users cannot be queried")
        }
        recordType = query.recordType
        type = schema.number(query.recordType)
        let isMarked = profile?.indexing == .service
        if isMarked || reading.identity.environment == .production,
            type.map(schema.mayBeType) != true
        {
            throw .refused(.unknownItem, "Did not find record type: \(query.recordType)")
        }
        let fields = QueryFields(schema, type)
        let tree = query.predicate.tree
        predicate = tree
        do throws(UnsupportedPredicate) {
            evaluator = try PredicateEvaluator(tree, equality: fields.equality)
            if profile?.predicates == .service,
                let form = tree.firstUnsupportedByCloudKit(types: fields.type)
            {
                throw form
            }
            for (field, place) in tree.fields { try fields.checkQueryable(field, place) }
            if let error = tree.typeErrors(types: fields.type).first { throw error }
        } catch {
            throw .refused(StoreError(error))
        }
        guard query.sortDescriptors.count <= Query.sortDescriptorLimit else {
            throw .refused(
                .invalidArguments,
                "expected at most \(Query.sortDescriptorLimit) sort descriptors, found "
                    + "\(query.sortDescriptors.count)")
        }
        var sorting: [Sorting] = []
        for descriptor in query.sortDescriptors {
            sorting.append(try Self.sorting(descriptor, fields))
        }
        self.sorting = sorting
        if isMarked {
            let marked = try MarkedFields(ofType: recordType, reading)
            try marked.check(tree)
            for sorting in sorting {
                try marked.check(sortingBy: sorting.field, byDistance: sorting.circle != nil)
            }
            searchableFields = marked.searchable(fields.searchable)
        } else {
            searchableFields = fields.searchable
        }
        let named = Set(tree.fields.map(\.name)).union(sorting.map(\.field))
        identity = Self.identity(
            query, named.filter { fields.equality($0) == .exact }.sorted(), zone, view)
        try PublicReader(view, view.reading)?.check(type: query.recordType)
    }

    private static func sorting(
        _ descriptor: Query.SortDescriptor, _ fields: QueryFields
    ) throws(EngineError) -> Sorting {
        guard let field = SystemField.canonicalName(descriptor.key),
            fields.isSortable(field, byDistance: descriptor.relativeLocation != nil)
        else {
            throw .refused(.notMarked(descriptor.key, .sortable))
        }
        var sorting = Sorting(
            field: field, ascending: descriptor.ascending, equality: fields.equality(field))
        if let location = descriptor.relativeLocation {
            sorting.circle = GreatCircle(from: GeographicPoint(location))
            guard sorting.circle != nil else {
                throw .refused(
                    .invalidArguments,
                    "expected a place on the earth to sort by, found \(location.latitude) "
                        + "\(location.longitude)")
            }
        }
        return sorting
    }

    private static func identity(
        _ query: Query, _ binaryFields: [String], _ zone: RecordZone.ID?, _ view: DatabaseView
    ) -> UInt64 {
        var writer = ByteWriter()
        writer.countedText(query.recordType)
        writer.countedText(query.predicate.description)
        writer.varint(query.sortDescriptors.count)
        for descriptor in query.sortDescriptors {
            writer.countedText(descriptor.key)
            writer.uint8(descriptor.ascending ? 1 : 0)
            writer.uint8(descriptor.relativeLocation == nil ? 0 : 1)
            if let location = descriptor.relativeLocation {
                writer.double(location.latitude)
                writer.double(location.longitude)
            }
        }
        writer.countedText(zone?.zoneName ?? "")
        if view.isShared { writer.countedText(zone?.ownerName ?? "") }
        writer.uint8(view.scope == .public ? 0 : view.isShared ? 2 : 1)
        if let user = view.user { writer.hash(user.bits) }
        for field in binaryFields { writer.countedText(field) }
        return Checksum.xxh3(writer.bytes.span)
    }

    /// The cheapest path to what it asks for.
    ///
    /// - Parameter isDistinct: whether no record may come twice.
    func path(
        in zones: [ZonePlace], isDistinct: Bool, _ reading: StoreReading
    ) throws(EngineError) -> QueryPath {
        guard let type else { return .scan }
        var sorted: (field: UInt32, ascending: Bool)?
        if let first = sorting.first, first.circle == nil,
            // Users stand in indexes in no order of their names.
            SystemField(rawValue: first.field)?.isUser != true,
            let field = reading.schema.columnNumber(first.field)
        {
            sorted = (field, first.ascending)
        }
        return try QueryPath(
            predicate, of: type, in: zones, sorting: sorted, isDistinct: isDistinct, reading)
    }

    /// Rows of which there is one for each record that the query finds, and none for any other, and the
    /// kind of the numbers in them; nil where there are none, or they do not tell what `field` has.
    func coveringPath(
        of field: String?, _ reading: StoreReading
    ) -> (path: QueryPath, kind: ValueKind?)? {
        if predicate.form == .constant(true), field == nil { return (.scan, nil) }
        var comparisons: [FieldComparison] = []
        for part in predicate.conjuncts where part.form != .constant(true) {
            guard case .comparison(let comparison) = part.form else { return nil }
            comparisons.append(comparison)
        }
        guard let type, let name = field ?? comparisons.first?.field,
            let number = reading.schema.columnNumber(name),
            let kind = reading.schema.columnKind(number, of: type),
            let index = reading.completeIndexes(of: type).first(where: {
                $0.isPlain && $0.field == number
                    && ($0.form == .number || $0.form == .prefix && field == nil)
            }), index.form.fits(kind),
            // A row without a number is one of no value, or of NaN, which dates can be, too.
            !comparisons.isEmpty || kind.element == .int64
        else { return nil }
        var range: QueryPath.Values?
        for comparison in comparisons {
            guard comparison.field == name, let values = comparison.exactValues(index, kind) else {
                return nil
            }
            range = range?.intersection(values) ?? values
        }
        let path = QueryPath(index, range.map { [$0] } ?? [], isList: false)
        return (path, kind.element)
    }

    /// A field on which an index may help.
    struct WantedField {
        var name: String
        /// Any of which may do.
        var options: [RecordIndex.Option]
        /// What the rows would have to tell; nil where they serve whatever they tell.
        var part: RecordPredicate?
    }

    var wantedFields: [WantedField] {
        let parts = predicate.conjuncts.flatMap { part -> [WantedField] in
            guard let options = part.wantedOptions else { return [] }
            guard case .search(let search) = part.form else {
                return part.fields.prefix(1).map {
                    WantedField(name: $0.name, options: options, part: part)
                }
            }
            // It may look into all fields of the type.
            return (search.field.map { [$0] } ?? searchableFields).map {
                WantedField(name: $0, options: options)
            }
        }
        guard let first = sorting.first, first.circle == nil else { return parts }
        return parts + [WantedField(name: first.field, options: [.sortable])]
    }

    /// Fails where a field cannot be added up.
    func checkSummable(_ field: String, _ reading: StoreReading) throws(EngineError) {
        guard SystemField.canonicalName(field) == field, SystemField(rawValue: field) == nil else {
            throw .refused(.invalidArguments, "'\(field)' is not the name of a record's own field")
        }
        do throws(UnsupportedPredicate) {
            try QueryFields(reading.schema, type).checkQueryable(field, nil)
        } catch {
            throw .refused(StoreError(error))
        }
    }

    /// The key by which a record is sorted, where it satisfies the predicate.
    func key(of record: Record) -> SortKey? {
        let record = QueryRecord(record: record, searchable: searchableFields)
        guard record.record.recordType == recordType, evaluator.matches(record) else { return nil }
        var key = SortKey()
        for sorting in sorting {
            var value = record.value(ofField: sorting.field)
            if let circle = sorting.circle {
                if case .location(let point)? = value {
                    value = circle.kilometres(to: point).map { .double($0) }
                } else {
                    value = nil
                }
            }
            key.append(value, sorting.equality, ascending: sorting.ascending)
        }
        return key
    }
}

/// What the schema says of the fields of a type.
private struct QueryFields {
    private let schema: Schema
    private let recordType: UInt32?

    init(_ schema: Schema, _ recordType: UInt32?) {
        self.schema = schema
        self.recordType = recordType
    }

    private func kind(_ field: String) -> FieldKind? {
        guard let recordType, let number = schema.number(field) else { return nil }
        return schema.kind(of: Schema.Column(type: recordType, field: number))
    }

    /// The type of a field's values; nil where it is not known.
    func type(_ field: String) -> FieldType? {
        if let system = SystemField(rawValue: field) { return FieldType(system.type) }
        return kind(field).flatMap { kind in
            kind.element.flatMap { ValueType(rawValue: FieldKind($0).name) }
                .map { FieldType($0, isList: kind.isList) }
        }
    }

    /// Of its strings.
    func equality(_ field: String) -> TextEquality { schema.equality(field, of: recordType) }

    func checkQueryable(_ field: String, _ place: Range<Int>?) throws(UnsupportedPredicate) {
        guard SystemField.canonicalName(field) != nil else {
            throw UnsupportedPredicate("'\(field)' is not the name of a field", at: place)
        }
        guard kind(field)?.isEncrypted == true else { return }
        throw UnsupportedPredicate(
            "Field '\(field)' is encrypted and cannot be queried", at: place)
    }

    func isSortable(_ field: String, byDistance: Bool) -> Bool {
        guard kind(field)?.isEncrypted != true else { return false }
        guard let type = type(field) else { return true }
        if type.isList { return false }
        switch type.element {
        case .string, .int64, .double, .date: return !byDistance
        case .reference: return !byDistance && SystemField(rawValue: field) != nil
        case .location: return byDistance
        case .bytes, .asset: return false
        }
    }

    /// The fields that a search of all fields looks into: strings and lists of strings.
    var searchable: [String] {
        guard let recordType else { return [] }
        return schema.searchableFields(of: recordType).compactMap { schema.name($0) }
    }
}

extension SystemField {
    fileprivate var type: ValueType {
        switch self {
        case .creationDate, .modificationDate: .date
        case .recordID, .creatorUserRecordID, .lastModifiedUserRecordID, .parent, .share:
            .reference
        }
    }
}

extension StoreError {
    init(_ error: UnsupportedPredicate) {
        let place = error.place.map { " (at byte \($0.lowerBound) of the predicate)" } ?? ""
        self.init(.invalidArguments, error.message + place)
    }
}

/// A record as predicates see it.
struct QueryRecord: PredicateRecord {
    let record: Record
    /// Nil: all its own strings.
    let searchable: [String]?

    var searchableFields: [String] {
        if let searchable { return searchable }
        let stored = record.stored
        var names: [String] = []
        stored.forEach { field in
            if field.kind.element == .string, !field.kind.isEncrypted,
                let name = stored.schema.name(field.number)
            {
                names.append(name)
            }
            return true
        }
        return names
    }

    func value(ofField name: String) -> PredicateValue? {
        guard SystemField.isName(name) else {
            return record[name].map { PredicateValue($0) }
        }
        switch SystemField(rawValue: name) {
        case .recordID: return reference(record.recordID)
        case .creationDate: return date(record.system?.created)
        case .modificationDate: return date(record.system?.modified)
        case .creatorUserRecordID: return record.creatorUserRecordID.map(user)
        case .lastModifiedUserRecordID: return record.lastModifiedUserRecordID.map(user)
        case .parent: return record.parent.map { reference($0.recordID) }
        case .share: return record.share.map { reference($0.recordID) }
        case nil: return nil
        }
    }

    private func reference(_ id: Record.ID) -> PredicateValue { .reference(ReferenceTarget(id)) }

    /// A user's record lies in no zone that a caller would name.
    private func user(_ id: Record.ID) -> PredicateValue {
        .reference(ReferenceTarget(recordName: id.recordName))
    }

    private func date(_ milliseconds: Int64?) -> PredicateValue? {
        milliseconds.map {
            .date(Date(milliseconds: $0).timeIntervalSinceReferenceDate)
        }
    }
}

extension Schema {
    /// How strings of a field are compared.
    func equality(_ field: String, of type: UInt32?) -> TextEquality {
        guard !binaryColumns.isEmpty, let type, let number = number(field) else { return .folded }
        return binaryColumns.contains(Column(type: type, field: number)) ? .exact : .folded
    }

    /// The fields of a type that a search of all fields looks into: strings and lists of strings.
    func searchableFields(of type: UInt32) -> [UInt32] {
        fields(of: type).compactMap { field, kind in
            kind.element == .string && !kind.isEncrypted ? field : nil
        }
    }
}
