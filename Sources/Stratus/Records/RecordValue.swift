public import FoundationEssentials
internal import StratusEngine

// No value takes more than four words, so that values are passed in registers.
/// A value of a field.
public enum RecordValue: Hashable, Sendable {
    /// Text of any length.
    case string(String)
    /// An integer; also a Bool, as 0 or 1.
    case int64(Int64)
    /// A number.
    case double(Double)
    /// A moment, kept with all its precision.
    case date(Date)
    /// Bytes.
    case bytes(Data)
    /// A place.
    indirect case location(Location)
    /// A pointer to another record of the zone.
    case reference(Reference)
    /// Bytes that are too many for a record.
    case asset(Asset)
    /// Values of one kind, none of them a list.
    case list([RecordValue])
}

extension RecordValue {
    /// The text, where it is one.
    public var stringValue: String? {
        if case .string(let value) = self { value } else { nil }
    }

    /// The integer, or a number that is whole.
    public var int64Value: Int64? {
        switch self {
        case .int64(let value): value
        case .double(let value): Int64(exactly: value)
        default: nil
        }
    }

    /// The number.
    public var doubleValue: Double? {
        switch self {
        case .double(let value): value
        case .int64(let value): Double(value)
        default: nil
        }
    }

    /// Whether the number is not zero.
    public var boolValue: Bool? {
        switch self {
        case .int64(let value): value != 0
        case .double(let value): value != 0
        default: nil
        }
    }

    /// The moment, where it is one.
    public var dateValue: Date? {
        if case .date(let value) = self { value } else { nil }
    }

    /// The bytes, where it is some.
    public var bytesValue: Data? {
        if case .bytes(let value) = self { value } else { nil }
    }

    /// The place, where it is one.
    public var locationValue: Location? {
        if case .location(let value) = self { value } else { nil }
    }

    /// The reference, where it is one.
    public var referenceValue: Reference? {
        if case .reference(let value) = self { value } else { nil }
    }

    /// The asset, where it is one.
    public var assetValue: Asset? {
        if case .asset(let value) = self { value } else { nil }
    }

    /// The values, where it is a list.
    public var listValue: [RecordValue]? {
        if case .list(let value) = self { value } else { nil }
    }
}

extension RecordValue {
    /// Whether the reference that it is, or each in the list that it is, satisfies `condition`.
    func everyReference(_ condition: (Reference) -> Bool) -> Bool {
        switch self {
        case .reference(let reference): condition(reference)
        case .list(let values): values.allSatisfy { $0.everyReference(condition) }
        default: true
        }
    }
}

extension RecordValue: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral,
    ExpressibleByFloatLiteral, ExpressibleByBooleanLiteral, ExpressibleByArrayLiteral
{
    /// A text.
    public init(stringLiteral value: String) { self = .string(value) }
    /// An integer.
    public init(integerLiteral value: Int64) { self = .int64(value) }
    /// A number.
    public init(floatLiteral value: Double) { self = .double(value) }
    /// 0 or 1.
    public init(booleanLiteral value: Bool) { self = .int64(value ? 1 : 0) }
    /// A list.
    public init(arrayLiteral elements: RecordValue...) { self = .list(elements) }
}
