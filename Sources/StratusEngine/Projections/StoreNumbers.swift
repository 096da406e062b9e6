package import StratusBytes
package import StratusJournal

/// What entries may use by number, after those that were read: `Formats/Record.md`, "Numbers".
package struct StoreNumbers: Sendable {
    package private(set) var schema = Schema.empty
    /// The greatest number of a zone or a share.
    package private(set) var zoneCount: UInt32 = 0
    package private(set) var userCount: UInt32 = 0

    /// More than the entries of users and zones allow.
    private static let limit: UInt32 = 1 << 31

    package init() {}

    /// What a checkpoint keeps.
    package init(
        schema: SchemaAddition, at locations: [NamesLocation], zoneCount: UInt32, userCount: UInt32
    ) throws(FormatError) {
        guard zoneCount < Self.limit, userCount < Self.limit else { throw .value("count") }
        self.zoneCount = zoneCount
        self.userCount = userCount
        try check(schema)
        guard locations.isEmpty == schema.names.isEmpty, locations.first?.firstNumber ?? 0 == 0
        else { throw .value("location") }
        self.schema = Schema(schema, at: locations)
    }

    /// The numbers of users go up by one.
    package mutating func add(_ user: UserEntry) throws(FormatError) {
        let isNext = user.number == userCount + 1
        userCount = max(userCount, user.number)
        guard isNext else { throw .value("user number") }
    }

    /// So do those of zones; a later entry of a zone has the number of the first.
    package mutating func add(_ zone: ZoneEntry) throws(FormatError) {
        let isKnownOrNext = zone.number <= zoneCount + 1
        zoneCount = max(zoneCount, zone.number)
        guard isKnownOrNext else { throw .value("zone number") }
        guard zone.database <= userCount else { throw .value("database") }
    }

    /// Shares have numbers of the same sequence; a later entry of a share has that of the first.
    package mutating func add(_ share: ShareEntry) throws(FormatError) {
        let isKnown = share.number <= zoneCount
        let isNext = share.number == zoneCount + 1
        zoneCount = max(zoneCount, share.number)
        guard share.began == .none ? isNext : isKnown else { throw .value("share number") }
    }

    /// And so do those of names, of which each stands once; their entry lies at `offset`.
    package mutating func add(
        _ addition: SchemaAddition, at offset: JournalOffset
    ) throws(FormatError) {
        try check(addition)
        schema = schema.adding(addition, at: offset)
    }

    private func check(_ addition: SchemaAddition) throws(FormatError) {
        guard addition.firstNumber == schema.nameCount else { throw .value("first number") }
        let count = schema.nameCount + addition.names.count
        guard count <= Schema.nameLimit,
            addition.columns.allSatisfy({ max($0.0.type, $0.0.field) < count })
        else { throw .value("name number") }
        guard Set(addition.names).count == addition.names.count,
            addition.names.allSatisfy({ schema.number($0) == nil })
        else { throw .value("name") }
    }

    /// Whether that is the number of a zone or a share, living or not.
    package func hasZone(_ number: UInt32) -> Bool { number > 0 && number <= zoneCount }

    /// Whether that is the number of a user.
    package func hasUser(_ number: UInt32) -> Bool { number > 0 && number <= userCount }
}
