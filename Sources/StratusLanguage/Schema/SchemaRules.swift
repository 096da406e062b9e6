/// The names that CloudKit reserves, and what names may be, as in Apple's page
/// "Integrating a Text-Based Schema into Your Workflow".
package enum SchemaRules {
    /// In bytes.
    package static let nameLimit = 255
    /// Words that need double quotes to be a name, in any case of letters.
    package static let reservedWords: Set = [
        "GRANT", "PREFERRED", "QUERYABLE", "SORTABLE", "SEARCHABLE",
    ]
    /// Roles that every schema has.
    package static let systemRoles: Set = ["_creator", "_icloud", "_world"]
    /// Types that every container has or may have, whether or not a schema lists them.
    package static let systemTypes: Set = ["Users", shareType]
    /// The type of shares, alone with fields whose names begin with `cloudkit.`.
    package static let shareType = "cloudkit.share"
    /// The prefix of fields of shares.
    package static let sharePrefix = "cloudkit."

    /// Fields that every type has, in the order of CloudKit's exports.
    package static let systemFields: [(name: String, type: SchemaDocument.FieldType)] = [
        ("___createTime", .init(.timestamp)), ("___createdBy", .init(.reference)),
        ("___etag", .init(.string)), ("___modTime", .init(.timestamp)),
        ("___modifiedBy", .init(.reference)), ("___recordID", .init(.reference)),
    ]
    package static let systemFieldTypes = Dictionary(
        systemFields.map { ($0.name, $0.type) }, uniquingKeysWith: { first, _ in first })

    /// Fields that would hide a property of the record; no record can be saved with one.
    package static let recordProperties: Set = [
        "creationDate", "creatorUserRecordID", "etag", "lastModifiedUserRecordID",
        "modificationDate", "modifiedByDevice", "recordChangeTag", "recordID", "recordType",
    ]

    /// Letters, digits and `_`, first a letter.
    package static func isIdentifier(_ name: String) -> Bool {
        guard let first = name.utf8.first, first.isLetter else { return false }
        return name.utf8.allSatisfy { $0.isLetter || $0.isDigit || $0 == UInt8(ascii: "_") }
    }

    /// Whether a name can be written without double quotes.
    static func isPlain(_ name: String) -> Bool {
        isIdentifier(name) && !reservedWords.contains(name.uppercased())
    }
}

extension UInt8 {
    /// Of ASCII.
    var isLetter: Bool { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(self | 0x20) }
    /// Of ASCII.
    var isDigit: Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(self) }
}
