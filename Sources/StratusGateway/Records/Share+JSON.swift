package import Stratus

extension Share.Permission {
    /// What Web Services calls it: semantics 8.5.
    package var word: String { PermissionWord(self).rawValue }
}

extension Share.Participant {
    /// For answers and output.
    package var json: JSONObject {
        let role = JSONValue.string(RoleWord(role).rawValue)
        return [
            "participantId": .string(participantID),
            "userIdentity": .object(userIdentity.json), "role": role, "type": role,
            "permission": .string(permission.word),
            "acceptanceStatus": .string(AcceptanceWord(acceptanceStatus).rawValue),
        ]
    }
}
