package import StratusBytes
package import StratusJournal

/// The entry of a mark: `Formats/Record.md`, "Mark".
package struct MarkEntry: Equatable, Sendable {
    /// In microseconds since 1970.
    package var time: Int64
    /// Where the journal ended before the group that the entry is the first of: what lies before it is
    /// marked. No two marks have the same.
    package var offset: JournalOffset
    package var chain: UInt64
    package var name: String

    package init(time: Int64, offset: JournalOffset, chain: UInt64, name: String) {
        self.time = time
        self.offset = offset
        self.chain = chain
        self.name = name
    }

    package func write(to writer: inout ByteWriter) {
        writer.int64(time)
        writer.uint64(offset.rawValue)
        writer.uint64(chain)
        writer.countedText(name)
    }

    package init(_ bytes: Span<UInt8>) throws(FormatError) {
        var cursor = ByteCursor()
        time = try cursor.int64(bytes)
        offset = JournalOffset(rawValue: try cursor.uint64(bytes))
        guard offset.rawValue < JournalOffset.limit else { throw .value("offset") }
        chain = try cursor.uint64(bytes)
        name = try cursor.text(bytes, upTo: NameRules.limit)
        guard !name.isEmpty else { throw .value("name") }
        try cursor.end(bytes)
    }
}

/// The entry that removes a mark: `Formats/Record.md`, "Mark".
package struct MarkRemovalEntry: Equatable, Sendable {
    /// That of the mark.
    package var offset: JournalOffset

    package init(offset: JournalOffset) { self.offset = offset }

    package func write(to writer: inout ByteWriter) { writer.uint64(offset.rawValue) }

    package init(_ bytes: Span<UInt8>) throws(FormatError) {
        var cursor = ByteCursor()
        offset = JournalOffset(rawValue: try cursor.uint64(bytes))
        guard offset.rawValue < JournalOffset.limit else { throw .value("offset") }
        try cursor.end(bytes)
    }
}
