internal import Stratus

struct MoveRecords: Call {
    enum Key: String { case records, zoneID, toZoneID, operationID }

    private let records: [Record.ID]
    private let destination: RecordZone.ID
    private let operationID: String?

    init(_ keys: JSONKeys<Key>) throws(Mismatch) {
        let zone = try keys.required(.zoneID, as: ZoneIDInput.self).id
        records = try keys.required(.records, as: [RecordIDInput].self).map { $0.id(in: zone) }
        destination = try keys.required(.toZoneID, as: ZoneIDInput.self).id
        operationID = try keys.optional(.operationID)
    }

    func run(in session: Session) async throws(StoreError) -> JSONObject {
        let moved = try await session.database().moveRecords(
            records, to: destination, operationID: operationID)
        return ["records": .array(moved.map(session.writer().json))]
    }
}
