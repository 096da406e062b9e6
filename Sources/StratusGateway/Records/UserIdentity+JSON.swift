internal import Stratus

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
