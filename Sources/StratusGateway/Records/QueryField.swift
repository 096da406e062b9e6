internal import FoundationEssentials
internal import Stratus

/// The keys under which a filter and a sort descriptor name their field.
protocol QueryFieldKey: RawRepresentable<String> {
    static var fieldName: Self { get }
    static var systemFieldName: Self { get }
}

/// A field that a query asks for.
struct QueryField: Sendable {
    /// As predicates name it.
    let name: String
    /// Nil: one of the record's own.
    let system: SystemFieldName?

    /// Nil where the request names no field.
    init?(_ keys: JSONKeys<some QueryFieldKey>) throws(Mismatch) {
        let name: String? = try keys.optional(.fieldName)
        let system: SystemFieldName? = try keys.optional(.systemFieldName)
        switch (name, system) {
        case (nil, nil): return nil
        case (_?, _?): throw Mismatch("has either a fieldName or a systemFieldName")
        case (nil, let system?):
            self.name = system.fieldName
            self.system = system
        case (let name?, nil):
            self.name = name
            self.system = SystemFieldName(fieldName: name)
            if self.system == nil, !Self.isOwnName(name) {
                try keys.refuse(.fieldName, "is not the name of a field")
            }
        }
    }

    /// What predicates take as the name of a record's own field: letters, digits and `_`, first a
    /// letter.
    private static func isOwnName(_ name: String) -> Bool {
        func isLetter(_ byte: UInt8) -> Bool { (0x61...0x7a).contains(byte | 0x20) }
        guard let first = name.utf8.first, isLetter(first) else { return false }
        return name.utf8.allSatisfy {
            isLetter($0) || (0x30...0x39).contains($0) || $0 == UInt8(ascii: "_")
        }
    }
}

/// A field that every record has, by its name in Web Services.
enum SystemFieldName: String, JSONWord {
    case recordName, createdTimestamp, createdUserRecordName
    case modifiedTimestamp, modifiedUserRecordName, parent, share

    /// The same field in the schema language and in predicates.
    var fieldName: String {
        switch self {
        case .recordName: "___recordID"
        case .createdTimestamp: "___createTime"
        case .createdUserRecordName: "___createdBy"
        case .modifiedTimestamp: "___modTime"
        case .modifiedUserRecordName: "___modifiedBy"
        case .parent: "___parent"
        case .share: "___share"
        }
    }

    /// The same field as a property of a record, which predicates take too. `parent` and `share`
    /// are names that a record's own field may have.
    private var propertyName: String? {
        switch self {
        case .recordName: "recordID"
        case .createdTimestamp: "creationDate"
        case .createdUserRecordName: "creatorUserRecordID"
        case .modifiedTimestamp: "modificationDate"
        case .modifiedUserRecordName: "lastModifiedUserRecordID"
        case .parent, .share: nil
        }
    }

    /// The system field that predicates know under that name.
    init?(fieldName name: String) {
        let field = Self.allCases.first { field in
            field.fieldName.isSame(as: name) || field.propertyName?.isSame(as: name) == true
        }
        guard let field else { return nil }
        self = field
    }

    /// `value` as this field has values: text as a reference to the record of that name, a number
    /// as the milliseconds of a date. What fits neither stays, and the query is refused for it.
    func converting(_ value: RecordValue, in container: Container) -> RecordValue {
        if case .list(let values) = value {
            return .list(values.map { converting($0, in: container) })
        }
        switch self {
        case .createdTimestamp, .modifiedTimestamp:
            return switch value {
            case .int64(let number): .date(ExactDate.date(milliseconds: Int(number)))
            case .double(let number): .date(Date(timeIntervalSince1970: number / 1000))
            default: value
            }
        case .createdUserRecordName, .modifiedUserRecordName:
            guard let name = value.stringValue ?? value.referenceValue?.recordID.recordName else {
                return value
            }
            return .reference(Reference(recordID: container.userRecordID(for: name)))
        case .recordName, .parent, .share:
            guard let name = value.stringValue else { return value }
            let id = Record.ID(recordName: name, zoneID: ReferenceInput.ownZone)
            return .reference(Reference(recordID: id))
        }
    }
}
