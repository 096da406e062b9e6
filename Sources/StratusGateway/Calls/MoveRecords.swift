internal import Stratus

struct MoveRecords: Call {
    enum Key: String, LongLivedKey {
        case records, zoneID, toZoneID, operationID, isLongLived
    }

    private let records: [Record.ID]
    private let destination: RecordZone.ID
    private let operationID: String?
    /// Nil of a call that is made at once.
    private let longLivedID: String?

    init(_ keys: JSONKeys<Key>) throws(Mismatch) {
        let zone = try keys.required(.zoneID, as: ZoneIDInput.self).id
        records = try keys.required(.records, as: [RecordIDInput].self).map { $0.id(in: zone) }
        destination = try keys.required(.toZoneID, as: ZoneIDInput.self).id
        operationID = try keys.optional(.operationID)
        longLivedID = try keys.longLivedID(isNamed: true)
    }

    func run(in session: Session) async throws(StoreError) -> JSONObject {
        if let longLivedID {
            return try await session.answerLongLived(
                .move(records, to: destination), AnswerForm(), longLivedID)
        }
        let moved = try await session.database().moveRecords(
            records, to: destination, operationID: operationID)
        return session.body(moved: moved)
    }
}

extension Session {
    func body(moved records: [Record]) -> JSONObject {
        ["records": .array(records.map(writer().json))]
    }
}
