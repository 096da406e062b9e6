package import StratusBytes

// What a request changes of a share: `Formats/Record.md`, "Request", a save with flag 8.
extension RequestBody {
    package struct ShareEdit: Equatable, Sendable {
        package enum Creation: Equatable, Sendable {
            /// Of a record, which the store writes once more where it `isTouched`.
            case root(Name, isTouched: Bool)
            case zone
        }

        package struct Participant: Equatable, Sendable {
            package var id: Hash128
            /// CloudKit's numbers.
            package var role: UInt8
            package var permission: UInt8
            /// The name of the user's record.
            package var user: String?
            /// By what the user is looked for, as the entry of a participant has it.
            package var lookupKind: UInt8
            package var lookup: String

            package init(
                id: Hash128, role: UInt8, permission: UInt8, user: String?, lookupKind: UInt8,
                lookup: String
            ) {
                self.id = id
                self.role = role
                self.permission = permission
                self.user = user
                self.lookupKind = lookupKind
                self.lookup = lookup
            }
        }

        /// Of a new share.
        package var creation: Creation?
        /// CloudKit's number; nil: as it is.
        package var publicPermission: UInt8?
        /// Nil: as they are.
        package var participants: [Participant]?

        package init(
            creation: Creation?, publicPermission: UInt8?, participants: [Participant]?
        ) {
            self.creation = creation
            self.publicPermission = publicPermission
            self.participants = participants
        }
    }
}

extension RequestBody.ShareEdit {
    private enum Kind {
        static let change: UInt8 = 0
        static let root: UInt8 = 1
        static let touchedRoot: UInt8 = 2
        static let zone: UInt8 = 3
    }

    func write(to writer: inout ByteWriter) {
        switch creation {
        case nil: writer.uint8(Kind.change)
        case .root(let name, let isTouched)?:
            writer.uint8(isTouched ? Kind.touchedRoot : Kind.root)
            name.write(to: &writer)
        case .zone?: writer.uint8(Kind.zone)
        }
        writer.uint8(publicPermission ?? 0)
        writer.varint(participants.map { $0.count + 1 } ?? 0)
        for participant in participants ?? [] { participant.write(to: &writer) }
    }

    init(_ bytes: Span<UInt8>, _ cursor: inout ByteCursor) throws(FormatError) {
        let kind = try cursor.uint8(bytes)
        switch kind {
        case Kind.change: creation = nil
        case Kind.root, Kind.touchedRoot:
            creation = .root(
                try RequestBody.Name(bytes, &cursor), isTouched: kind == Kind.touchedRoot)
        case Kind.zone: creation = .zone
        default: throw .newer("share edit")
        }
        let permission = try cursor.uint8(bytes)
        guard permission == 0 || ShareEntry.permissions.contains(permission) else {
            throw .newer("permission")
        }
        publicPermission = permission == 0 ? nil : permission
        participants = nil
        let count = try cursor.count(bytes, upTo: cursor.remaining(bytes) + 1)
        guard count > 0 else { return }
        var list: [Participant] = []
        for _ in 1..<count { list.append(try Participant(bytes, &cursor)) }
        participants = list
    }
}

extension RequestBody.ShareEdit.Participant {
    fileprivate func write(to writer: inout ByteWriter) {
        writer.hash(id)
        writer.uint8(role)
        writer.uint8(permission)
        writer.optionalText(user)
        writer.uint8(lookupKind)
        writer.countedText(lookup)
    }

    fileprivate init(_ bytes: Span<UInt8>, _ cursor: inout ByteCursor) throws(FormatError) {
        id = try cursor.hash(bytes)
        role = try cursor.uint8(bytes)
        guard ParticipantEntry.roles.contains(role) else { throw .newer("role") }
        permission = try cursor.uint8(bytes)
        guard ShareEntry.permissions.contains(permission) else { throw .newer("permission") }
        user = try cursor.optionalText(bytes)
        lookupKind = try cursor.uint8(bytes)
        guard lookupKind <= 3 else { throw .newer("lookup kind") }
        lookup = try cursor.text(bytes, upTo: RequestBody.textLimit)
    }
}
