internal import FoundationEssentials
internal import Stratus

/// What a query is asked of.
struct QueryScope {
    let container: Container
    let recordType: String
    /// Nil: all zones of the database.
    let zone: RecordZone.ID?
    /// The moment of `now()`.
    let now: Date

    /// The type that the schema has for a field; nil of one that it does not know.
    func type(of field: QueryField) -> FieldType? {
        container.fieldType(field.name, of: recordType).flatMap(FieldType.init(name:))
    }

    /// `value`, whose references point into the zone that is asked unless they say otherwise. Where
    /// all zones are asked they stay without one.
    func resolve(_ value: RecordValue) -> RecordValue {
        zone.map { ReferenceInput.resolve(value, in: $0) } ?? value
    }
}

/// A query, as a request gives it: with filters, or with a predicate as text.
struct QueryInput: JSONBody {
    enum Key: String { case recordType, filterBy, sortBy, predicate, arguments }

    let recordType: String
    private let condition: Condition
    private let sortDescriptors: [Query.SortDescriptor]

    private enum Condition {
        /// All of them hold.
        case filters([QueryFilter])
        case text(String, [FieldInput])
    }

    init(_ keys: JSONKeys<Key>) throws(Mismatch) {
        recordType = try keys.required(.recordType)
        sortDescriptors = try keys.optional(.sortBy, as: [SortInput].self)?.map(\.descriptor) ?? []
        let filters: [QueryFilter]? = try keys.optional(.filterBy)
        let arguments: [FieldInput]? = try keys.optional(.arguments)
        if let text: String = try keys.optional(.predicate) {
            if filters != nil { throw Mismatch("has either filterBy or a predicate") }
            condition = .text(text, arguments ?? [])
        } else {
            if arguments != nil { try keys.refuse(.arguments, "is for a predicate") }
            condition = .filters(filters ?? [])
        }
    }

    /// The query that it is for a container and its schema.
    func query(_ scope: QueryScope) throws(Mismatch) -> Query {
        Query(
            recordType: recordType, predicate: try predicate(scope),
            sortDescriptors: sortDescriptors)
    }

    private func predicate(_ scope: QueryScope) throws(Mismatch) -> Query.Predicate {
        switch condition {
        case .filters(let filters):
            var parts: [Query.Predicate] = []
            for (index, filter) in filters.enumerated() {
                do throws(Mismatch) {
                    parts.append(try filter.predicate(scope))
                } catch {
                    throw error.at(index).under(Key.filterBy.rawValue)
                }
            }
            return .conjunction(of: parts)
        case .text(let text, let arguments):
            let values = try values(arguments, scope)
            do throws(Mismatch) {
                return try Query.Predicate.reading(text, values, now: scope.now)
            } catch {
                throw error.under(Key.predicate.rawValue)
            }
        }
    }

    /// What fills the places in the text; nil stands for a missing value.
    private func values(
        _ arguments: [FieldInput], _ scope: QueryScope
    ) throws(Mismatch) -> [RecordValue?] {
        var values: [RecordValue?] = []
        for (index, argument) in arguments.enumerated() {
            do throws(Mismatch) {
                let value = try argument.value { nil }
                let resolved = value.map(scope.resolve)
                guard resolved?.hasReferenceWithoutZone != true else {
                    throw Mismatch("needs a zoneID, since all zones are asked")
                        .under(FieldInput.Key.value.rawValue)
                }
                values.append(resolved)
            } catch {
                throw error.at(index).under(Key.arguments.rawValue)
            }
        }
        return values
    }
}

/// A field that the records are sorted by, as a request gives it.
private struct SortInput: JSONBody {
    enum Key: String, QueryFieldKey { case fieldName, systemFieldName, ascending, relativeLocation }

    let descriptor: Query.SortDescriptor

    init(_ keys: JSONKeys<Key>) throws(Mismatch) {
        guard let field = try QueryField(keys) else { try keys.refuse(.fieldName, "is missing") }
        var descriptor = Query.SortDescriptor(key: field.name)
        descriptor.ascending = try keys.optional(.ascending) ?? true
        descriptor.relativeLocation =
            try keys.optional(.relativeLocation, as: LocationInput.self)?.location
        self.descriptor = descriptor
    }
}

extension RecordValue {
    /// Whether it is, or has, a reference that does not say into which zone it points.
    var hasReferenceWithoutZone: Bool {
        switch self {
        case .reference(let reference): reference.recordID.zoneID == ReferenceInput.ownZone
        case .list(let values): values.contains { $0.hasReferenceWithoutZone }
        default: false
        }
    }
}

extension Query.Predicate {
    /// Where all of `parts` hold.
    static func conjunction(of parts: [Query.Predicate]) -> Query.Predicate {
        conjunction(ofSlice: parts[...])
    }

    /// In halves: joining one part after the other would copy those before each time.
    private static func conjunction(
        ofSlice parts: ArraySlice<Query.Predicate>
    ) -> Query.Predicate {
        guard parts.count > 1 else { return parts.first ?? Query.Predicate.all }
        let middle = parts.startIndex + parts.count / 2
        return conjunction(ofSlice: parts[..<middle]) && conjunction(ofSlice: parts[middle...])
    }

    /// The predicate of a text, which a mismatch says where it is none.
    static func reading(
        _ text: String, _ arguments: [RecordValue?], now: Date = Date()
    ) throws(Mismatch) -> Query.Predicate {
        do throws(StoreError) {
            return try Query.Predicate(text, arguments: arguments, now: now)
        } catch {
            throw Mismatch("cannot be read: \(error.reason)")
        }
    }
}
