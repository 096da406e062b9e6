import FoundationEssentials
import Stratus
import StratusGateway

// How records appear, as JSON and as text.

extension Record {
    /// As `stratus exec` answers it.
    var json: JSONObject { RecordWriter().object(self) }

    /// The record as lines of a name and a value.
    func lines(_ output: Output) -> [(name: String, value: String)] {
        var lines: [(String, String)] = [
            ("record", recordID.recordName), ("type", recordType),
            ("zone", recordID.zoneID.text),
        ]
        if let recordChangeTag { lines.append(("tag", recordChangeTag)) }
        if let creationDate, let creator = creatorUserRecordID {
            lines.append(("created", "\(output.date(creationDate)) by \(creator.recordName)"))
        }
        if let modificationDate, let modifier = lastModifiedUserRecordID {
            let text = "\(output.date(modificationDate)) by \(modifier.recordName)"
            lines.append(("modified", text))
        }
        if let parent { lines.append(("parent", parent.recordID.recordName)) }
        if let share { lines.append(("share", share.recordID.recordName)) }
        for key in allKeys { lines.append((key, self[key]?.text(output) ?? "")) }
        return lines
    }
}

extension RecordValue {
    /// With its type, as `stratus exec` answers it.
    var json: JSONValue { .object(RecordWriter().json(self)) }

    /// For people: long bytes and texts are cut.
    func text(_ output: Output) -> String {
        switch self {
        case .string(let text): text
        case .int64(let number): String(number)
        case .double(let number): String(number)
        case .date(let date): output.date(date)
        case .bytes(let data): Self.text(data)
        case .location(let location): "\(location.latitude), \(location.longitude)"
        case .reference(let reference):
            reference.action == .none
                ? "-> \(reference.recordID.recordName)"
                : "-> \(reference.recordID.recordName) (\(reference.action))"
        case .asset(let asset): "asset of \(Quantities.size(UInt64(asset.size ?? 0)))"
        case .list(let values): "[" + values.map { $0.text(output) }.joined(separator: ", ") + "]"
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
