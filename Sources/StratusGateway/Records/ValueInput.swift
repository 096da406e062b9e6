internal import FoundationEssentials
internal import Stratus

/// A field, as a request gives it. What its value is may depend on the schema.
struct FieldInput: JSONBody {
    enum Key: String { case value, type, exact, isEncrypted }

    /// Null where the field is to be removed.
    private let json: JSONValue
    private let type: FieldType?
    private let exact: JSONValue?
    let isEncrypted: Bool

    init(_ json: JSONValue) throws(Mismatch) {
        switch json {
        case .null: self.init(removed: ())
        case .object: try self.init(JSONKeys(json))
        default: throw Mismatch("must be an object such as {\"value\": 1}")
        }
    }

    private init(removed: Void) { (json, type, exact, isEncrypted) = (.null, nil, nil, false) }

    init(_ keys: JSONKeys<Key>) throws(Mismatch) {
        guard let json = keys.given(.value) else { try keys.refuse(.value, "is missing") }
        let type: FieldTypeInput? = try keys.optional(.type)
        self.json = json
        self.type = type?.type
        exact = try keys.optional(.exact)
        isEncrypted = try keys.optional(.isEncrypted) ?? type?.isEncrypted ?? false
    }

    /// The value of the field, nil where it is to be removed.
    ///
    /// - Parameter declared: the type that the schema has for the field, which decides where the
    ///   request does not say the type.
    func value(_ declared: () -> FieldType?) throws(Mismatch) -> RecordValue? {
        if json == .null { return nil }
        let value: RecordValue
        do throws(Mismatch) {
            switch type {
            case nil: value = try Self.value(json, declared(), exact)
            case .anyList: value = try Self.value(json, declared() ?? .anyList, exact)
            case let type?: value = try Self.value(json, type, exact)
            }
        } catch {
            throw error.under(Key.value.rawValue)
        }
        guard exact == nil || value.isOfDates else {
            throw Mismatch("is for dates").under(Key.exact.rawValue)
        }
        return value
    }

    private static func value(
        _ json: JSONValue, _ type: FieldType?, _ exact: JSONValue?
    ) throws(Mismatch) -> RecordValue {
        guard case .array(let values) = json else {
            switch type {
            case nil: return try RecordValue(json, ValueType(of: json), exact)
            case .one(let type): return try RecordValue(json, type, exact)
            case .list, .emptyList, .anyList: throw Mismatch("must be a list")
            }
        }
        let elementType: ValueType?
        switch type {
        case .one: throw Mismatch("must not be a list")
        case .list(let type): elementType = type
        case nil, .anyList: elementType = try ValueType.common(of: values)
        case .emptyList:
            guard values.isEmpty else { throw Mismatch("must be empty") }
            elementType = nil
        }
        guard let elementType else { return .list([]) }
        return try list(values, elementType, exact)
    }

    private static func list(
        _ values: [JSONValue], _ type: ValueType, _ exact: JSONValue?
    ) throws(Mismatch) -> RecordValue {
        var exacts: [JSONValue] = []
        if let exact {
            guard case .array(let all) = exact, all.count == values.count else {
                throw Mismatch("and its exact values must be as many")
            }
            exacts = all
        }
        var list: [RecordValue] = []
        list.reserveCapacity(values.count)
        for (index, value) in values.enumerated() {
            do throws(Mismatch) {
                list.append(try RecordValue(value, type, exacts.isEmpty ? nil : exacts[index]))
            } catch {
                throw error.at(index)
            }
        }
        return .list(list)
    }
}

extension RecordValue {
    /// The value that `json` is, read as one of `type`.
    fileprivate init(
        _ json: JSONValue, _ type: ValueType, _ exact: JSONValue?
    ) throws(Mismatch) {
        switch type {
        case .string: self = .string(try String(json))
        case .int64: self = .int64(Int64(try WholeNumber(json).value))
        case .double: self = .double(try RealNumber(json).value)
        case .timestamp: self = .date(try Date(json, exact: exact))
        case .bytes:
            self = .bytes(try Base64(json).data)
        case .location: self = .location(try LocationInput(json).location)
        case .reference: self = .reference(try ReferenceInput(json).reference)
        case .asset: self = .asset(try AssetInput(json).asset)
        }
    }

    fileprivate var isOfDates: Bool {
        listValue.map { $0.contains { $0.dateValue != nil } } ?? (dateValue != nil)
    }
}

/// An integer of 64 bits; beyond 2^53 it may be text.
struct WholeNumber: JSONReadable {
    let value: Int

