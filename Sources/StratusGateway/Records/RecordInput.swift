internal import Stratus

/// A record, as a request gives it. What a response says of a record may be given back: what the
/// store alone decides is read and has no effect.
struct RecordInput: JSONBody {
    enum Key: String {
        case recordName, recordType, recordChangeTag, zoneID, fields, parent
        case created, modified, deleted
    }

    let recordName: String?
    let recordType: String?
    let recordChangeTag: String?
    let zoneID: RecordZone.ID?
    /// What was sent, in order; nil is to be removed.
    private let fields: [(name: String, input: FieldInput)]
    private let parent: ParentInput?

    private enum ParentInput {
        case removed
        case named(String)
    }

    init(_ keys: JSONKeys<Key>) throws(Mismatch) {
        recordName = try keys.optional(.recordName)
        recordType = try keys.optional(.recordType)
        recordChangeTag = try keys.optional(.recordChangeTag)
        zoneID = try keys.optional(.zoneID, as: ZoneIDInput.self)?.id
        fields = try keys.optional(.fields, as: FieldsInput.self)?.fields ?? []
        switch keys.given(.parent) {
        case nil: parent = nil
        case .null: parent = .removed
        default: parent = .named(try keys.required(.parent, as: RecordNameInput.self).recordName)
        }
        _ = try keys.optional(.created, as: JSONObject.self)
        _ = try keys.optional(.modified, as: JSONObject.self)
        if try keys.optional(.deleted, as: Bool.self) == true {
            try keys.refuse(.deleted, "says that there is nothing to save")
        }
    }

    /// The record under its name and type, with the edits that were sent.
    func record(as id: Record.ID, type: String, recordChangeTag: String?) -> Record {
        var record = Record(recordType: type, recordID: id, recordChangeTag: recordChangeTag)
        for (name, input) in fields {
            guard let value = input.value else {
                record.removeValue(forKey: name)
                continue
            }
            if input.isEncrypted {
                record.encryptedValues[name] = value
            } else {
                record[name] = ReferenceInput.resolve(value, in: id.zoneID)
            }
        }
        switch parent {
        case nil: break
        case .removed: record.parent = nil
        case .named(let name):
            record.parent = Reference(recordID: Record.ID(recordName: name, zoneID: id.zoneID))
        }
        return record
    }
}

private struct FieldsInput: JSONReadable {
    let fields: [(name: String, input: FieldInput)]

    init(_ json: JSONValue) throws(Mismatch) {
        var fields: [(String, FieldInput)] = []
        for member in try JSONObject(json).members {
            do throws(Mismatch) {
                fields.append((member.name, try FieldInput(member.value)))
            } catch {
                throw error.under(member.name)
            }
        }
        self.fields = fields
    }
}

/// A record of which only the name is given.
struct RecordNameInput: JSONBody {
    enum Key: String { case recordName }

    let recordName: String

    init(_ keys: JSONKeys<Key>) throws(Mismatch) { recordName = try keys.required(.recordName) }
}
