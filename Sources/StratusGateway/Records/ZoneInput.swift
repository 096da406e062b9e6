internal import Stratus

/// The identity of a zone, as a request names it.
struct ZoneIDInput: JSONBody {
    enum Key: String { case zoneName, ownerRecordName, zoneType }

    enum Kind: String, JSONWord {
        case `default` = "DEFAULT_ZONE"
        case custom = "REGULAR_CUSTOM_ZONE"

        init(of id: RecordZone.ID) { self = id.isDefault ? .default : .custom }
    }

    let id: RecordZone.ID

    init(_ keys: JSONKeys<Key>) throws(Mismatch) {
        let name: String = try keys.required(.zoneName)
        if name.isEmpty { try keys.refuse(.zoneName, "is empty") }
        id = RecordZone.ID(
            zoneName: name,
            ownerName: try keys.optional(.ownerRecordName) ?? RecordZone.ID.currentUser)
        if let kind: Kind = try keys.optional(.zoneType), kind != Kind(of: id) {
            try keys.refuse(.zoneType, "is not that of this zone")
        }
    }
}

/// A zone, as a request names it: by its identity, or as an object that has one.
struct ZoneInput: JSONReadable {
    let id: RecordZone.ID

    private struct Body: JSONBody {
        /// What a response says of a zone may be given back.
        enum Key: String { case zoneID, syncToken, atomic, capabilities }

        let id: RecordZone.ID

        init(_ keys: JSONKeys<Key>) throws(Mismatch) {
            id = try keys.required(.zoneID, as: ZoneIDInput.self).id
        }
    }

    init(_ json: JSONValue) throws(Mismatch) {
        if case .object(let object) = json, object["zoneName"] != nil {
            id = try ZoneIDInput(json).id
        } else {
            id = try Body(json).id
        }
    }
}
