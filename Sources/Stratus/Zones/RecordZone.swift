internal import StratusEngine

/// A compartment of a database: records, their feed, and what is atomic lie inside one zone.
///
/// Rules: `Formats/README.md`, "Zones" (after CloudKit's record zones).
public struct RecordZone: Hashable, Sendable {
    /// The name of a zone and the user who owns it.
    public struct ID: Hashable, Sendable, Codable {
        /// ASCII, 1 to 255 characters; names of the store's own begin with `_`.
        public var zoneName: String
        /// The owner's user record name, or `__defaultOwner__` for the caller's own.
        public var ownerName: String

        /// The zone `zoneName` of the current user.
        public init(zoneName: String, ownerName: String = ID.currentUser) {
            self.zoneName = zoneName
            self.ownerName = ownerName
        }

        /// Stands for the user who asks.
        public static let currentUser = "__defaultOwner__"
        /// The zone that every database has.
        public static let `default` = ID(zoneName: "_defaultZone")

        /// Whether this is the zone that every database has.
        public var isDefault: Bool { zoneName == ID.default.zoneName }
    }

    /// What a zone can do.
    public struct Capabilities: OptionSet, Hashable, Sendable {
        /// CloudKit's bits.
        public let rawValue: UInt8
        /// The capabilities of these bits.
        public init(rawValue: UInt8) { self.rawValue = rawValue }

        /// Changes since a token can be fetched.
        public static let fetchChanges = Capabilities(rawValue: 1)
        /// A batch is applied whole or not at all.
        public static let atomic = Capabilities(rawValue: 2)
        /// Record hierarchies can be shared.
        public static let sharing = Capabilities(rawValue: 4)
        /// The whole zone can be shared.
        public static let zoneWideSharing = Capabilities(rawValue: 8)
    }

    /// The zone's identity.
    public let zoneID: ID
    /// Empty until the zone has been saved or fetched.
    public internal(set) var capabilities: Capabilities = []

    /// A zone of this identity, which must be saved before records can be.
    public init(zoneID: ID) { self.zoneID = zoneID }

    /// The zone `zoneName` of the current user.
    public init(zoneName: String) { zoneID = ID(zoneName: zoneName) }

    init(zoneID: ID, _ capabilities: ZoneCapabilities) {
        self.zoneID = zoneID
        self.capabilities = Capabilities(rawValue: capabilities.rawValue)
    }
}
