internal import Stratus

struct LookUpRecords: Call {
    enum Key: String { case records, zoneID, desiredKeys }

    private struct Item: JSONBody {
        enum Key: String { case recordName, zoneID }

        let recordName: String
        let zoneID: RecordZone.ID?

        init(_ keys: JSONKeys<Key>) throws(Mismatch) {
            recordName = try keys.required(.recordName)
            zoneID = try keys.optional(.zoneID, as: ZoneIDInput.self)?.id
        }
    }

    private let records: [Record.ID]
    private let desiredKeys: [String]?

    init(_ keys: JSONKeys<Key>) throws(Mismatch) {
        let zone = try keys.optional(.zoneID, as: ZoneIDInput.self)?.id ?? .default
        records = try keys.required(.records, as: [Item].self).map {
            Record.ID(recordName: $0.recordName, zoneID: $0.zoneID ?? zone)
        }
        desiredKeys = try keys.optional(.desiredKeys)
    }

    func run(in session: Session) async throws(StoreError) -> JSONObject {
        let results = try await session.database().records(for: records, desiredKeys: desiredKeys)
        let writer = session.writer()
        let items = records.map { id in
            switch results[id] {
            case .success(let record)?: writer.json(record)
            case .failure(let error)?: session.item(error, for: id)
            case nil: session.item(StoreError(.unknownItem, "there is no such record"), for: id)
            }
        }
        return ["records": .array(items)]
    }
}
