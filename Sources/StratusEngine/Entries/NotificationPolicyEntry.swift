package import StratusBytes

/// The entry of a notification policy: `Formats/Record.md`, "Notification policy".
package struct NotificationPolicyEntry: Equatable, Sendable {
    /// So long a notification is kept, in microseconds.
    package var lifetime: Int64
    /// So many are kept of a user at least, the latest; more only where one entry brought them.
    package var count: Int

    /// That of a store of which nothing was said: 30 days, and 10,000 of a user.
    package static let standard = NotificationPolicyEntry(
        lifetime: 30 * 86_400_000_000, count: 10_000)

    /// Of a lifetime, in microseconds.
    package static let lifetimeLimit = Int64(1) << 60
    package static let countLimit = 1 << 20

    package init(lifetime: Int64, count: Int) {
        self.lifetime = lifetime
        self.count = count
    }

    package func write(to writer: inout ByteWriter) {
        writer.varint(Int(lifetime))
        writer.varint(count)
    }

    package init(_ bytes: Span<UInt8>) throws(FormatError) {
        var cursor = ByteCursor()
        lifetime = Int64(try cursor.count(bytes, upTo: Int(Self.lifetimeLimit)))
        count = try cursor.count(bytes, upTo: Self.countLimit)
        guard lifetime > 0 else { throw .value("lifetime") }
        guard count > 0 else { throw .value("count") }
        try cursor.end(bytes)
    }
}
