package import StratusBytes

/// The entry of a notification that its user has read: `Formats/Record.md`, "Read mark".
package struct ReadMarkEntry: Equatable, Sendable {
    package var user: UInt32
    /// In microseconds since 1970. That of the commit does not outlive the commit's last entry.
    package var time: Int64
    /// Which one was read.
    package var id: NotificationID

    package init(user: UInt32, time: Int64, id: NotificationID) {
        self.user = user
        self.time = time
        self.id = id
    }

    package func write(to writer: inout ByteWriter) {
        writer.varint(user)
        writer.signedVarint(time)
        id.write(to: &writer)
    }

    package init(_ bytes: Span<UInt8>) throws(FormatError) {
        var cursor = ByteCursor()
        user = try cursor.varint32(bytes)
        guard user > 0 else { throw .value("user") }
        time = try MatchesEntry.readTime(bytes, &cursor)
        id = try NotificationID(bytes, &cursor)
        try ExtensionBlock.end(bytes, &cursor)
    }
}
