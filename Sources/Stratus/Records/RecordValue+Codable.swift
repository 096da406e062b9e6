internal import FoundationEssentials
internal import StratusEngine

/// Elsewhere than in a record a value is a container with one key, which is its kind.
extension RecordValue: Codable {
    private enum Kind: String, CodingKey {
        case string, int64, double, date, bytes, location, reference, asset, list
    }

    /// Reads what ``encode(to:)`` wrote.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: Kind.self)
        guard let kind = container.allKeys.first, container.allKeys.count == 1 else {
            throw DecodingError.dataCorrupted(
                DecodingError.Context(
                    codingPath: decoder.codingPath, debugDescription: "a value has one kind"))
        }
        switch kind {
        case .string: self = .string(try container.decode(String.self, forKey: kind))
        case .int64: self = .int64(try container.decode(Int64.self, forKey: kind))
        case .double: self = .double(try container.decode(Double.self, forKey: kind))
        case .date: self = .date(try container.decode(Date.self, forKey: kind))
        case .bytes: self = .bytes(try container.decode(Data.self, forKey: kind))
        case .location: self = .location(try container.decode(Location.self, forKey: kind))
        case .reference: self = .reference(try container.decode(Reference.self, forKey: kind))
        case .asset: self = .asset(try container.decode(Asset.self, forKey: kind))
        case .list: self = .list(try container.decode([RecordValue].self, forKey: kind))
        }
    }

    /// Writes the value under the name of its kind.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Kind.self)
        switch self {
        case .string(let value): try container.encode(value, forKey: .string)
        case .int64(let value): try container.encode(value, forKey: .int64)
        case .double(let value): try container.encode(value, forKey: .double)
        case .date(let value): try container.encode(value, forKey: .date)
        case .bytes(let value): try container.encode(value, forKey: .bytes)
        case .location(let value): try container.encode(value, forKey: .location)
        case .reference(let value): try container.encode(value, forKey: .reference)
        case .asset(let value): try container.encode(value, forKey: .asset)
        case .list(let value): try container.encode(value, forKey: .list)
        }
    }
}
