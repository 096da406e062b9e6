internal import Stratus

/// Who the caller is.
struct UserCaller: Call {
    typealias Key = NoKey

    init(_ keys: JSONKeys<NoKey>) {}

    func run(in session: Session) async throws(StoreError) -> JSONObject {
        let id = session.container.userRecordID(for: try session.user())
        let identity = try await session.identity(UserIdentity.LookupInfo(userRecordID: id))
        var object: JSONObject = ["userRecordName": .string(id.recordName)]
        object.append(identity?.nameComponents)
        return object
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
        let items = try await session.users(named: users.map(\.name))
        return ["users": .array(items.map { .object($0) })]
    }
}

/// The users with certain e-mail addresses, as far as they let others find them.
struct LookUpUsersByEmail: Call {
    enum Key: String { case users }

    private struct User: JSONBody {
        enum Key: String { case emailAddress }

        let info: LookupInfoInput

        init(_ keys: JSONKeys<Key>) throws(Mismatch) {
            info = LookupInfoInput(emailAddress: try keys.required(.emailAddress))
        }
    }

    private let users: [User]

    init(_ keys: JSONKeys<Key>) throws(Mismatch) { users = try keys.required(.users) }

    func run(in session: Session) async throws(StoreError) -> JSONObject {
        try await session.users(found: users.map(\.info))
    }
}

/// The users with certain phone numbers, as far as they let others find them.
struct LookUpUsersByPhone: Call {
    enum Key: String { case users }

    private struct User: JSONBody {
        enum Key: String { case phoneNumber }

        let info: LookupInfoInput

        init(_ keys: JSONKeys<Key>) throws(Mismatch) {
            info = LookupInfoInput(phoneNumber: try keys.required(.phoneNumber))
        }
    }

    private let users: [User]

    init(_ keys: JSONKeys<Key>) throws(Mismatch) { users = try keys.required(.users) }

    func run(in session: Session) async throws(StoreError) -> JSONObject {
        try await session.users(found: users.map(\.info))
    }
}

/// Users by record name, e-mail address or phone number or, where none are named, all who let
/// others find them.
struct DiscoverUsers: Call {
    enum Key: String, UserPageKey { case lookupInfos, resultsLimit, continuationMarker }

    private let infos: [LookupInfoInput]?
    private let page: UserPageInput

    init(_ keys: JSONKeys<Key>) throws(Mismatch) {
        infos = try keys.optional(.lookupInfos)
        page = try UserPageInput(keys)
        if infos != nil, page.isGiven { throw Mismatch("has lookupInfos, or a page of all users") }
    }

    func run(in session: Session) async throws(StoreError) -> JSONObject {
        if let infos { return try await session.users(found: infos) }
        _ = try session.user()
        return try await session.page(page, onlyDiscoverable: true) { user in
            var object: JSONObject = ["userRecordName": .string(user.userRecordID.recordName)]
            object.append(user.profile?.name)
            return object
        }
    }
}

/// All users of the store, for those who look after it.
struct ListUsers: Call {
    enum Key: String, UserPageKey { case resultsLimit, continuationMarker }

    private let page: UserPageInput

    init(_ keys: JSONKeys<Key>) throws(Mismatch) { page = try UserPageInput(keys) }

    func run(in session: Session) async throws(StoreError) -> JSONObject {
        try session.demand(.maintenance)
        return try await session.page(page, onlyDiscoverable: false) { $0.json }
    }
}

/// The keys with which a page of users is asked for.
private protocol UserPageKey: RawRepresentable<String> {
    static var resultsLimit: Self { get }
    static var continuationMarker: Self { get }
}

/// A page of users, in the order in which they came.
private struct UserPageInput {
    private static let largest = 200

    /// The number of the last user of the page before.
    let last: UInt32
    let limit: Int
    /// Whether the request has a key of it.
    let isGiven: Bool

    init(_ keys: JSONKeys<some UserPageKey>) throws(Mismatch) {
        let limit = try keys.optional(.resultsLimit, as: PageLimit.self)?.value
        let marker: String? = try keys.optional(.continuationMarker)
        last = marker.flatMap { UInt32($0) } ?? 0
        guard marker == nil || marker == String(last) && last > 0 else {
            try keys.refuse(.continuationMarker, "is no continuation marker")
        }
        self.limit = min(limit ?? Self.largest, Self.largest)
        isGiven = limit != nil || marker != nil
    }
}

extension Session {
    /// Whom the caller may find.
    fileprivate func identity(
        _ info: UserIdentity.LookupInfo
    ) async throws(StoreError) -> UserIdentity? {
        try await container.userIdentity(for: info, as: try user())
    }

    /// The user record name of each, and an error where there is no such user.
    fileprivate func users(named names: [String]) async throws(StoreError) -> [JSONObject] {
        _ = try user()
        var items: [JSONObject] = []
        for name in names { items.append(try await user(named: name)) }
        return items
    }

    /// Each user with what it was looked up by, and an error where there is no such user.
    fileprivate func users(found infos: [LookupInfoInput]) async throws(StoreError) -> JSONObject {
        _ = try user()
        var items: [JSONValue] = []
        for info in infos {
            var item =
                if let name = info.userRecordName {
                    try await user(named: name)
                } else {
                    try await user(at: info.lookupInfo(in: container))
                }
            item.append("lookupInfo", .object(info.json))
            items.append(.object(item))
        }
        return ["users": .array(items)]
    }

    private func user(named name: String) async throws(StoreError) -> JSONObject {
        let id = container.userRecordID(for: name)
        var item: JSONObject = ["userRecordName": .string(id.recordName)]
        if let identity = try await identity(UserIdentity.LookupInfo(userRecordID: id)) {
            item.append(identity.nameComponents)
        } else {
            item.append(gateway.json(StoreError(.unknownItem, "there is no such user")))
        }
        return item
    }

    /// An error where there is none of that address, or one who does not want to be found.
    private func user(
        at address: UserIdentity.LookupInfo
    ) async throws(StoreError) -> JSONObject {
        guard let identity = try await identity(address) else {
            return gateway.json(StoreError(.unknownItem, "there is no user of that address"))
        }
        var item = JSONObject()
        item.append("userRecordName", (identity.userRecordID?.recordName).map(JSONValue.string))
        item.append(identity.nameComponents)
        return item
    }

    /// A page of users, each as `json` writes it.
    fileprivate func page(
        _ page: UserPageInput, onlyDiscoverable: Bool, _ json: (UserInfo) -> JSONObject
    ) async throws(StoreError) -> JSONObject {
        var users: [JSONValue] = []
        var last = page.last
        var cursor = last == 0 ? nil : UserPage.Cursor(after: last)
        while true {
            let found = try await container.users(resultsLimit: page.limit, from: cursor)
            for user in found.users {
                if !onlyDiscoverable || user.profile?.isDiscoverable == true {
                    guard users.count < page.limit else {
                        return [
                            "users": .array(users), "continuationMarker": .string(String(last)),
                        ]
                    }
                    users.append(.object(json(user)))
                }
                last = user.number
            }
            cursor = found.cursor
            if cursor == nil { return ["users": .array(users)] }
        }
    }
}

extension UserInfo {
    /// All that the store knows of the user.
    fileprivate var json: JSONObject {
        var object: JSONObject = ["userRecordName": .string(userRecordID.recordName)]
        object.append("userName", userName.map(JSONValue.string))
        if let profile { object.append(profile) }
        return object
    }
}
