internal import Stratus

/// How a request names a user: by user record name, e-mail address or phone number.
struct LookupInfoInput: JSONBody {
    enum Key: String { case userRecordName, emailAddress, phoneNumber }

    private enum Kind { case userRecordName, emailAddress, phoneNumber }

    private let kind: Kind
    private let text: String

    init(_ keys: JSONKeys<Key>) throws(Mismatch) {
        let given: [(Kind, String?)] = [
            (.userRecordName, try keys.optional(.userRecordName)),
            (.emailAddress, try keys.optional(.emailAddress)),
            (.phoneNumber, try keys.optional(.phoneNumber)),
        ]
        let found = given.filter { $0.1 != nil }
        guard found.count == 1, let text = found[0].1 else {
            throw Mismatch("has one of userRecordName, emailAddress and phoneNumber")
        }
        guard !text.isEmpty else { throw Mismatch("has an empty name or address") }
        kind = found[0].0
        self.text = text
    }

    /// One that names a user by an e-mail address.
    init(emailAddress: String) { (kind, text) = (.emailAddress, emailAddress) }

    /// One that names a user by a phone number.
    init(phoneNumber: String) { (kind, text) = (.phoneNumber, phoneNumber) }

    /// The name, where the user is named by user record name: as the request has it.
    var userRecordName: String? { kind == .userRecordName ? text : nil }

    /// As the request has it.
    var json: JSONObject {
        switch kind {
        case .userRecordName: ["userRecordName": .string(text)]
        case .emailAddress: ["emailAddress": .string(text)]
        case .phoneNumber: ["phoneNumber": .string(text)]
        }
    }

    /// The same for a container, of whose users a plain name may stand for one.
    func lookupInfo(in container: Container) -> UserIdentity.LookupInfo {
        switch kind {
        case .userRecordName:
            UserIdentity.LookupInfo(userRecordID: container.userRecordID(for: text))
        case .emailAddress: UserIdentity.LookupInfo(emailAddress: text)
        case .phoneNumber: UserIdentity.LookupInfo(phoneNumber: text)
        }
    }
}

/// The identity of a participant. What a response says of one may be given back.
struct UserIdentityInput: JSONBody {
    enum Key: String { case userRecordName, nameComponents, lookupInfo }

    private let userRecordName: String?
    private let lookupInfo: LookupInfoInput?

    init(_ keys: JSONKeys<Key>) throws(Mismatch) {
        userRecordName = try keys.optional(.userRecordName)
        lookupInfo = try keys.optional(.lookupInfo)
        // The store knows the names of users.
        _ = try keys.optional(.nameComponents, as: JSONObject.self)
        guard userRecordName != nil || lookupInfo != nil else {
            throw Mismatch("has neither a userRecordName nor a lookupInfo")
        }
        if userRecordName?.isEmpty == true { try keys.refuse(.userRecordName, "is empty") }
    }

    func identity(in container: Container) -> UserIdentity {
        let id = userRecordName.map { container.userRecordID(for: $0) }
        let info =
            lookupInfo.map { $0.lookupInfo(in: container) }
            ?? id.map { UserIdentity.LookupInfo(userRecordID: $0) }
        return UserIdentity(userRecordID: id, lookupInfo: info)
    }
}
