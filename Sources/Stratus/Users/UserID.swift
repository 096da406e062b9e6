internal import StratusBytes

/// A user as the store knows one: 128 bits, written as `_` and 32 hexadecimal digits.
struct UserID: Sendable {
    var bits: Hash128
    /// The name that the host gave; empty where it gave a record name or one that is longer than a
    /// store keeps, and for a user that was found in the store.
    private(set) var hostName = ""

    /// Of a name that a store keeps, in bytes.
    static let hostNameLimit = 255

    /// The user of that record name, or the one that `name` stands for: any other name is accepted,
    /// and always stands for the same user in stores with the same seed.
    init(_ name: String, seed: Hash128) {
        if let bits = Self.bits(of: name) {
            self.bits = bits
            return
        }
        var writer = ByteWriter()
        writer.hash(seed)
        writer.text(name)
        let hash = SHA256.hash(writer.bytes).span
        bits = Hash128(high: hash.uint64(at: 0), low: hash.uint64(at: 8))
        if name.utf8.count <= Self.hostNameLimit { hostName = name }
    }

    init(bits: Hash128) { self.bits = bits }

    /// The user of that record name; nil where it is none.
    init?(recordName: String) {
        guard let bits = Self.bits(of: recordName) else { return nil }
        self.bits = bits
        guard self.recordName == recordName else { return nil }
    }

    var recordName: String { "_" + Hex.encode(bits.high) + Hex.encode(bits.low) }

    private static func bits(of name: String) -> Hash128? {
        guard name.utf8.count == 33, name.utf8.first == UInt8(ascii: "_"),
            let bytes = Hex.decode(String(decoding: name.utf8.dropFirst(), as: UTF8.self)),
            bytes.count == 16
        else { return nil }
        let word = { (range: Range<Int>) in bytes[range].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        }
        return Hash128(high: word(0..<8), low: word(8..<16))
    }
}

extension UserID: Hashable {
    static func == (left: UserID, right: UserID) -> Bool { left.bits == right.bits }

    func hash(into hasher: inout Hasher) { hasher.combine(bits) }
}

/// The entry of a user: `Formats/Record.md`, "User".
struct UserEntry: Equatable, Sendable {
    /// From 1 on; the number of the user's private database too. 0 is the public database.
    var number: UInt32
    var bits: Hash128
    /// When the user was first used, in milliseconds since 1970.
    var created: Int64
    /// As of ``UserID/hostName``.
    var hostName: String

    func write(to writer: inout ByteWriter) {
        writer.varint(number)
        writer.hash(bits)
        writer.signedVarint(created)
        writer.countedText(hostName)
    }

    init(number: UInt32, user: UserID, created: Int64) {
        self.number = number
        bits = user.bits
        self.created = created
        hostName = user.hostName
    }

    init(_ bytes: Span<UInt8>) throws(FormatError) {
        var cursor = ByteCursor()
        number = try cursor.varint32(bytes)
        bits = try cursor.hash(bytes)
        created = try cursor.signedVarint(bytes)
        guard number > 0, number < 1 << 31 else { throw .value("number") }
        guard created.magnitude < 1 << 53 else { throw .value("created") }
        hostName = try cursor.text(bytes, upTo: UserID.hostNameLimit)
        try ExtensionBlock.end(bytes, &cursor)
    }
}
