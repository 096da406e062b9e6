package import StratusBytes
package import StratusJournal

/// The entry that says up to where the deletions of its zone are forgotten: `Formats/Record.md`,
/// "Horizon".
package struct HorizonEntry: Equatable, Sendable {
    /// The offset of the last deletion that is.
    package var through: JournalOffset

    package init(through: JournalOffset) { self.through = through }

    package func write(to writer: inout ByteWriter) { writer.uint64(through.rawValue) }

    package init(_ bytes: Span<UInt8>) throws(FormatError) {
        var cursor = ByteCursor()
        through = JournalOffset(rawValue: try cursor.uint64(bytes))
        try cursor.end(bytes)
    }
}
