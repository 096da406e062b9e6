internal import FoundationEssentials
internal import StratusBytes
internal import StratusEngine

/// Shares a record with all its descendants, or a whole zone, with other users.
///
/// A share is a record of the type `cloudkit.share` in a custom zone of the owner's private database.
/// ``record`` is what is saved: together with the root, `modifyRecords(saving: [root, share.record])`.
/// Participants find the records in their shared database. Rules: `Formats/README.md`, "Sharing"
/// (after CloudKit's `CKShare`).
public struct Share: Sendable {
    /// What a participant, or anyone with the link, may do.
    public enum Permission: Int, Hashable, Sendable, CaseIterable {
        /// Nothing.
        case none = 1
        /// Read.
        case readOnly = 2
        /// Read, change, create below shared records, and delete all but the root.
        case readWrite = 3
    }

    /// What a participant is.
    public enum Role: Int, Hashable, Sendable, CaseIterable {
        /// The owner of the zone.
        case owner = 1
        /// Was invited, and may change participants and permissions.
        case administrator = 2
        /// Was invited.
        case privateUser = 3
        /// Joined by the link of a public share.
        case publicUser = 4
    }

    /// How far a participant has got.
    public enum AcceptanceStatus: Int, Hashable, Sendable, CaseIterable {
        /// Was invited.
        case pending = 1
        /// Has accepted.
        case accepted = 2
        /// Has left, or was removed.
        case removed = 3
    }

    /// The record name of the share of a whole zone.
    public static let zoneWideRecordName = "cloudkit.zoneshare"

    /// The record, with the edits of the share. Its fields are the share's.
    public var record: Record {
        get {
            var record = content
            record.share(edit)
            return record
        }
        set { content = newValue }
    }

    private var content: Record
    private var edit: ShareEdit
    private var stored: ShareContent?

    /// A new share of a record, which must be saved in the same call.
    ///
    /// - Parameter shareID: in the zone of the record; nil: `Share-` and a random name.
    public init(rootRecord: Record, shareID: Record.ID? = nil) {
        let id =
            shareID
            ?? Record.ID(
                recordName: "Share-" + UUID().uuidString, zoneID: rootRecord.recordID.zoneID)
        content = Record(recordType: Record.shareType, recordID: id)
        edit = ShareEdit(creation: .root(rootRecord.recordID, isTouched: false))
    }

    /// A new share of a whole zone.
    public init(recordZoneID: RecordZone.ID) {
        content = Record(
            recordType: Record.shareType,
            recordID: Record.ID(recordName: Self.zoneWideRecordName, zoneID: recordZoneID))
        edit = ShareEdit(creation: .zone)
    }

    /// The share that a record is; nil where it is none.
    public init?(_ record: Record) {
        guard record.recordType == Record.shareType else { return nil }
        content = record
        stored = record.shareContent
        edit = record.shareEdit ?? ShareEdit()
    }

    /// A share of which no more is known than its tag, to be edited and saved; without a root that is
    /// sent along, the store writes the root once more.
    package init(sharing root: Record.ID?, as id: Record.ID, recordChangeTag: String?) {
        content = Record(
            recordType: Record.shareType, recordID: id, recordChangeTag: recordChangeTag)
        edit = ShareEdit()
        if let root {
            edit.creation = .root(root, isTouched: true)
        } else if recordChangeTag == nil, id.recordName == Self.zoneWideRecordName {
            edit.creation = .zone
        }
    }

    /// The identity of the share's record.
    public var recordID: Record.ID { content.recordID }

    /// A field of the share's record.
    public subscript(key: String) -> RecordValue? {
        get { content[key] }
        set { content[key] = newValue }
    }

    /// The title: the field `cloudkit.title`.
    public var title: String? {
        get { if case .string(let title)? = self["cloudkit.title"] { title } else { nil } }
        set { self["cloudkit.title"] = newValue.map { .string($0) } }
    }

    /// The record at the head of the shared hierarchy; nil where the whole zone is shared.
    public var rootRecordID: Record.ID? {
        if case .root(let id, _)? = edit.creation { return id }
        return stored?.root
    }

    /// Whether the whole zone is shared.
    public var isZoneWide: Bool { recordID.recordName == Self.zoneWideRecordName }

    /// What anyone may do who has the link; ``Permission/none``: only invited participants may join.
    ///
    /// Any change removes participants who have not accepted yet, and ``Permission/none`` those who
    /// joined by the link.
    public var publicPermission: Permission {
        get { edit.publicPermission ?? stored?.publicPermission ?? .none }
        set { edit.publicPermission = newValue }
    }

    /// Stands for the share in ``Container/shareMetadata(for:as:includingRootRecord:)``: 32
    /// hexadecimal digits; nil until the share is saved. A root that is shared again has the same.
    public var shortGUID: String? { stored?.shortGUID }

    /// Who has a part in the share, as far as the caller may know: the owner first.
    public var participants: [Participant] {
        let others = edit.participants ?? stored?.participants ?? []
        return (stored?.owner).map { [$0] + others } ?? others
    }

    /// Nil until the share is saved.
    public var owner: Participant? { stored?.owner }

    /// The one that the caller is; nil until the share is saved.
    public var currentUserParticipant: Participant? { stored?.currentUser }

    /// Adds a participant, or takes it for the one with the same identity.
    ///
    /// - Throws: ``StoreError`` with `invalidArguments` where the share is public.
    public mutating func addParticipant(_ participant: Participant) throws(StoreError) {
        try checkPrivate()
        var list = edit.participants ?? stored?.participants ?? []
        if let place = list.firstIndex(where: { $0.isSameIdentity(as: participant) }) {
            list[place].role = participant.role
            list[place].permission = participant.permission
        } else {
            list.append(participant)
        }
        edit.participants = list
    }

    /// Removes a participant.
    ///
    /// - Throws: ``StoreError`` with `invalidArguments` where the share is public, or the participant is
    ///   the owner.
    public mutating func removeParticipant(_ participant: Participant) throws(StoreError) {
        try checkPrivate()
        guard participant.role != .owner else {
            throw StoreError(.invalidArguments, "the owner has a part in every share")
        }
        var list = edit.participants ?? stored?.participants ?? []
        list.removeAll { $0.isSameIdentity(as: participant) }
        edit.participants = list
    }

    /// The whole list, but for the owner.
    public mutating func setParticipants(_ participants: [Participant]) {
        edit.participants = participants.filter { $0.role != .owner }
    }

    private func checkPrivate() throws(StoreError) {
        guard publicPermission == .none else {
            throw StoreError(
                .invalidArguments,
                "a share that anyone may join has no list of participants to edit")
        }
    }
}

extension Record {
    /// The type of the records of shares.
    public static let shareType = "cloudkit.share"
}

/// What a caller changes of a share.
struct ShareEdit: Sendable, Hashable {
    enum Creation: Sendable, Hashable {
        /// Of a record, which the store writes once more where it `isTouched`.
        case root(Record.ID, isTouched: Bool)
        case zone
    }

    /// Of a new share.
    var creation: Creation?
    /// Nil: as it is.
    var publicPermission: Share.Permission?
    /// Without the owner; nil: as they are.
    var participants: [Share.Participant]?
}

/// What the store holds of a share beside the fields of its record.
struct ShareContent: Sendable, Hashable {
    /// Nil: the whole zone.
    var root: Record.ID?
    var link: Hash128
    var publicPermission: Share.Permission
    var owner: Share.Participant
    /// Without the owner, as far as the caller may know.
    var participants: [Share.Participant]
    var currentUser: Share.Participant?

    var shortGUID: String { link.hexDigits }
}
