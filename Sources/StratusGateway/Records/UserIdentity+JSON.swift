package import Stratus

// Users as answers have them.

extension UserIdentity {
    /// As far as the caller may know the user.
    var json: JSONObject {
        var object = JSONObject()
        object.append("userRecordName", (userRecordID?.recordName).map(JSONValue.string))
        object.append("nameComponents", (nameComponents?.json).map(JSONValue.object))
        object.append("lookupInfo", (lookupInfo?.json).map(JSONValue.object))
        return object
    }
}

extension UserIdentity.LookupInfo {
    /// The one key that it has.
    var json: JSONObject {
        var object = JSONObject()
        object.append("emailAddress", emailAddress.map(JSONValue.string))
        object.append("phoneNumber", phoneNumber.map(JSONValue.string))
        object.append("userRecordName", (userRecordID?.recordName).map(JSONValue.string))
        return object
    }
}

extension PersonName {
    /// Nil where no name is known.
    var json: JSONObject? {
        var object = JSONObject()
        object.append("givenName", givenName.map(JSONValue.string))
        object.append("familyName", familyName.map(JSONValue.string))
        return object.members.isEmpty ? nil : object
    }
}

extension JSONObject {
    /// A user's name in both forms that Web Services has.
    mutating func append(_ name: PersonName?) {
        guard let name, let json = name.json else { return }
        append("nameComponents", .object(json))
        append("firstName", name.givenName.map(JSONValue.string))
        append("lastName", name.familyName.map(JSONValue.string))
    }

    /// What the host has said of a user, for the host and those who look into its store.
    package mutating func append(_ profile: UserProfile) {
        append(profile.name)
        append("lookupInfos", .array(profile.addresses.map { .object($0.json) }))
        append("isDiscoverable", .boolean(profile.isDiscoverable))
        append("accountStatus", .string("\(profile.accountStatus)"))
    }
}
