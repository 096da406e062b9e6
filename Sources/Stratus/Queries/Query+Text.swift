public import FoundationEssentials
internal import StratusLanguage

extension Query.Predicate {
    /// The predicate that a text in the format of `NSPredicate` describes: `Formats/Query.md`,
    /// "Predicate text".
    ///
    /// - Parameters:
    ///   - arguments: fill `%@`, `%d` and the like, in order, and as strings `%K`; nil stands for a
    ///     missing value. No argument is ever read as text of the predicate.
    ///   - variables: the values of `$name`.
    ///   - now: the moment of `now()`.
    /// - Throws: ``StoreError`` with `invalidArguments` and line and column where the text is no
    ///   predicate.
    public init(
        _ text: String, arguments: [RecordValue?], variables: [String: RecordValue] = [:],
        now: Date = Date()
    ) throws(StoreError) {
        let given = PredicateArguments(
            arguments.map { $0.map { PredicateValue($0) } },
            variables: variables.mapValues { PredicateValue($0) },
            now: now.timeIntervalSinceReferenceDate)
        do throws(PredicateTextError) {
            tree = try PredicateParser.parse(text, given)
        } catch {
            var refusal = StoreError(.invalidArguments, "the predicate is not valid: \(error)")
            refusal.textPlace = StoreError.TextPlace(
                line: error.place.line, column: error.place.column)
            throw refusal
        }
    }

    /// The same with the arguments behind the text.
    public init(_ text: String, _ arguments: (any FieldValue)?...) throws(StoreError) {
        try self.init(text, arguments: arguments.map { $0?.recordValue })
    }
}

extension PredicateValue {
    /// A value of a record as predicates see it.
    init(_ value: RecordValue) {
        self =
            switch value {
            case .string(let text): .string(text)
            case .int64(let number): .int64(number)
            case .double(let number): .double(number)
            case .date(let date): .date(date.timeIntervalSinceReferenceDate)
            case .bytes(let data): .bytes(Array(data))
            case .location(let place): .location(GeographicPoint(place))
            case .reference(let reference): .reference(ReferenceTarget(reference.recordID))
            case .asset: .asset
            case .list(let values): .list(values.map { PredicateValue($0) })
            }
    }
}

extension GeographicPoint {
    init(_ location: Location) {
        self.init(latitude: location.latitude, longitude: location.longitude)
    }
}

extension ReferenceTarget {
    init(_ id: Record.ID) {
        let owner = id.zoneID.ownerName
        self.init(
            recordName: id.recordName, zone: id.zoneID.zoneName,
            owner: owner == RecordZone.ID.currentUser ? nil : owner)
    }
}
