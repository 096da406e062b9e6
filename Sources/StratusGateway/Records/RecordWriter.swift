internal import FoundationEssentials
package import Stratus

/// Turns zones, records and their values into JSON: that of CloudKit Web Services, which loses
/// nothing.
package struct RecordWriter {
    /// The record name of the user whose private database it is; nil: the public one, or a shared
    /// one, where each zone names its own.
    let owner: String?
    /// The fields that are asked for; nil: all.
    var desiredKeys: [String]?
    /// Whether values of the types INT64 and DOUBLE are text.
    var numbersAsStrings = false
    /// Whether what the store alone decides is left out: tags, dates, users and shares.
    private var isContentOnly = false

    init(owner: String?, desiredKeys: [String]? = nil, numbersAsStrings: Bool = false) {
        self.owner = owner
        self.desiredKeys = desiredKeys
        self.numbersAsStrings = numbersAsStrings
    }

    /// Of zones that need not say whose they are.
    package init(contentOnly isContentOnly: Bool = false) {
        owner = nil
        self.isContentOnly = isContentOnly
    }

    package func json(_ id: RecordZone.ID) -> JSONValue {
        var object = JSONObject(capacity: 3)
        object.append("zoneName", .string(id.zoneName))
        let owner = id.ownerName == RecordZone.ID.currentUser ? owner : id.ownerName
        object.append("ownerRecordName", owner.map(JSONValue.string))
        object.append("zoneType", .string(ZoneIDInput.Kind(of: id).rawValue))
        return .object(object)
    }

    func json(_ zone: RecordZone, _ token: ChangeToken?) -> JSONValue {
        var object: JSONObject = ["zoneID": json(zone.zoneID)]
        object.append("syncToken", token.map { .string($0.description) })
        object.append("atomic", .boolean(zone.capabilities.contains(.atomic)))
        object.append("capabilities", .strings(zone.capabilities.names))
        return .object(object)
    }

    func json(_ record: Record) -> JSONValue { .object(object(record)) }

    package func object(_ record: Record) -> JSONObject {
        var object = JSONObject(capacity: 10)
        object.append("recordName", .string(record.recordID.recordName))
        object.append("recordType", .string(record.recordType))
        if !isContentOnly {
            object.append("recordChangeTag", record.recordChangeTag.map(JSONValue.string))
        }
        object.append("zoneID", json(record.recordID.zoneID))
        var fields = JSONObject(capacity: record.fieldCount)
        record.forEachField(where: { desiredKeys?.contains(where: $0.isSame) ?? true }) {
            key, value, isEncrypted in
            fields.append(key, .object(json(value, isEncrypted: isEncrypted)))
        }
        object.append("fields", .object(fields))
        object.append(
            "parent",
            record.parent.map { .object(["recordName": .string($0.recordID.recordName)]) })
        if isContentOnly { return object }
        object.append("share", record.share.map { json($0.recordID) })
        object.append("created", change(record.creationDate, record.creatorUserRecordID))
        object.append(
            "modified", change(record.modificationDate, record.lastModifiedUserRecordID))
        if let share = Share(record) { append(share, to: &object) }
        return object
    }

    private func json(_ id: Record.ID) -> JSONValue {
        ["recordName": .string(id.recordName), "zoneID": json(id.zoneID)]
    }

    /// A record that is gone.
    func tombstone(_ id: Record.ID, type: String?) -> JSONValue {
        var object: JSONObject = ["recordName": .string(id.recordName)]
        object.append("recordType", type.map(JSONValue.string))
        object.append("zoneID", json(id.zoneID))
        object.append("deleted", true)
        return .object(object)
    }

    private func change(_ date: Date?, _ user: Record.ID?) -> JSONValue? {
        guard let date, let user else { return nil }
        var object = JSONObject(capacity: 2)
        object.append("timestamp", .integer(ExactDate(date).milliseconds))
        object.append("userRecordName", .string(user.recordName))
        return .object(object)
    }
}

/// Shares.
extension RecordWriter {
    /// What a share has beside the fields of its record.
    private func append(_ share: Share, to object: inout JSONObject) {
        object.append("publicPermission", .string(share.publicPermission.word))
        object.append("participants", .array(share.participants.map { .object($0.json) }))
        object.append("owner", share.owner.map { .object($0.json) })
        object.append(
            "currentUserParticipant", share.currentUserParticipant.map { .object($0.json) })
        object.append("shortGUID", share.shortGUID.map(JSONValue.string))
    }
}

