internal import Stratus

struct UserCaller: Call {
    typealias Key = NoKey

    init(_ keys: JSONKeys<NoKey>) {}

    func run(in session: Session) async throws(StoreError) -> JSONObject {
        let name = session.container.userRecordName(for: try session.user())
        return ["userRecordName": .string(name)]
    }
}

/// Which of some users have a record, which is who ever used the store.
struct LookUpUsers: Call {
    enum Key: String { case users }

    private struct User: JSONBody {
        enum Key: String { case userRecordName }

        let name: String

        init(_ keys: JSONKeys<Key>) throws(Mismatch) { name = try keys.required(.userRecordName) }
    }

    private let users: [User]

    init(_ keys: JSONKeys<Key>) throws(Mismatch) { users = try keys.required(.users) }

    func run(in session: Session) async throws(StoreError) -> JSONObject {
        let ids = users.map { session.container.userRecordID(for: $0.name) }
        let database = session.container.publicDatabase(as: try session.user())
        let found = try await database.records(for: ids, desiredKeys: [])
        let items = ids.map { id -> JSONValue in
            var item: JSONObject = ["userRecordName": .string(id.recordName)]
            if case .failure(let error)? = found[id] {
                for member in session.gateway.json(error).members {
                    item.append(member.name, member.value)
                }
            }
            return .object(item)
        }
        return ["users": .array(items)]
    }
}
