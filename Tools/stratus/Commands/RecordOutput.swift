import FoundationEssentials
import Stratus
import StratusGateway

// How records appear, as JSON and as text.

extension Record {
    var json: JSONObject {
        var object: JSONObject = [
            "recordName": .string(recordID.recordName), "recordType": .string(recordType),
            "zone": .string(recordID.zoneID.zoneName),
        ]
        if recordID.zoneID.ownerName != RecordZone.ID.currentUser {
            object.append("ownerName", .string(recordID.zoneID.ownerName))
        }
        object.append("recordChangeTag", recordChangeTag.map(JSONValue.string))
        object.append("created", creationDate.map(JSONValue.date))
        object.append("creator", creatorUserRecordID.map { .string($0.recordName) })
        object.append("modified", modificationDate.map(JSONValue.date))
        object.append("modifier", lastModifiedUserRecordID.map { .string($0.recordName) })
        object.append("parent", parent.map { .string($0.recordID.recordName) })
        object.append("share", share.map { .string($0.recordID.recordName) })
        var fields = JSONObject()
        for key in allKeys { fields.append(key, self[key]?.json) }
        object.append("fields", .object(fields))
        return object
    }

    /// The record as lines of a name and a value.
    var lines: [(name: String, value: String)] {
        var lines: [(String, String)] = [
            ("record", recordID.recordName), ("type", recordType),
            ("zone", recordID.zoneID.text),
        ]
        if let recordChangeTag { lines.append(("tag", recordChangeTag)) }
        if let creationDate, let creator = creatorUserRecordID {
            lines.append(("created", "\(Timestamp.text(creationDate)) by \(creator.recordName)"))
        }
        if let modificationDate, let modifier = lastModifiedUserRecordID {
            let text = "\(Timestamp.text(modificationDate)) by \(modifier.recordName)"
            lines.append(("modified", text))
        }
        if let parent { lines.append(("parent", parent.recordID.recordName)) }
        if let share { lines.append(("share", share.recordID.recordName)) }
        for key in allKeys { lines.append((key, self[key]?.text ?? "")) }
        return lines
    }
}

extension RecordValue {
    var json: JSONValue {
        switch self {
        case .string(let text): .string(text)
        case .int64(let number): .exact(Int(number))
        case .double(let number): .double(number)
        case .date(let date): .object(["$date": .date(date)])
        case .bytes(let data): .bytes([UInt8](data))
        case .location(let location):
            .object([
                "$location": .object([
                    "latitude": .double(location.latitude),
                    "longitude": .double(location.longitude),
                    "altitude": .double(location.altitude),
                    "horizontalAccuracy": .double(location.horizontalAccuracy),
                    "verticalAccuracy": .double(location.verticalAccuracy),
                    "course": .double(location.course), "speed": .double(location.speed),
                    "timestamp": .date(location.timestamp),
                ])
            ])
        case .reference(let reference):
            .object([
                "$reference": .object([
                    "recordName": .string(reference.recordID.recordName),
                    "action": .string("\(reference.action)"),
                ])
            ])
        case .asset(let asset):
            .object([
                "$asset": .object([
                    "size": .integer(asset.size ?? 0),
                    "fileChecksum": .string(asset.fileChecksum ?? ""),
                ])
            ])
        case .list(let values): .array(values.map(\.json))
        }
    }

    /// For people: long bytes and texts are cut.
    var text: String {
        switch self {
        case .string(let text): text
        case .int64(let number): String(number)
        case .double(let number): String(number)
        case .date(let date): Timestamp.text(date)
        case .bytes(let data): Self.text(data)
        case .location(let location): "\(location.latitude), \(location.longitude)"
        case .reference(let reference):
            reference.action == .none
                ? "-> \(reference.recordID.recordName)"
                : "-> \(reference.recordID.recordName) (\(reference.action))"
        case .asset(let asset): "asset of \(Quantities.size(UInt64(asset.size ?? 0)))"
        case .list(let values): "[" + values.map(\.text).joined(separator: ", ") + "]"
        }
    }

    private static func text(_ data: Data) -> String {
        let shown = data.prefix(32).map { byte in
            let digits = String(byte, radix: 16)
            return digits.count == 1 ? "0" + digits : digits
        }.joined()
        return data.count <= 32 ? shown : "\(shown)… (\(Quantities.size(UInt64(data.count))))"
    }
}
