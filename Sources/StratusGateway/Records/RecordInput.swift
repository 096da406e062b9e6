internal import Stratus

/// A record, as a request gives it. What a response says of a record may be given back: what the
/// store alone decides is read and has no effect.
struct RecordInput: JSONBody {
    enum Key: String {
        case recordName, recordType, recordChangeTag, zoneID, fields, parent
        case created, modified, deleted
        // Of the record of a share.
        case publicPermission, participants, forRecord
        // What the store alone decides, or what Web Services knows and this build has no use for.
        case share, owner, currentUserParticipant, shortGUID, createShortGUID, pluginFields
        case requesters, blocked, denyAccessRequests
    }

    let recordName: String?
    let recordType: String?
    let recordChangeTag: String?
    let zoneID: RecordZone.ID?
    /// What was sent, in order; nil is to be removed.
    private let fields: [(name: String, input: FieldInput)]
    private let parent: ParentInput?
    /// Of the record of a share; of any other it has no effect.
    let share: ShareInput

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
        share = try ShareInput(keys)
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
        try fill(&record, declared)
        return record
    }

    /// The record of a share, likewise.
    ///
    /// - Parameters:
    ///   - root: of a new share, the record that it shares; nil: the whole zone.
    ///   - isRootSaved: whether the request saves the root; else the store writes it once more.
    ///   - owner: the user record name of the owner of the zone.
    func shareRecord(
        as id: Record.ID, recordChangeTag: String?, of root: Record.ID?, isRootSaved: Bool,
        _ container: Container, owner: String,
        _ declared: (_ field: String, _ type: String) -> FieldType?
    ) throws(Mismatch) -> Record {
        var made = Share(sharing: root, as: id, recordChangeTag: recordChangeTag)
        if let root, isRootSaved {
            made = Share(rootRecord: Record(recordType: "Unknown", recordID: root), shareID: id)
        }
        var record = made.record
        try fill(&record, declared)
        made.record = record
        try share.apply(to: &made, container, owner: owner)
        return made.record
    }

    private func fill(
        _ record: inout Record, _ declared: (_ field: String, _ type: String) -> FieldType?
    ) throws(Mismatch) {
        let (id, type) = (record.recordID, record.recordType)
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
