package import Stratus

/// A line of a dump, or of what two states differ in: that there is a zone or a record, or is none
/// any more, and in whose database. The record is as in answers to `records/lookup`, without what
/// the store alone decides.
package struct DumpLine {
    package enum Content {
        case zone(RecordZone.ID)
        case deletedZone(RecordZone.ID)
        case record(Record)
        case deletedRecord(Record.ID, type: String?)
    }

    /// Whose private database it is; nil: the public one.
    package var user: String?
    package var content: Content
    /// Of the record of a user: what the host calls that user. Its name is another in each store.
    package var userOfRecord: String?

    package init(_ content: Content, of user: String?, userOfRecord: String? = nil) {
        self.user = user
        self.content = content
        self.userOfRecord = userOfRecord
    }

    /// The name of the record that it says something of; nil: it is of a zone.
    package var recordName: String? {
        switch content {
        case .record(let record): record.recordID.recordName
        case .deletedRecord(let id, _): id.recordName
        case .zone, .deletedZone: nil
        }
    }

    /// The zone that it says something of.
    package var zoneID: RecordZone.ID {
        switch content {
        case .zone(let id), .deletedZone(let id): id
        case .record(let record): record.recordID.zoneID
        case .deletedRecord(let id, _): id.zoneID
        }
    }
}

/// Writing.
extension DumpLine {
    private static let writer = RecordWriter(contentOnly: true)

    /// As it is in the line.
    package func json(_ record: Record) -> JSONObject {
        let object = Self.writer.object(record)
        guard userOfRecord != nil else { return object }
        return JSONObject(
            checked: object.members.filter { $0.name != RecordInput.Key.recordName.rawValue })
    }

    /// In UTF-8, without the end of the line.
    package var bytes: [UInt8] {
        var object: JSONObject = ["database": .string(user == nil ? "public" : "private")]
        object.append("as", user.map(JSONValue.string))
        let kind: Kind
        switch content {
        case .zone(let id):
            kind = .zone
            object.append("zone", ["zoneID": Self.writer.json(id)])
        case .deletedZone(let id):
            kind = .zone
            object.append("zone", ["zoneID": Self.writer.json(id), "deleted": true])
        case .record(let record):
            kind = .record
            object.append("user", userOfRecord.map(JSONValue.string))
            object.append("record", .object(json(record)))
        case .deletedRecord(let id, let type):
            kind = .record
            object.append("record", Self.writer.tombstone(id, type: type))
        }
        return JSONWriter.line(type: kind.rawValue, object)
    }
}

/// Reading.
extension DumpLine {
    private enum Kind: String, JSONWord { case zone, record }

    private enum DatabaseWord: String, JSONWord {
        case `public`, `private`
    }

    private struct Body: JSONBody {
        enum Key: String { case type, database, `as`, zone, user, record }

        let line: DumpLine

        init(_ keys: JSONKeys<Key>) throws(Mismatch) {
            var user: String?
            switch try keys.required(.database, as: DatabaseWord.self) {
            case .private:
                user = try keys.required(.as)
                if user?.isEmpty == true { try keys.refuse(.as, "is empty") }
            case .public:
                if keys.given(.as) != nil { try keys.refuse(.as, "goes with a private database") }
            }
            var content: Content
            let userOfRecord: String? = try keys.optional(.user)
            switch try keys.required(.type, as: Kind.self) {
            case .zone: content = try keys.required(.zone, as: ZoneState.self).content
            case .record where userOfRecord != nil:
                content = try keys.required(.record, as: NamelessRecord.self).content
            case .record: content = try keys.required(.record, as: RecordState.self).content
            }
            line = DumpLine(content, of: user, userOfRecord: userOfRecord)
        }
    }

    private struct ZoneState: JSONBody {
        enum Key: String { case zoneID, deleted }

        let content: Content

        init(_ keys: JSONKeys<Key>) throws(Mismatch) {
            let id = try keys.required(.zoneID, as: ZoneIDInput.self).id
            content = try keys.optional(.deleted) == true ? .deletedZone(id) : .zone(id)
        }
    }

    private struct RecordState: JSONReadable {
        let content: Content

        init(_ json: JSONValue) throws(Mismatch) {
            if case .object(let object) = json, object["deleted"] == true {
                let keys = try JSONKeys<RecordIDInput.Key>(object)
                let zone = try keys.required(.zoneID, as: ZoneIDInput.self).id
                content = .deletedRecord(
                    try RecordIDInput(keys).id(in: zone), type: try keys.optional(.recordType))
                return
            }
            let keys = try JSONKeys<RecordInput.Key>(json)
            content = .record(try record(keys, named: keys.required(.recordName)))
        }
    }

    /// The record of a user, whose name is not known yet.
    private struct NamelessRecord: JSONBody {
        typealias Key = RecordInput.Key

        let content: Content

        init(_ keys: JSONKeys<Key>) throws(Mismatch) {
            content = .record(try record(keys, named: ""))
        }
    }

    private static func record(
        _ keys: JSONKeys<RecordInput.Key>, named name: String
    ) throws(Mismatch) -> Record {
        let zone = try keys.required(.zoneID, as: ZoneIDInput.self).id
        return try RecordInput(keys).record(
            as: Record.ID(recordName: name, zoneID: zone), type: keys.required(.recordType),
            recordChangeTag: nil, { _, _ in nil })
    }

    /// What a line says; nil where it says nothing of the store, as a first or last line may.
    ///
    /// - Throws: ``StoreError`` with `invalidArguments` where it is no such line. A value that no
    ///   field can have leaves its record to fail when it is saved.
    package init?(_ bytes: Span<UInt8>) throws(StoreError) {
        let json: JSONValue
        do throws(JSONError) {
            json = try JSONReader.read(bytes)
        } catch {
            throw StoreError(.invalidArguments, "no JSON: \(error.reason), at byte \(error.byte)")
        }
        if case .object(let object) = json, let type = object["type"],
            type == "header" || type == "summary"
        {
            return nil
        }
        do throws(Mismatch) {
            self = try Body(json).line
        } catch {
            throw StoreError(
                .invalidArguments,
                "\(error.path.isEmpty ? "the line" : error.path) \(error.reason)")
        }
    }
}
