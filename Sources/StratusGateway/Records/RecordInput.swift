internal import Stratus

/// A record, as a request gives it. What a response says of a record may be given back: what the
/// store alone decides is read and has no effect.
struct RecordInput: JSONBody {
    enum Key: String {
        case recordName, recordType, recordChangeTag, zoneID, fields, parent
        case created, modified, deleted
        // What Web Services knows and this build has no use for.
        case share, shortGUID, createShortGUID, pluginFields
        case publicPermission, participants, owner, currentUserParticipant, forRecord
        case requesters, blocked, denyAccessRequests
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
        case named(String, in: RecordZone.ID?)
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
        default:
            let input = try keys.required(.parent, as: ParentIDInput.self)
            parent = .named(input.recordName, in: input.zoneID)
        }
        _ = try keys.optional(.created, as: JSONObject.self)
        _ = try keys.optional(.modified, as: JSONObject.self)
        if try keys.optional(.deleted, as: Bool.self) == true {
            try keys.refuse(.deleted, "says that there is nothing to save")
        }
    }

    /// The record under its name and type, with the edits that were sent. A value that cannot be
    /// one leaves the record to fail when it is saved.
    ///
    /// - Parameter declared: the type that the schema has for a field of that type of record.
    func record(
        as id: Record.ID, type: String, recordChangeTag: String?,
        _ declared: (_ field: String, _ type: String) -> FieldType?
    ) throws(Mismatch) -> Record {
        var record = Record(recordType: type, recordID: id, recordChangeTag: recordChangeTag)
        for (name, input) in fields {
            do throws(Mismatch) {
                guard let value = try input.value({ declared(name, type) }) else {
                    record.removeValue(forKey: name)
                    continue
                }
                if input.isEncrypted {
                    record.encryptedValues[name] = value
                } else {
                    record[name] = ReferenceInput.resolve(value, in: id.zoneID)
                }
            } catch {
                let error = error.under(name).under(Key.fields.rawValue)
                if error.isUnknownKey { throw error }
                record.refuse(StoreError(error.under("record")), forKey: name)
            }
        }
        switch parent {
        case nil: break
        case .removed: record.parent = nil
        case .named(let name, let zone):
            record.parent = Reference(
                recordID: Record.ID(recordName: name, zoneID: zone ?? id.zoneID))
        }
        return record
    }
}

private struct ParentIDInput: JSONBody {
    enum Key: String { case recordName, zoneID }

    let recordName: String
    let zoneID: RecordZone.ID?

    init(_ keys: JSONKeys<Key>) throws(Mismatch) {
        recordName = try keys.required(.recordName)
        zoneID = try keys.optional(.zoneID, as: ZoneIDInput.self)?.id
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

/// A record that is asked for by its name. What a response says of a record may be given back.
struct RecordIDInput: JSONBody {
    typealias Key = RecordInput.Key

    let recordName: String
    let zoneID: RecordZone.ID?

    init(_ keys: JSONKeys<Key>) throws(Mismatch) {
        recordName = try keys.required(.recordName)
        zoneID = try keys.optional(.zoneID, as: ZoneIDInput.self)?.id
    }

    /// The identity of the record, which lies in `zone` unless the request says otherwise.
    func id(in zone: RecordZone.ID) -> Record.ID {
        Record.ID(recordName: recordName, zoneID: zoneID ?? zone)
    }
}
