internal import Stratus

struct UserCaller: Call {
    typealias Key = NoKey

    init(_ keys: JSONKeys<NoKey>) {}

    func run(in session: Session) async throws(StoreError) -> JSONObject {
        let name = session.container.userRecordName(for: try session.user())
        return ["userRecordName": .string(name)]
    }
}

/// Which of the given users have a record: those who have ever used the store.
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
        let items = try await session.identities(of: users.map(\.name))
        return ["users": .array(items.map { .object($0) })]
    }
}

/// The same by record name, e-mail address or phone number. The store has no addresses and
/// numbers, so only record names are found.
struct DiscoverUsers: Call {
    enum Key: String { case lookupInfos }

    private struct Info: JSONBody {
        enum Key: String { case userRecordName, emailAddress, phoneNumber }

        let json: JSONObject
        /// Nil where an address is given instead.
        let name: String?

        init(_ keys: JSONKeys<Key>) throws(Mismatch) {
            let given: [(Key, String?)] = [
                (.userRecordName, try keys.optional(.userRecordName)),
                (.emailAddress, try keys.optional(.emailAddress)),
                (.phoneNumber, try keys.optional(.phoneNumber)),
            ]
            guard given.count(where: { $0.1 != nil }) == 1 else {
                throw Mismatch("has one of userRecordName, emailAddress and phoneNumber")
            }
            name = given[0].1
            var json = JSONObject()
            for (key, value) in given { json.append(key.rawValue, value.map(JSONValue.string)) }
            self.json = json
        }
    }

    private let infos: [Info]

    init(_ keys: JSONKeys<Key>) throws(Mismatch) { infos = try keys.required(.lookupInfos) }

    func run(in session: Session) async throws(StoreError) -> JSONObject {
        var found = try await session.identities(of: infos.compactMap(\.name))[...]
        let items = infos.map { info -> JSONValue in
            let unknown = StoreError(.unknownItem, "users are found by userRecordName only")
            var item =
                (info.name == nil ? nil : found.popFirst()) ?? session.gateway.json(unknown)
            item.append("lookupInfo", .object(info.json))
            return .object(item)
        }
        return ["users": .array(items)]
    }
}

extension Session {
    /// The user record name of each, and an error where there is no such user.
    fileprivate func identities(of names: [String]) async throws(StoreError) -> [JSONObject] {
        let ids = names.map { container.userRecordID(for: $0) }
        let database = container.publicDatabase(as: try user())
        let found = try await database.records(for: ids, desiredKeys: [])
        return ids.map { id in
            var item: JSONObject = ["userRecordName": .string(id.recordName)]
            if case .failure(let error)? = found[id] {
                for member in gateway.json(error).members { item.append(member.name, member.value) }
            }
            return item
        }
    }
}
