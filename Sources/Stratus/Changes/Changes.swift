public import FoundationEssentials
internal import StratusEngine

/// A page of what changed in a zone since a token.
public struct RecordZoneChanges: Sendable {
    /// A record that is gone.
    public struct Deletion: Hashable, Sendable {
        /// Which record.
        public var recordID: Record.ID
        /// Of which type it was.
        public var recordType: String
    }

    /// Records as they are now, each once, in order of their last change.
    public internal(set) var modifications: [Record] = []
    /// Records that are gone, in order of their deletion; each is reported at least once to every
    /// reader that may have seen the record.
    public internal(set) var deletions: [Deletion] = []
    /// Why changes that belong here are missing, where the caller asked to skip what is damaged:
    /// each with its ``StoreError/place`` and, where that can be read, its record.
    public internal(set) var skipped: [StoreError] = []
    /// Whether changes are missing: a copy to which the page is applied then differs from the zone,
    /// and the feed does not report those changes again after ``changeToken``.
    public var isIncomplete: Bool { !skipped.isEmpty }
    /// From where the next page, or the next fetch, goes on.
    public internal(set) var changeToken: ChangeToken
    /// Whether there is more already.
    public internal(set) var moreComing = false
    /// Whether this is the first page for no token: what is not in it and its successors does not
    /// exist.
    public internal(set) var isFullSnapshot = false
    /// What this device said last with a change in the zone: if it is not what the device sent
    /// last, that has not arrived.
    public internal(set) var clientChangeTokenData: Data?
}

/// A page of the zones of a database that changed since a token.
public struct DatabaseChanges: Sendable {
    /// A zone that is gone.
    public struct Deletion: Hashable, Sendable {
        /// Why a zone is gone.
        public enum Reason: Int, Hashable, Sendable {
            /// It was deleted.
            case deleted = 0
            /// The user's data were removed as a whole.
            case purged = 1
        }

        /// Which zone.
        public var zoneID: RecordZone.ID
        /// Why.
        public var reason: Reason
    }

    /// Zones that are new or in which something changed, each once.
    public internal(set) var modifications: [RecordZone.ID] = []
    /// Zones that are gone. One that was made again since is among the modifications only; its old
    /// tokens are expired.
    public internal(set) var deletions: [Deletion] = []
    /// Of a shared database: the places of the zones, in the same orders.
    var modifiedPlaces: [ZonePlace] = []
    var deletedPlaces: [ZonePlace] = []
    /// From where the next page, or the next fetch, goes on.
    public internal(set) var changeToken: ChangeToken
    /// Whether there is more already.
    public internal(set) var moreComing = false
    /// Whether this is the first page for no token: zones that are not in it and its successors
    /// do not exist.
    public internal(set) var isFullSnapshot = false
}
