internal import StratusBytes
internal import StratusJournal

/// The entry of a mark: `Formats/Record.md`, "Mark".
struct MarkEntry: Equatable, Sendable {
    /// In microseconds since 1970.
    var time: Int64
    var offset: JournalOffset
    var chain: UInt64
    var name: String

    init(time: Int64, offset: JournalOffset, chain: UInt64, name: String) {
        self.time = time
        self.offset = offset
        self.chain = chain
        self.name = name
    }

    func write(to writer: inout ByteWriter) {
        writer.int64(time)
        writer.uint64(offset.rawValue)
        writer.uint64(chain)
        writer.countedText(name)
    }

    init(_ bytes: Span<UInt8>) throws(FormatError) {
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
