public import FoundationEssentials
internal import StratusBytes
internal import StratusJournal
internal import StratusEngine

/// How far a reader has followed the changes of a zone or of a database.
///
/// Opaque: it can be kept, sent and compared for equality, nothing else. It stays good for as long
/// as the history behind it is kept. The difference of two tokens tells their holder about how many
/// bytes all users of the store wrote in between. Layout: `Formats/Token.md`.
public struct ChangeToken: Hashable, Sendable {
    enum Scope: UInt8, Sendable {
        case zone = 1
        case database = 2
    }

    var scope: Scope
    var storeID: StoreID
    /// Tells copies of the store apart.
    private(set) var lineage: UInt64
    var database: UInt32
    /// 0 in the token of a database.
    var zone: UInt32
    /// A version: everything at or below was seen. A database's counts the changes of its zones by
    /// their offsets, with the incarnation of the store.
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
        zone = scope == .zone ? span.uint32(at: 30) : 0
        let place = scope == .zone ? 34 : 30
        position = Version(rawValue: span.uint64(at: place))
        guard isAmidFetch else { return }
        fetchFloor = Version(rawValue: span.uint64(at: place + 8))
        guard fetchFloor != .none else { throw Self.damaged("fetchFloor", byte: place + 8) }
        fetchHead = Version(rawValue: span.uint64(at: place + 16))
    }

    /// In bytes, with the checksum.
    private static func length(_ scope: Scope, isAmidFetch: Bool) -> Int {
        42 + (scope == .zone ? 4 : 0) + (isAmidFetch ? 16 : 0)
    }

    private static func damaged(_ kind: String, byte: Int) -> StoreError {
        var error = StoreError(.invalidArguments, "the change token is damaged")
        error.place = StoreError.Place(file: "", byte: byte, kind: "token.\(kind)")
        return error
    }

    /// The token as bytes.
    public var data: Data {
        let isAmidFetch = fetchFloor != .none
        var writer = ByteWriter(capacity: Self.length(scope, isAmidFetch: isAmidFetch))
        writer.uint8(Self.format)
        writer.uint8(scope.rawValue | (isAmidFetch ? Self.amidFetch : 0))
        storeID.write(to: &writer)
        writer.uint64(lineage)
        writer.uint32(database)
        if scope == .zone { writer.uint32(zone) }
        writer.uint64(position.rawValue)
        if isAmidFetch {
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
