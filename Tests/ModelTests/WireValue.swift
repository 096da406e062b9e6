import FoundationEssentials

/// JSON as a client sees it, who knows nothing of the gateway's types.
indirect enum WireValue: Codable, Sendable {
    case null
    case truth(Bool)
    case whole(Int)
    case real(Double)
    case text(String)
    case list([WireValue])
    case object([String: WireValue])

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let text = try? container.decode(String.self) {
            self = .text(text)
        } else if let object = try? container.decode([String: WireValue].self) {
            self = .object(object)
        } else if let list = try? container.decode([WireValue].self) {
            self = .list(list)
        } else if let truth = try? container.decode(Bool.self) {
            self = .truth(truth)
        } else if let whole = try? container.decode(Int.self) {
            self = .whole(whole)
        } else {
            self = .real(try container.decode(Double.self))
        }
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .null: try container.encodeNil()
        case .truth(let value): try container.encode(value)
        case .whole(let value): try container.encode(value)
        case .real(let value): try container.encode(value)
        case .text(let value): try container.encode(value)
        case .list(let value): try container.encode(value)
        case .object(let value): try container.encode(value)
        }
    }

    init(line: String) throws {
        self = try JSONDecoder().decode(WireValue.self, from: Data(line.utf8))
    }

    /// One line of JSON.
    var line: [UInt8] { get throws { try Array(JSONEncoder().encode(self)) } }

    subscript(key: String) -> WireValue? {
        if case .object(let members) = self { members[key] } else { nil }
    }

    var string: String? { if case .text(let text) = self { text } else { nil } }
    var items: [WireValue] { if case .list(let items) = self { items } else { [] } }
    var isTrue: Bool { if case .truth(true) = self { true } else { false } }
    var members: [String: WireValue] {
        if case .object(let members) = self { members } else { [:] }
    }

    /// An integer, which is text where it is large.
    var integer: Int? {
        switch self {
        case .whole(let value): value
        case .text(let text): Int(text)
        default: nil
        }
    }

    var double: Double? {
        switch self {
        case .whole(let value): Double(value)
        case .real(let value): value
        default: nil
        }
    }
}
