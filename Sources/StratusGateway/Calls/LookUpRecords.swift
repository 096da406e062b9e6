internal import Stratus

struct LookUpRecords: Call {
    enum Key: String { case records, zoneID, desiredKeys, numbersAsStrings }

    private let records: [Record.ID]
    private let desiredKeys: [String]?
    private let numbersAsStrings: Bool

    init(_ keys: JSONKeys<Key>) throws(Mismatch) {
        let zone = try keys.optional(.zoneID, as: ZoneIDInput.self)?.id ?? .default
        records = try keys.required(.records, as: [RecordIDInput].self).map { $0.id(in: zone) }
        desiredKeys = try keys.optional(.desiredKeys)
        numbersAsStrings = try keys.optional(.numbersAsStrings) ?? false
    }

    func run(in session: Session) async throws(StoreError) -> JSONObject {
        let results = try await session.database().records(for: records, desiredKeys: desiredKeys)
        let writer = session.writer(numbersAsStrings: numbersAsStrings)
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
