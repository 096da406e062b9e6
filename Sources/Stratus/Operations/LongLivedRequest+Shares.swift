internal import StratusBytes
internal import StratusEngine

// What is changed of a share, as the entry of a request has it: `Formats/Record.md`, "Request".

extension RequestBody.ShareEdit {
    init(_ edit: ShareEdit) {
        let creation: Creation? =
            switch edit.creation {
            case .root(let id, let isTouched)?:
                .root(RequestBody.Name(id), isTouched: isTouched)
            case .zone?: .zone
            case nil: nil
            }
        self.init(
            creation: creation,
            publicPermission: edit.publicPermission.map { UInt8($0.rawValue) },
            participants: edit.participants.map { list in list.compactMap { Participant($0) } })
    }

    /// Fails where a part has no meaning.
    var edit: ShareEdit {
        get throws {
            var edit = ShareEdit()
            switch creation {
            case .root(let name, let isTouched)?:
                edit.creation = .root(name.id, isTouched: isTouched)
            case .zone?: edit.creation = .zone
            case nil: break
            }
            edit.publicPermission = try publicPermission.map { try Share.Permission(stored: $0) }
            edit.participants = try participants.map { list in
                try list.map { try $0.participant }
            }
            return edit
        }
    }
}

extension RequestBody.ShareEdit.Participant {
    /// Nil of one that is not in the list that is saved: the owner, and who was removed.
    fileprivate init?(_ participant: Share.Participant) {
        guard participant.role != .owner, participant.acceptanceStatus != .removed,
            let id = participant.bits
        else { return nil }
        let identity = participant.userIdentity
        let lookup = identity.lookupInfo?.stored ?? (0, "")
        self.init(
            id: id, role: UInt8(participant.role.rawValue),
            permission: UInt8(participant.permission.rawValue),
            user: identity.userRecordID?.recordName, lookupKind: lookup.0, lookup: lookup.1)
    }

    fileprivate var participant: Share.Participant {
        get throws {
            guard let role = Share.Role(rawValue: Int(role)) else {
                throw FormatError.value("role")
            }
            let identity = UserIdentity(
                userRecordID: user.map { Record.ID(recordName: $0) },
                lookupInfo: UserIdentity.LookupInfo(storedKind: lookupKind, lookup))
            return Share.Participant(
                id, identity, role, try Share.Permission(stored: permission), .pending, added: nil)
        }
    }
}

extension Share.Permission {
    fileprivate init(stored number: UInt8) throws {
        guard let permission = Self(rawValue: Int(number)) else {
            throw FormatError.value("permission")
        }
        self = permission
    }
}