    init(_ json: JSONValue) throws(Mismatch) {
        switch json {
        case .integer(let value): self.value = value
        case .boolean(let value): self.value = value ? 1 : 0
        case .string(let text):
            guard let value = Int(text), String(value).isSame(as: text) else { fallthrough }
            self.value = value
        default: throw Mismatch("must be an integer of 64 bits")
        }
    }
}

/// Bytes.
struct Base64: JSONReadable {
    let data: Data

    init(_ json: JSONValue) throws(Mismatch) {
        guard let data = Data(base64Encoded: try String(json)) else {
            throw Mismatch("must be base64")
        }
        self.data = data
    }
}

/// A number, which may be text; what is not finite is.
struct RealNumber: JSONReadable {
    let value: Double

    init(_ json: JSONValue) throws(Mismatch) {
        switch json {
        case .integer(let value): self.value = Double(value)
        case .number(let number): value = number.value
        case .string(let text):
            guard let value = NonFinite.value(text) ?? Self.finite(text) else { fallthrough }
            self.value = value
        default: throw Mismatch("must be a number")
        }
    }

    /// The number that a text is by the grammar of JSON.
    private static func finite(_ text: String) -> Double? {
        switch try? JSONReader.read(Array(text.utf8).span) {
        case .integer(let value): Double(value)
        case .number(let number): number.value
        default: nil
        }
    }
}

extension Date {
    fileprivate init(_ json: JSONValue, exact: JSONValue?) throws(Mismatch) {
        let milliseconds = try WholeNumber(json).value
        guard let exact, exact != .null else {
            self = ExactDate.date(milliseconds: milliseconds)
            return
        }
        guard case .string(let text) = exact, let date = ExactDate.date(exact: text) else {
            throw Mismatch("has an exact value that is no number of seconds in decimal digits")
        }
        self = date
    }
}

struct LocationInput: JSONBody {
    enum Key: String {
        case latitude, longitude, altitude, horizontalAccuracy, verticalAccuracy, course, speed
        case timestamp, exact
    }

    let location: Location

    init(_ keys: JSONKeys<Key>) throws(Mismatch) {
        func number(_ key: Key) throws(Mismatch) -> Double? {
            try keys.optional(key, as: RealNumber.self)?.value
        }
        var location = Location(
            latitude: try keys.required(.latitude, as: RealNumber.self).value,
            longitude: try keys.required(.longitude, as: RealNumber.self).value)
        location.altitude = try number(.altitude) ?? location.altitude
        location.horizontalAccuracy =
            try number(.horizontalAccuracy) ?? location.horizontalAccuracy
        location.verticalAccuracy = try number(.verticalAccuracy) ?? location.verticalAccuracy
        location.course = try number(.course) ?? location.course
        location.speed = try number(.speed) ?? location.speed
        if let milliseconds: JSONValue = try keys.optional(.timestamp) {
            do throws(Mismatch) {
                location.timestamp = try Date(milliseconds, exact: keys.given(.exact))
            } catch {
                throw error.under(Key.timestamp.rawValue)
            }
        }
        self.location = location
    }
}

/// A reference; one without a zone points into the zone of the record that it is in.
struct ReferenceInput: JSONBody {
    enum Key: String { case recordName, zoneID, action }

    enum Action: String, JSONWord {
        case none = "NONE"
        case deleteSelf = "DELETE_SELF"
        case validate = "VALIDATE"

        init(_ action: Reference.Action) {
            switch action {
            case .none: self = .none
            case .deleteSelf: self = .deleteSelf
            case .validate: self = .validate
            }
        }

        fileprivate var action: Reference.Action {
            switch self {
            case .none: .none
            case .deleteSelf: .deleteSelf
            case .validate: .validate
            }
        }
    }

    /// No zone has an empty name: stands for that of the record.
    static let ownZone = RecordZone.ID(zoneName: "")

    let reference: Reference

    init(_ keys: JSONKeys<Key>) throws(Mismatch) {
        let zone: ZoneIDInput? = try keys.optional(.zoneID)
        let action: Action? = try keys.optional(.action)
        reference = Reference(
            recordID: Record.ID(
                recordName: try keys.required(.recordName), zoneID: zone?.id ?? Self.ownZone),
            action: action?.action ?? .none)
    }

    /// `value` in a record of that zone.
    static func resolve(_ value: RecordValue, in zone: RecordZone.ID) -> RecordValue {
        switch value {
        case .reference(var reference) where reference.recordID.zoneID == ownZone:
            reference.recordID.zoneID = zone
            return .reference(reference)
        case .list(let values): return .list(values.map { resolve($0, in: zone) })
        default: return value
        }
    }
}