/// Values of fields.
extension RecordWriter {
    /// A value with its type.
    package func json(_ value: RecordValue, isEncrypted: Bool = false) -> JSONObject {
        var object = JSONObject(capacity: 2)
        object.append("value", bare(value))
        object.append("type", .string(Self.type(of: value).name))
        object.append("exact", exact(value))
        if isEncrypted { object.append("isEncrypted", true) }
        return object
    }

    private static func type(of value: RecordValue) -> FieldType {
        guard case .list(let values) = value else { return .one(ValueType(of: value)) }
        return values.first.map { .list(ValueType(of: $0)) } ?? .emptyList
    }

    private func bare(_ value: RecordValue) -> JSONValue {
        switch value {
        case .string(let text): .string(text)
        case .int64(let number): asString(Self.integer(Int(number)))
        case .double(let number): asString(Self.double(number))
        case .date(let date): Self.integer(ExactDate(date).milliseconds)
        case .bytes(let data): .string(data.base64EncodedString())
        case .location(let location): .object(json(location))
        case .reference(let reference): .object(json(reference))
        case .asset(let asset): .object(json(asset))
        case .list(let values): .array(values.map(bare))
        }
    }

    private func asString(_ number: JSONValue) -> JSONValue {
        switch number {
        case .integer(let value) where numbersAsStrings: .string(String(value))
        case .number(let value) where numbersAsStrings: .string(value.text)
        default: number
        }
    }

    private static let largestExactInteger: UInt = 1 << 53

    /// Beyond 2^53 many readers round.
    static func integer(_ value: Int) -> JSONValue {
        value.magnitude <= largestExactInteger ? .integer(value) : .string(String(value))
    }

    /// JSON has no word for what is not finite: text.
    private static func double(_ value: Double) -> JSONValue {
        JSONNumber(value).map(JSONValue.number) ?? .string(NonFinite.text(value))
    }

    /// What the milliseconds of dates leave out: text, for a list a list of texts and null.
    private func exact(_ value: RecordValue) -> JSONValue? {
        switch value {
        case .date(let date): return ExactDate(date).exact.map(JSONValue.string)
        case .list(let values):
            let all = values.map { $0.dateValue.flatMap { ExactDate($0).exact } }
            guard all.contains(where: { $0 != nil }) else { return nil }
            return .array(all.map { $0.map(JSONValue.string) ?? .null })
        default: return nil
        }
    }

    private func json(_ location: Location) -> JSONObject {
        let date = ExactDate(location.timestamp)
        var object: JSONObject = [
            "latitude": Self.double(location.latitude),
            "longitude": Self.double(location.longitude),
            "altitude": Self.double(location.altitude),
            "horizontalAccuracy": Self.double(location.horizontalAccuracy),
            "verticalAccuracy": Self.double(location.verticalAccuracy),
            "course": Self.double(location.course), "speed": Self.double(location.speed),
            "timestamp": Self.integer(date.milliseconds),
        ]
        object.append("exact", date.exact.map(JSONValue.string))
        return object
    }

    /// What a response says of an asset.
    func json(_ asset: Asset) -> JSONObject {
        var object = JSONObject()
        object.append("fileChecksum", asset.fileChecksum.map(JSONValue.string))
        object.append("size", asset.size.map(Self.integer))
        return object
    }

    private func json(_ reference: Reference) -> JSONObject {
        [
            "recordName": .string(reference.recordID.recordName),
            "action": .string(ReferenceInput.Action(reference.action).rawValue),
            "zoneID": json(reference.recordID.zoneID),
        ]
    }
}

extension RecordZone.Capabilities {
    /// In the order of CloudKit's bits.
    package var names: [String] {
        let all: [(RecordZone.Capabilities, String)] = [
            (.fetchChanges, "fetchChanges"), (.atomic, "atomic"), (.sharing, "sharing"),
            (.zoneWideSharing, "zoneWideSharing"),
        ]
        return all.filter { contains($0.0) }.map(\.1)
    }
}
