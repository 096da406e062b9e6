package import StratusBytes

/// The entry of a user's badge: `Formats/Record.md`, "Badge".
package struct BadgeEntry: Equatable, Sendable {
    package var user: UInt32
    package var value: UInt32

    package init(user: UInt32, value: UInt32) {
        self.user = user
        self.value = value
    }

    package func write(to writer: inout ByteWriter) {
        writer.varint(user)
        writer.varint(value)
    }

    package init(_ bytes: Span<UInt8>) throws(FormatError) {
        var cursor = ByteCursor()
        user = try cursor.varint32(bytes)
        guard user > 0 else { throw .value("user") }
        value = try cursor.varint32(bytes)
        try ExtensionBlock.end(bytes, &cursor)
    }
}
