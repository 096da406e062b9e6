internal import StratusEngine

/// A compartment of a database: records, their feed, and what is atomic lie inside one zone.
///
/// Rules: `Formats/README.md`, "Zones" (after CloudKit's record zones).
public struct RecordZone: Hashable, Sendable {
    /// The name of a zone and the user who owns it.
    public struct ID: Hashable, Sendable, Codable {
        /// By reference: an identity stands in each record and each reference to one.
        private final class Names: Sendable {
            let zone: String
            let owner: String

            init(zone: String, owner: String) {
                self.zone = zone
                self.owner = owner
            }
        }

        private enum CodingKeys: CodingKey {
            case zoneName, ownerName
        }

        private var names: Names

        /// ASCII, 1 to 255 characters; names of the store's own begin with `_`.
        public var zoneName: String {
            get { names.zone }
            set { names = Names(zone: newValue, owner: names.owner) }
        }

        /// The owner's user record name, or `__defaultOwner__` for the caller's own.
        public var ownerName: String {
            get { names.owner }
            set { names = Names(zone: names.zone, owner: newValue) }
        }

        /// The zone `zoneName` of the current user.
        public init(zoneName: String, ownerName: String = ID.currentUser) {
            names = Names(zone: zoneName, owner: ownerName)
        }

        /// From an object with `zoneName` and `ownerName`.
        public init(from decoder: any Decoder) throws {
            let values = try decoder.container(keyedBy: CodingKeys.self)
            self.init(
                zoneName: try values.decode(String.self, forKey: .zoneName),
                ownerName: try values.decode(String.self, forKey: .ownerName))
        }

        /// As an object with `zoneName` and `ownerName`.
        public func encode(to encoder: any Encoder) throws {
            var values = encoder.container(keyedBy: CodingKeys.self)
            try values.encode(zoneName, forKey: .zoneName)
            try values.encode(ownerName, forKey: .ownerName)
        }

        /// Whether both names are equal.
        public static func == (left: ID, right: ID) -> Bool {
            left.names === right.names
                || left.zoneName == right.zoneName && left.ownerName == right.ownerName
        }

        /// By both names.
        public func hash(into hasher: inout Hasher) {
            hasher.combine(zoneName)
            hasher.combine(ownerName)
        }

        /// Stands for the user who asks.
        public static let currentUser = "__defaultOwner__"
        /// The zone that every database has.
        public static let `default` = ID(zoneName: ZoneEntry.defaultName)

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
