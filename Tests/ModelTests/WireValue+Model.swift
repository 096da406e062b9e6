import FoundationEssentials
import Support

// The words of the model and those of the wire: semantics 12.2.

extension WireValue {
    init(zone: String) { self = .object(["zoneName": .text(zone)]) }

    /// A field's value with its type.
    init(_ value: ModelValue) {
        var object: [String: WireValue] = ["value": Self.bare(value)]
        object["type"] = Self.type(of: value).map { .text($0) }
        self = .object(object)
    }

    private static func type(of value: ModelValue) -> String? {
        switch value {
        case .number: "INT64"
        case .real: "DOUBLE"
        case .text: "STRING"
        case .bytes: "BYTES"
        case .date: "TIMESTAMP"
        case .reference: "REFERENCE"
        case .list(let elements):
            elements.first.map { (type(of: $0) ?? "") + "_LIST" } ?? "EMPTY_LIST"
        }
    }

    private static func bare(_ value: ModelValue) -> WireValue {
        switch value {
        case .number(let number): .text(String(number))
        case .real(let number): .real(number)
        case .text(let text): .text(text)
        case .bytes(let bytes): .text(Data(bytes).base64EncodedString())
        case .date(let time): .whole(Int(time))
        case .list(let elements): .list(elements.map(bare))
        case .reference(let reference):
            .object([
                "recordName": .text(reference.target.name),
                "zoneID": WireValue(zone: reference.target.zone),
                "action": .text(words[reference.action.rawValue]),
            ])
        }
    }

    private static let words = ["NONE", "DELETE_SELF", "VALIDATE"]

    /// The value that a field has.
    var modelValue: ModelValue {
        let type = self["type"]?.string ?? ""
        guard let value = self["value"] else { return .text("no value") }
        if case .list(let elements) = value {
            let element = String(type.dropLast("_LIST".count))
            return .list(elements.map { Self.value($0, element) })
        }
        return Self.value(value, type)
    }

    private static func value(_ value: WireValue, _ type: String) -> ModelValue {
        switch type {
        case "INT64": return .number(Int64(value.integer ?? .min))
        case "DOUBLE": return .real(value.double ?? .infinity)
        case "STRING": return .text(value.string ?? "no text")
        case "TIMESTAMP": return .date(Int64(value.integer ?? .min))
        case "BYTES":
            return .bytes(Array(Data(base64Encoded: value.string ?? "") ?? Data("none".utf8)))
        case "REFERENCE":
            let zone = value["zoneID"]?["zoneName"]?.string ?? ""
            let target = ModelID(zone: zone, name: value["recordName"]?.string ?? "")
            let action = words.firstIndex(of: value["action"]?.string ?? "NONE") ?? 0
            return .reference(
                ModelReference(target, ModelReference.Action(rawValue: action) ?? .none))
        default: return .text("a value of the type \(type)")
        }
    }
}
