internal import Stratus

struct LookUpRecords: Call {
    enum Key: String, LongLivedKey {
        case records, zoneID, desiredKeys, numbersAsStrings, operationID, isLongLived
    }

    private let records: [Record.ID]
    private let desiredKeys: [String]?
    private let numbersAsStrings: Bool
    /// Nil of a call that is made at once.
    private let longLivedID: String?

    init(_ keys: JSONKeys<Key>) throws(Mismatch) {
        let zone = try keys.optional(.zoneID, as: ZoneIDInput.self)?.id ?? .default
        records = try keys.required(.records, as: [RecordIDInput].self).map { $0.id(in: zone) }
        desiredKeys = try keys.optional(.desiredKeys)
        numbersAsStrings = try keys.optional(.numbersAsStrings) ?? false
        longLivedID = try keys.longLivedID()
    }

    func run(in session: Session) async throws(StoreError) -> JSONObject {
        if let longLivedID {
            var form = AnswerForm()
            form.numbersAsStrings = numbersAsStrings
            return try await session.answerLongLived(
                .records(records, desiredKeys: desiredKeys), form, longLivedID)
        }
        let results = try await session.database().records(for: records, desiredKeys: desiredKeys)
        return session.body(of: results, records, numbersAsStrings: numbersAsStrings)
    }
}

extension Session {
    func body(
        of results: [Record.ID: Result<Record, StoreError>], _ records: [Record.ID],
        numbersAsStrings: Bool
    ) -> JSONObject {
        let writer = writer(numbersAsStrings: numbersAsStrings)
        let items = records.map { id in
            switch results[id] {
            case .success(let record)?: writer.json(record)
            case .failure(let error)?: item(error, for: id)
            case nil: item(StoreError(.unknownItem, "there is no such record"), for: id)
            }
        }
        return ["records": .array(items)]
    }
}
