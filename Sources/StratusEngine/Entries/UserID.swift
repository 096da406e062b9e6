package import StratusBytes

/// A user as the store knows one: 128 bits, written as `_` and 32 hexadecimal digits.
package struct UserID: Hashable, Sendable {
    package var bits: Hash128

    /// The user of that record name, or the one that `name` stands for: any other name is accepted,
    /// and always stands for the same user in stores with the same seed.
    package init(_ name: String, seed: Hash128) {
        if let bits = Self.bits(of: name) {
            self.bits = bits
            return
        }
        var writer = ByteWriter()
        writer.hash(seed)
        writer.text(name)
        let hash = SHA256.hash(writer.bytes).span
        bits = Hash128(high: hash.uint64(at: 0), low: hash.uint64(at: 8))
    }

    package init(bits: Hash128) { self.bits = bits }

    /// The user of that record name; nil where it is none.
    package init?(recordName: String) {
        guard let bits = Self.bits(of: recordName) else { return nil }
        self.bits = bits
    }

    package var recordName: String { bits.hexDigits(after: [UInt8(ascii: "_")]) }

    /// The bits that a name gives by itself, where it is a record name.
    fileprivate static func bits(of name: String) -> Hash128? {
        let text = name.utf8Span.span
        guard !text.isEmpty, text[0] == UInt8(ascii: "_") else { return nil }
        return Hash128(hexDigits: text.extracting(droppingFirst: 1))
    }
}

/// The entry of a user: `Formats/Record.md`, "User".
package struct UserEntry: Equatable, Sendable {
    /// From 1 on; the number of the user's private database too. 0 is the public database.
    package var number: UInt32
    package var bits: Hash128
    /// When the user was first used, in milliseconds since 1970.
    package var created: Int64
    /// What the host calls the user; empty where that is a record name, or too long to be kept.
    package var hostName: String

    /// What the host called the user, or the user record name, which stands for the same user.
    package var name: String { hostName.isEmpty ? UserID(bits: bits).recordName : hostName }

    /// Of a host name that is kept, in bytes.
    package static let hostNameLimit = 255

    package func write(to writer: inout ByteWriter) {
        writer.varint(number)
        writer.hash(bits)
        writer.signedVarint(created)
        writer.countedText(hostName)
    }

    /// Of a user that the host gave as `name`.
    package init(number: UInt32, user: UserID, name: String, created: Int64) {
        self.number = number
        bits = user.bits
        self.created = created
        let isKept = name.utf8.count <= Self.hostNameLimit && UserID.bits(of: name) == nil
        hostName = isKept ? name : ""
    }

    package init(_ bytes: Span<UInt8>) throws(FormatError) {
        var cursor = ByteCursor()
        number = try cursor.varint32(bytes)
        bits = try cursor.hash(bytes)
        created = try cursor.signedVarint(bytes)
        guard number > 0, number < 1 << 31 else { throw .value("number") }
        guard created.magnitude < 1 << 53 else { throw .value("created") }
        hostName = try cursor.text(bytes, upTo: Self.hostNameLimit)
        try ExtensionBlock.end(bytes, &cursor)
    }
}
