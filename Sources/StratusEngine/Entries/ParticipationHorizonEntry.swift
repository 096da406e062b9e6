package import StratusBytes
package import StratusJournal

/// The entry that says up to where the ends of a user's participations are forgotten:
/// `Formats/Record.md`, "Participation horizon".
package struct ParticipationHorizonEntry: Equatable, Sendable {
    /// Of the user.
    package var user: UInt32
    /// The offset of the last end that is.
    package var through: JournalOffset

    package init(user: UInt32, through: JournalOffset) {
        self.user = user
        self.through = through
    }

    package func write(to writer: inout ByteWriter) {
        writer.varint(user)
        writer.uint64(through.rawValue)
    }

    package init(_ bytes: Span<UInt8>) throws(FormatError) {
        var cursor = ByteCursor()
        user = try cursor.varint32(bytes)
        guard user > 0 else { throw .value("user") }
        through = JournalOffset(rawValue: try cursor.uint64(bytes))
        try cursor.end(bytes)
    }
}

/// What is known of the parts in shares that a user had.
package struct ParticipationHorizon: Sendable {
    /// Those that ended at or before it are forgotten; zero: none is.
    package var through: JournalOffset
    /// Where the entry lies that says so.
    package var stated: JournalOffset
}
