public import FoundationEssentials
internal import StratusBytes
internal import StratusEngine
internal import StratusJournal

/// How far a user's notifications were read.
///
/// Opaque: it can be kept, sent and compared for equality, nothing else. It stays good for as long
/// as all notifications behind it are kept. Layout: `Formats/Token.md`, "Notifications".
public struct NotificationToken: Hashable, Sendable {
    var storeID: StoreID
    /// Tells copies of the store apart.
    private(set) var lineage: UInt64
    /// The number of the user; 0 of one who is not known.
    private(set) var user: UInt32
    /// A version: all notifications of entries below it were read.
    private(set) var position: Version
    /// Of the entry at the position only so many were read; 0: all.
    private(set) var taken: UInt32
    /// In microseconds since 1970: notifications from before are not needed any more.
    private(set) var time: Int64
    /// The greatest version of the state that was read last.
    private(set) var head: Version
    /// How far the shared database was read; nil: there was no subscription to it.
    private(set) var shared: ChangeToken?

    private static let format: UInt8 = 1
    private static let scope: UInt8 = 6
    /// Of all but the shared token.
    private static let length = 63
    private static let sharedPlace = 58

    init(
        user: UInt32, at position: Version, taken: Int = 0, time: Int64, head: Version,
        shared: ChangeToken?, of identity: StoreIdentity
    ) {
        storeID = identity.storeID
        lineage = identity.lineage
        self.user = user
        self.position = position
        self.taken = UInt32(truncatingIfNeeded: taken)
        self.time = time
        self.head = head
        self.shared = shared
    }

    /// The token that ``data`` gave.
    ///
    /// - Throws: ``StoreError`` with `invalidArguments` and the place where the bytes are no token.
    public init(data: Data) throws(StoreError) {
        let bytes = [UInt8](data)
        guard bytes.count >= 2 else { throw Self.damaged("length", byte: bytes.count) }
        guard bytes[0] == Self.format else { throw Self.damaged("format", byte: 0) }
        guard bytes[1] == Self.scope else { throw Self.damaged("scope", byte: 1) }
        guard bytes.count >= Self.length else { throw Self.damaged("length", byte: bytes.count) }
        let count = Int(bytes[Self.sharedPlace])
        guard bytes.count == Self.length + count else {
            throw Self.damaged("length", byte: min(bytes.count, Self.length + count))
        }
        let span = bytes.span
        let checked = bytes.count - 4
        guard
            UInt32(truncatingIfNeeded: Checksum.xxh3(span, in: 0..<checked))
                == span.uint32(at: checked)
        else { throw Self.damaged("checksum", byte: checked) }
        storeID = StoreID(span, at: 2)
        lineage = span.uint64(at: 18)
        user = span.uint32(at: 26)
        position = Version(rawValue: span.uint64(at: 30))
        taken = span.uint32(at: 38)
        time = Int64(bitPattern: span.uint64(at: 42))
        head = Version(rawValue: span.uint64(at: 50))
        guard count > 0 else { return }
        let place = Self.sharedPlace + 1
        guard let token = try? ChangeToken(data: Data(bytes[place..<place + count])),
            token.scope == .sharedDatabase, token.storeID == storeID, token.database == user
        else { throw Self.damaged("shared", byte: place) }
        shared = token
    }

    private static func damaged(_ kind: String, byte: Int) -> StoreError {
        var error = StoreError(.invalidArguments, "the notification token is damaged")
        error.place = StoreError.Place(file: "", byte: byte, kind: "token.\(kind)")
        return error
    }

    /// The token as bytes.
    public var data: Data {
        let shared = shared.map { [UInt8]($0.data) } ?? []
        var writer = ByteWriter(capacity: Self.length + shared.count)
        writer.uint8(Self.format)
        writer.uint8(Self.scope)
        storeID.write(to: &writer)
        writer.uint64(lineage)
        writer.uint32(user)
        writer.uint64(position.rawValue)
        writer.uint32(taken)
        writer.int64(time)
        writer.uint64(head.rawValue)
        writer.uint8(UInt8(shared.count))
        writer.append(shared)
        writer.uint32(UInt32(truncatingIfNeeded: Checksum.xxh3(writer.bytes.span)))
        return Data(writer.bytes)
    }
}

extension NotificationToken: LosslessStringConvertible {
    /// The token that ``description`` gave, or nil.
    public init?(_ description: String) {
        guard let data = Data(base64Encoded: description),
            let token = try? NotificationToken(data: data)
        else { return nil }
        self = token
    }

    /// The token in base64.
    public var description: String { data.base64EncodedString() }
}

extension NotificationToken {
    /// All notifications of entries at or below it were read.
    var read: JournalOffset { taken > 0 ? position.offset.previous : position.offset }

    /// That the token is one of a user's history: `Formats/Token.md`, "Notifications".
    func check(of user: UInt32, _ reading: StoreReading) throws(EngineError) {
        guard storeID == reading.identity.storeID else {
            throw .refused(.expired(.store, "the token is of another store"))
        }
        // Of a user who was not known when it was given, who had no notifications then.
        if self.user == 0, position == .none { return }
        guard self.user == user else {
            throw .refused(.expired(.user, "the token is of another user"))
        }
        try reading.checkHistory(has: position, of: lineage)
    }
}
