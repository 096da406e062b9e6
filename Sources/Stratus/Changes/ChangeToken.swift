public import FoundationEssentials
internal import StratusBytes
internal import StratusJournal

/// How far somebody has followed the changes of a zone or of a database.
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
    var database: UInt32
    /// 0 in the token of a database.
    var zone: UInt32
    /// Everything at or below was seen: a version in a zone, an offset in a database.
    var position: UInt64
    /// Of a fetch that has more pages, in the same measure as ``position``: what was deleted at or
    /// below it, the caller never knew or was told of before the fetch. 0 at the end of a fetch.
    private(set) var fetchFloor: UInt64 = 0

    private static let format: UInt8 = 1
    private static let length = 46
    private static let checkedLength = length - 4

    init(zone: ZonePlace, at version: Version, of identity: StoreIdentity) {
        scope = .zone
        storeID = identity.storeID
        database = zone.database
        self.zone = zone.number
        position = version.rawValue
    }

    init(database: UInt32, at offset: JournalOffset, of identity: StoreIdentity) {
        scope = .database
        storeID = identity.storeID
        self.database = database
        zone = 0
        position = offset.rawValue
    }

    /// The floor of a fetch that begins or goes on with the token.
    var floor: UInt64 { fetchFloor == 0 ? position : fetchFloor }

    /// Goes on at `position` in a fetch with that floor, or is at its end.
    mutating func advance(to position: UInt64?, floor: UInt64, moreComing: Bool) {
        if let position { self.position = position }
        // No entry has the version or offset 1, which stands for the beginning.
        fetchFloor = moreComing ? max(floor, 1) : 0
    }

    /// The token that ``data`` gave.
    ///
    /// - Throws: ``StoreError`` with `invalidArguments` and the place where the bytes are no token.
    public init(data: Data) throws(StoreError) {
        let bytes = [UInt8](data)
        let span = bytes.span
        guard bytes.count == Self.length else {
            throw Self.damaged("length", byte: min(bytes.count, Self.length))
        }
        guard bytes[0] == Self.format else { throw Self.damaged("format", byte: 0) }
        guard let scope = Scope(rawValue: bytes[1]) else { throw Self.damaged("scope", byte: 1) }
        guard
            UInt32(truncatingIfNeeded: Checksum.xxh3(span, in: 0..<Self.checkedLength))
                == span.uint32(at: Self.checkedLength)
        else { throw Self.damaged("checksum", byte: Self.checkedLength) }
        self.scope = scope
        storeID = StoreID(high: span.uint64(at: 2), low: span.uint64(at: 10))
        database = span.uint32(at: 18)
        zone = span.uint32(at: 22)
        position = span.uint64(at: 26)
        fetchFloor = span.uint64(at: 34)
    }

    private static func damaged(_ kind: String, byte: Int) -> StoreError {
        var error = StoreError(.invalidArguments, "the change token is damaged")
        error.place = StoreError.Place(file: "", byte: byte, kind: "token.\(kind)")
        return error
    }

    /// The token as bytes.
    public var data: Data {
        var writer = ByteWriter(capacity: Self.length)
        writer.uint8(Self.format)
        writer.uint8(scope.rawValue)
        writer.uint64(storeID.high)
        writer.uint64(storeID.low)
        writer.uint32(database)
        writer.uint32(zone)
        writer.uint64(position)
        writer.uint64(fetchFloor)
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
