public import FoundationEssentials
internal import StratusBytes
internal import StratusJournal
internal import StratusEngine

/// How far a reader has followed the changes of a zone, of a database or of the store.
///
/// Opaque: it can be kept, sent and compared for equality, nothing else. It stays good for as long
/// as the history behind it is kept. The difference of two tokens tells their holder about how many
/// bytes all users of the store wrote in between. Layout: `Formats/Token.md`.
public struct ChangeToken: Hashable, Sendable {
    enum Scope: UInt8, Sendable {
        case zone = 1
        case database = 2
        // 3 is the mark of a query's cursor.
        case sharedZone = 4
        case sharedDatabase = 5
        // 6 is the mark of a token of notifications.
        case store = 7

        /// Whether it is of a participant, who reads in rounds.
        var isShared: Bool { self == .sharedZone || self == .sharedDatabase }
        var hasZone: Bool { self == .zone || self == .sharedZone }
    }

    /// How far a participant has come in a round: `Formats/Token.md`, "Rounds".
    struct Round: Hashable, Sendable {
        /// Where the feed ended when the round began; the token's position: it has ended.
        var bound: Version
        /// The last version of the state that the page was read in: what lay behind the page there may
        /// lie before it in a history without it.
        var head = Version.none
        /// Of a zone: the share that was left and whose rows are gone through, 0 once that is done. Of
        /// a database: the last zone.
        var place: UInt32 = 0
        /// Of a zone: the last row.
        var row = Version.none
        var ordinal: UInt8 = 0
    }

    var scope: Scope
    var storeID: StoreID
    /// Of a participant amid a round.
    private(set) var round: Round?
    /// Tells copies of the store apart.
    private(set) var lineage: UInt64
    /// The number of a database or, of a participant, that of the user; 0 in the token of a store.
    var database: UInt32
    /// 0 in the token of a database or a store.
    var zone: UInt32
    /// A version: everything at or below was seen. A database's counts the changes of its zones by
    /// their offsets, with the incarnation of the store; so does a store's.
    var position: Version
    /// Of a fetch that has more pages: what was deleted at or below it, the caller never knew or was
    /// told of before the fetch. ``Version/none`` at the end of a fetch.
    private(set) var fetchFloor = Version.none
    /// Of a fetch that has more pages: the last change of the feed when the page was read. What lay
    /// behind the page there may lie before it in a history without that change.
    private(set) var fetchHead = Version.none

    private static let format: UInt8 = 1
    /// Of the byte that tells the scope: a fetch floor and head follow.
    private static let amidFetch: UInt8 = 0x80

    init(zone: ZonePlace, at version: Version, of identity: StoreIdentity) {
        scope = .zone
        storeID = identity.storeID
        lineage = identity.lineage
        database = zone.database
        self.zone = zone.number
        position = version
    }

    init(database: UInt32, at version: Version, of identity: StoreIdentity) {
        scope = .database
        storeID = identity.storeID
        lineage = identity.lineage
        self.database = database
        zone = 0
        position = version
    }

    /// Of a participant, by number, in a zone or, where that is nil, in all.
    init(
        participant: UInt32, in zone: UInt32?, at version: Version, of identity: StoreIdentity
    ) {
        scope = zone == nil ? .sharedDatabase : .sharedZone
        storeID = identity.storeID
        lineage = identity.lineage
        database = participant
        self.zone = zone ?? 0
        position = version
    }

    /// Of all databases.
    init(storeAt version: Version, of identity: StoreIdentity) {
        self.init(database: 0, at: version, of: identity)
        scope = .store
    }

    /// A store's goes on, as a token of this store.
    mutating func goOn(to version: Version, of identity: StoreIdentity) {
        lineage = identity.lineage
        position = version
    }

    /// Goes on amid a round, or at its end, behind a page that was read when `head` was the last version.
    mutating func goOn(
        _ round: Round, isAtEnd: Bool, moreComing: Bool, head: Version, of identity: StoreIdentity
    ) {
        lineage = identity.lineage
        if isAtEnd { position = round.bound }
        self.round = round
        self.round?.head = head
        if isAtEnd { self.round = moreComing ? Round(bound: position, head: head) : nil }
    }

    /// The same token as one that `identity` gives for a zone, which knows of nothing behind `last`.
    func given(
        for zone: ZonePlace, by identity: StoreIdentity, through last: Version
    ) -> ChangeToken {
        var token = knowing(through: last)
        token.storeID = identity.storeID
        token.lineage = identity.lineage
        token.database = zone.database
        token.zone = zone.number
        return token
    }

    /// The same token in a history of which the one that it is from has a part, up to a version: what
    /// was deleted behind that is news to its reader, whatever the floor of the fetch says.
    func knowing(through last: Version) -> ChangeToken {
        var token = self
        token.fetchFloor = min(fetchFloor, last)
        return token
    }

    /// Whether it is of a fetch that has more pages.
    var isAmidFetch: Bool { fetchFloor != .none || round != nil }

    /// The floor of a fetch that begins or goes on with the token.
    var floor: Version { fetchFloor == .none ? position : fetchFloor }

    /// Goes on at `position` in a fetch with that floor, whose page was read when `head` was the last
    /// change of the feed, or is at its end, as a token of this store.
    mutating func advance(
        to position: Version?, floor: Version, head: Version, moreComing: Bool,
        of identity: StoreIdentity
    ) {
        lineage = identity.lineage
        if let position { self.position = position }
        // No entry has the version 1, which stands for the beginning.
        fetchFloor = moreComing ? max(floor, Version(rawValue: 1)) : .none
        fetchHead = moreComing ? head : .none
    }

