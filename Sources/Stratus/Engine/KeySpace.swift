internal import StratusBytes
internal import StratusIndex
internal import StratusJournal

/// The ordered maps of the index, all in one: a key begins with the zone and the map it is of, so
/// that what belongs to one tenant lies together. Zone 0 is the store's own.
enum KeySpace: UInt8 {
    // In a zone.
    case records = 1
    case feed = 2
    case types = 3
    case children = 4
    case references = 5
    case assets = 6
    case clientTokens = 12
    // In zone 0.
    case zones = 16
    case zoneNumbers = 17
    case databaseFeed = 18
    case activity = 19
    case users = 20
    case userNumbers = 21
    case marks = 22
    case usage = 23
    case chunks = 24
    case operations = 28
    case operationTimes = 29

    /// For people; number 0 is that of the marks that a zone is gone.
    static func name(of number: UInt8) -> String {
        if number == 0 { return "drops" }
        return KeySpace(rawValue: number).map { "\($0)" } ?? "keyspace \(number)"
    }

    func key(zone: UInt32 = 0) -> IndexKey { IndexKey(partition: zone).appending(rawValue) }

    /// All keys of the map, which belongs to `zone`.
    func range(zone: UInt32 = 0) -> Range<IndexKey> { key(zone: zone).asPrefix }
}

extension IndexKey {
    func appending(_ hash: Hash128) -> IndexKey { appending(hash.high, hash.low) }

    /// All keys that begin with this one.
    var asPrefix: Range<IndexKey> { self..<afterPrefix }

    /// The keys of an entry that is found by name.
    static func record(_ zone: UInt32, _ name: Hash128) -> IndexKey {
        IndexKey(
            partition: zone, keyspace: KeySpace.records.rawValue, high: name.high, low: name.low)
    }
    static func feed(_ zone: UInt32, _ version: Version) -> IndexKey {
        KeySpace.feed.key(zone: zone).appending(version.rawValue)
    }
    static func type(_ zone: UInt32, _ type: UInt32, _ name: Hash128) -> IndexKey {
        KeySpace.types.key(zone: zone).appending(type).appending(name)
    }
    /// What the keys of all children of a parent begin with.
    static func children(_ zone: UInt32, of parent: Hash128) -> IndexKey {
        KeySpace.children.key(zone: zone).appending(parent)
    }
    /// What the keys of all deleteSelf references to a target begin with.
    static func references(_ zone: UInt32, to target: Hash128) -> IndexKey {
        KeySpace.references.key(zone: zone).appending(target)
    }
    static func child(_ zone: UInt32, of parent: Hash128, _ child: Hash128) -> IndexKey {
        children(zone, of: parent).appending(child)
    }
    static func reference(
        _ zone: UInt32, to target: Hash128, from source: Hash128, in field: UInt32
    ) -> IndexKey {
        references(zone, to: target).appending(source).appending(field)
    }
    /// The record that a key of ``children(_:of:)`` or ``references(_:to:)`` is about: the child,
    /// or the source.
    var linkedRecord: Hash128 { Hash128(high: uint64(at: 21), low: uint64(at: 29)) }

    static func zone(_ database: UInt32, _ name: Hash128) -> IndexKey {
        KeySpace.zones.key().appending(database).appending(name)
    }
    static func zoneNumber(_ zone: UInt32) -> IndexKey {
        KeySpace.zoneNumbers.key().appending(zone)
    }
    static func databaseFeed(_ database: UInt32, _ offset: JournalOffset) -> IndexKey {
        KeySpace.databaseFeed.key().appending(database).appending(offset.rawValue)
    }
    static func activity(_ zone: UInt32) -> IndexKey {
        KeySpace.activity.key().appending(zone)
    }
    /// Of a database. What a zone takes stands with its last activity.
    static func usage(_ database: UInt32) -> IndexKey {
        KeySpace.usage.key().appending(database)
    }
    static func user(_ name: Hash128) -> IndexKey { KeySpace.users.key().appending(name) }
    static func userNumber(_ user: UInt32) -> IndexKey {
        KeySpace.userNumbers.key().appending(user)
    }
    static func mark(_ offset: JournalOffset) -> IndexKey {
        KeySpace.marks.key().appending(offset.rawValue)
    }
}

/// Where an entry lies, as the index keeps it.
struct EntryPlace: Equatable, Sendable {
    var offset: JournalOffset
    var version: Version
    var frameLength: Int
    /// Of a record: the entry is its tombstone. Of a zone: it was deleted.
    var isDeleted: Bool

    init(_ header: FrameHeader, at offset: JournalOffset, isDeleted: Bool) {
        self.offset = offset
        version = header.version
        frameLength = header.frameLength
        self.isDeleted = isDeleted
    }

    init(_ value: IndexValue) {
        offset = JournalOffset(rawValue: value.stamp)
        version = Version(rawValue: value.first)
        frameLength = Int(value.second >> 1)
        isDeleted = value.second & 1 != 0
    }

    var value: IndexValue {
        IndexValue(
            stamp: offset.rawValue, first: version.rawValue,
            second: UInt64(frameLength) << 1 | (isDeleted ? 1 : 0))
    }
}

/// What the index says of a zone.
struct ZonePlace: Equatable, Sendable {
    var number: UInt32
    var database: UInt32
    var capabilities: RecordZone.Capabilities
    var state: ZoneState
    var incarnation: UInt16
    var offset: JournalOffset

    init(_ entry: ZoneEntry, at offset: JournalOffset) {
        number = entry.number
        database = entry.database
        capabilities = entry.capabilities
        state = entry.state
        incarnation = entry.incarnation
        self.offset = offset
    }

    init?(_ value: IndexValue) {
        guard let state = ZoneState(rawValue: UInt8(truncatingIfNeeded: value.second)) else {
            return nil
        }
        self.state = state
        number = UInt32(truncatingIfNeeded: value.first)
        database = UInt32(truncatingIfNeeded: value.first >> 32)
        capabilities = RecordZone.Capabilities(
            rawValue: UInt8(truncatingIfNeeded: value.second >> 8))
        incarnation = UInt16(truncatingIfNeeded: value.second >> 16)
        offset = JournalOffset(rawValue: value.stamp)
    }

    /// What a reading found of a zone; nil where it found nothing.
    static func decoded(_ value: IndexValue?) throws(StoreError) -> ZonePlace? {
        guard let value else { return nil }
        guard let place = ZonePlace(value) else {
            throw StoreError(.damaged(JournalDamage(.above("index.zone"), file: "", byte: 0)))
        }
        return place
    }

    var value: IndexValue {
        IndexValue(
            stamp: offset.rawValue, first: UInt64(database) << 32 | UInt64(number),
            second: UInt64(incarnation) << 16 | UInt64(capabilities.rawValue) << 8
                | UInt64(state.rawValue))
    }

    var isAlive: Bool { state == .alive }
}
