/// A field that every record has, under the name of CloudKit's schema.
package enum SystemField: String, CaseIterable, Sendable {
    case recordID = "___recordID"
    case creationDate = "___createTime"
    case modificationDate = "___modTime"
    case creatorUserRecordID = "___createdBy"
    case lastModifiedUserRecordID = "___modifiedBy"
    case parent = "___parent"
    case share = "___share"

    /// The name of the record's property, which predicates may use too. `parent` and `share` are
    /// names that a field of a user may have, so these stand for such a field.
    package var propertyName: String? {
        switch self {
        case .recordID: "recordID"
        case .creationDate: "creationDate"
        case .modificationDate: "modificationDate"
        case .creatorUserRecordID: "creatorUserRecordID"
        case .lastModifiedUserRecordID: "lastModifiedUserRecordID"
        case .parent, .share: nil
        }
    }

    /// Whether it names a user.
    package var isUser: Bool {
        switch self {
        case .creatorUserRecordID, .lastModifiedUserRecordID: true
        case .recordID, .creationDate, .modificationDate, .parent, .share: false
        }
    }

    /// Whether each save of a record may give it another value.
    package var changes: Bool {
        switch self {
        case .modificationDate, .lastModifiedUserRecordID: true
        case .recordID, .creationDate, .creatorUserRecordID, .parent, .share: false
        }
    }

    /// Its place, from 0 on, among the system fields that an index can have as a column; nil of others.
    package var columnPlace: UInt32? {
        switch self {
        case .creationDate: 0
        case .creatorUserRecordID: 1
        case .modificationDate: 2
        case .lastModifiedUserRecordID: 3
        // Records are found by their names without one.
        case .recordID, .parent, .share: nil
        }
    }

    /// Whether an index can have it as a column.
    package var isColumn: Bool { columnPlace != nil }

    private static let properties: [String: SystemField] = Dictionary(
        uniqueKeysWithValues: allCases.compactMap { field in
            field.propertyName.map { ($0, field) }
        })

    /// Whether a name of a field, as a predicate keeps it, is that of a system field.
    package static func isName(_ name: String) -> Bool { name.utf8.first == UInt8(ascii: "_") }

    /// The name under which a predicate keeps the field that a text names; nil of what is not the
    /// name of a field: letters, digits and `_`, first a letter, or a system field.
    package static func canonicalName(_ name: String) -> String? {
        if let field = properties[name] ?? SystemField(rawValue: name) { return field.rawValue }
        let units = name.utf8
        guard let first = units.first, PredicateLexer.isLetter(first) else { return nil }
        return units.allSatisfy(PredicateLexer.isNamePart) ? name : nil
    }
}
