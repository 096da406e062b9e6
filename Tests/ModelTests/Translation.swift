import FoundationEssentials
import Stratus
import Support

// The words of the model and those of the library.

extension ModelID {
    init(_ id: Record.ID) { self.init(zone: id.zoneID.zoneName, name: id.recordName) }

    var engine: Record.ID {
        Record.ID(recordName: name, zoneID: RecordZone.ID(zoneName: zone))
    }
}

extension RecordValue {
    init(_ value: ModelValue) {
        self =
            switch value {
            case .number(let number): .int64(number)
            case .real(let number): .double(number)
            case .text(let text): .string(text)
            case .bytes(let bytes): .bytes(Data(bytes))
            case .date(let time): .date(Date(timeIntervalSince1970: Double(time) / 1000))
            case .reference(let reference): .reference(Reference(reference))
            case .list(let elements): .list(elements.map { RecordValue($0) })
            }
    }
}

extension ModelValue {
    init(_ value: RecordValue) {
        self =
            switch value {
            case .int64(let number): .number(number)
            case .double(let number): .real(number)
            case .string(let text): .text(text)
            case .bytes(let bytes): .bytes(Array(bytes))
            case .date(let date):
                .date(Int64((date.timeIntervalSince1970 * 1000).rounded()))
            case .reference(let reference): .reference(ModelReference(reference))
            case .list(let elements): .list(elements.map { ModelValue($0) })
            case .location: .text("a place, which the model has none of")
            case .asset: .text("an asset, which the model has none of")
            }
    }
}

extension Reference {
    init(_ reference: ModelReference) {
        let action: Action =
            switch reference.action {
            case .none: .none
            case .deleteSelf: .deleteSelf
            case .validate: .validate
            }
        self.init(recordID: reference.target.engine, action: action)
    }
}

extension ModelReference {
    fileprivate init(_ reference: Reference) {
        let action: Action =
            switch reference.action {
            case .none: .none
            case .deleteSelf: .deleteSelf
            case .validate: .validate
            }
        self.init(ModelID(reference.recordID), action)
    }
}

extension SavePolicy {
    init(_ rule: ModelRule) {
        self =
            switch rule {
            case .changedKeys: .changedKeys
            case .allKeys: .allKeys
            default: .ifServerRecordUnchanged
            }
    }
}