    /// Whether parts that a participant saw at the token's position may have ended and been forgotten,
    /// which its round does not know of. ``beginRound(at:)`` makes it good again.
    func isForgotten(by horizon: ParticipationHorizon) -> Bool {
        guard position != .none, position.offset < horizon.through else { return false }
        return round.map { $0.bound.offset < horizon.stated } ?? true
    }

    /// A participant's goes on from the same position in a round that tells of what is known when
    /// `head` is the last version.
    mutating func beginRound(at head: Version) { round = Round(bound: head, head: head) }

    /// Its reader has seen all up to a version, whatever entry was the last.
    mutating func pass(_ version: Version) { position = max(position, version) }

    /// The token that ``data`` gave.
    ///
    /// - Throws: ``StoreError`` with `invalidArguments` and the place where the bytes are no token.
    public init(data: Data) throws(StoreError) {
        let bytes = [UInt8](data)
        guard bytes.count >= 2 else { throw Self.damaged("length", byte: bytes.count) }
        guard bytes[0] == Self.format else { throw Self.damaged("format", byte: 0) }
        guard let scope = Scope(rawValue: bytes[1] & ~Self.amidFetch) else {
            throw Self.damaged("scope", byte: 1)
        }
        let isAmidFetch = bytes[1] & Self.amidFetch != 0
        guard !isAmidFetch || scope != .store else { throw Self.damaged("scope", byte: 1) }
        let length = Self.length(scope, isAmidFetch: isAmidFetch)
        guard bytes.count == length else {
            throw Self.damaged("length", byte: min(bytes.count, length))
        }
        let span = bytes.span
        let checked = length - 4
        guard
            UInt32(truncatingIfNeeded: Checksum.xxh3(span, in: 0..<checked))
                == span.uint32(at: checked)
        else { throw Self.damaged("checksum", byte: checked) }
        self.scope = scope
        storeID = StoreID(span, at: 2)
        lineage = span.uint64(at: 18)
        database = span.uint32(at: 26)
        zone = scope.hasZone ? span.uint32(at: 30) : 0
        let place = scope.hasZone ? 34 : 30
        position = Version(rawValue: span.uint64(at: place))
        guard isAmidFetch else { return }
        guard !scope.isShared else {
            var round = Round(bound: Version(rawValue: span.uint64(at: place + 8)))
            round.head = Version(rawValue: span.uint64(at: place + 16))
            round.place = span.uint32(at: place + 24)
            if scope == .sharedZone {
                round.row = Version(rawValue: span.uint64(at: place + 28))
                let ordinal = span.uint32(at: place + 36)
                guard let ordinal = UInt8(exactly: ordinal) else {
                    throw Self.damaged("ordinal", byte: place + 36)
                }
                round.ordinal = ordinal
            }
            guard round.bound >= position, round.bound != .none else {
                throw Self.damaged("bound", byte: place + 8)
            }
            guard round.head >= round.bound else { throw Self.damaged("head", byte: place + 16) }
            guard round.row <= round.head else { throw Self.damaged("row", byte: place + 28) }
            self.round = round
            return
        }
        fetchFloor = Version(rawValue: span.uint64(at: place + 8))
        guard fetchFloor != .none else { throw Self.damaged("fetchFloor", byte: place + 8) }
        fetchHead = Version(rawValue: span.uint64(at: place + 16))
    }

    /// In bytes, with the checksum.
    private static func length(_ scope: Scope, isAmidFetch: Bool) -> Int {
        let amid =
            switch scope {
            case .store: 0
            case .zone, .database: 16
            case .sharedZone: 32
            case .sharedDatabase: 20
            }
        return 42 + (scope.hasZone ? 4 : 0) + (isAmidFetch ? amid : 0)
    }

    private static func damaged(_ kind: String, byte: Int) -> StoreError {
        var error = StoreError(.invalidArguments, "the change token is damaged")
        error.place = StoreError.Place(file: "", byte: byte, kind: "token.\(kind)")
        return error
    }

    /// The token as bytes.
    public var data: Data {
        var writer = ByteWriter(capacity: Self.length(scope, isAmidFetch: isAmidFetch))
        writer.uint8(Self.format)
        writer.uint8(scope.rawValue | (isAmidFetch ? Self.amidFetch : 0))
        storeID.write(to: &writer)
        writer.uint64(lineage)
        writer.uint32(database)
        if scope.hasZone { writer.uint32(zone) }
        writer.uint64(position.rawValue)
        if let round {
            writer.uint64(round.bound.rawValue)
            writer.uint64(round.head.rawValue)
            writer.uint32(round.place)
            if scope == .sharedZone {
                writer.uint64(round.row.rawValue)
                writer.uint32(UInt32(round.ordinal))
            }
        } else if isAmidFetch {
            writer.uint64(fetchFloor.rawValue)
            writer.uint64(fetchHead.rawValue)
        }
        writer.uint32(UInt32(truncatingIfNeeded: Checksum.xxh3(writer.bytes.span)))
        return Data(writer.bytes)
    }
}

extension ChangeToken: LosslessStringConvertible {
    /// The token that ``description`` gave, or nil.
    public init?(_ description: String) {
        guard let data = Data(base64Encoded: description), let token = try? ChangeToken(data: data)
        else { return nil }
        self = token
    }

    /// The token in base64.
    public var description: String { data.base64EncodedString() }
}
