/// A value as JSON knows it: what a request and a response are made of, and all that the tool
/// writes.
public enum JSONValue: Hashable, Sendable {
    /// Nothing.
    case null
    /// True or false.
    case boolean(Bool)
    /// A number without fraction or exponent that fits 64 bits.
    case integer(Int)
    /// Any other number.
    case number(JSONNumber)
    /// Text.
    case string(String)
    /// Values in their order.
    case array([JSONValue])
    /// Values under names.
    case object(JSONObject)
}

/// A number with a fraction, an exponent or very many digits, kept as it was written, so that it
/// is written again unchanged.
public struct JSONNumber: Hashable, Sendable {
    /// As JSON writes it.
    public let text: String

    /// The digits that read back as the same number; nil for what JSON cannot write.
    public init?(_ value: Double) {
        guard value.isFinite else { return nil }
        text = value.description
    }

    /// `text` is a number by the grammar of JSON.
    init(checked text: String) { self.text = text }

    /// The nearest number that a Double can be.
    public var value: Double { Double(text) ?? .nan }
}

/// Names and values in the order given, which is the order written.
public struct JSONObject: Hashable, Sendable {
    /// A name and its value.
    public struct Member: Hashable, Sendable {
        /// Told from others by its bytes.
        public let name: String
        /// What it stands for.
        public var value: JSONValue
    }

    /// In their order.
    public private(set) var members: [Member] = []

    /// An object without members.
    public init() {}

    /// The same with room for so many.
    init(capacity: Int) { members.reserveCapacity(capacity) }

    /// No name is there twice.
    init(checked members: [Member]) { self.members = members }

    /// Adds a member, whose name must be new. A value of nil leaves it out.
    public mutating func append(_ name: String, _ value: JSONValue?) {
        guard let value else { return }
        assert(!members.contains { $0.name.isSame(as: name) }, "a name twice in one object")
        members.append(Member(name: name, value: value))
    }

    /// Adds all members of another object, whose names must be new.
    package mutating func append(_ other: JSONObject) {
        for member in other.members { append(member.name, member.value) }
    }

    /// The value under a name.
    public subscript(name: String) -> JSONValue? {
        members.first { $0.name.isSame(as: name) }?.value
    }
}

extension String {
    /// Whether the bytes are the same, which `==` does not say of text with accents.
    package func isSame(as other: String) -> Bool {
        utf8.count == other.utf8.count && utf8.elementsEqual(other.utf8)
    }
}

extension String? {
    /// Whether both are nil, or have the same bytes.
    package func isSame(as other: String?) -> Bool {
        guard let self, let other else { return self == nil && other == nil }
        return self.isSame(as: other)
    }
}

extension JSONObject: ExpressibleByDictionaryLiteral {
    /// Names, each once, and values.
    public init(dictionaryLiteral elements: (String, JSONValue)...) {
        self.init(capacity: elements.count)
        for (name, value) in elements { append(name, value) }
    }
}

extension JSONValue: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral,
    ExpressibleByBooleanLiteral, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
    /// Text.
    public init(stringLiteral value: String) { self = .string(value) }
    /// An integer.
    public init(integerLiteral value: Int) { self = .integer(value) }
    /// True or false.
    public init(booleanLiteral value: Bool) { self = .boolean(value) }
    /// Values in their order.
    public init(arrayLiteral elements: JSONValue...) { self = .array(elements) }
    /// Names, each once, and values.
    public init(dictionaryLiteral elements: (String, JSONValue)...) {
        var object = JSONObject(capacity: elements.count)
        for (name, value) in elements { object.append(name, value) }
        self = .object(object)
    }
}
