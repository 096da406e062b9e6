internal import StratusBytes
internal import StratusJournal

/// Where an entry `names` that has names lies, and the number of the first of them.
struct NamesLocation: Hashable, Sendable {
    var firstNumber: UInt32
    var offset: JournalOffset

    /// As ``write(_:to:)`` writes it.
    var lengthInBytes: Int {
        ByteWriter.varintLength(UInt64(firstNumber)) + ByteWriter.varintLength(offset.rawValue)
    }

    static func write(_ locations: [NamesLocation], to writer: inout ByteWriter) {
        writer.varint(locations.count)
        for location in locations {
            writer.varint(location.firstNumber)
            writer.varint(location.offset.rawValue)
        }
    }

    /// Locations in the order of the journal, of the names with numbers below `nameCount`.
    static func list(
        _ bytes: Span<UInt8>, _ cursor: inout ByteCursor, nameCount: Int
    ) throws(FormatError) -> [NamesLocation] {
        var locations: [NamesLocation] = []
        for _ in 0..<(try cursor.count(bytes, upTo: cursor.remaining(bytes) / 2)) {
            let number = try cursor.varint32(bytes)
            let offset = JournalOffset(rawValue: try cursor.varint(bytes))
            guard number < nameCount, locations.last.map({ $0.firstNumber < number }) ?? true,
                offset.rawValue < JournalOffset.limit, offset > locations.last?.offset ?? .zero
            else { throw .value("location") }
            locations.append(NamesLocation(firstNumber: number, offset: offset))
        }
        return locations
    }
}

/// What a segment begins with: `Formats/Record.md`, "Preamble".
struct SchemaPreamble: Sendable {
    /// Of all names that are in force.
    var nameCount: Int
    /// Those that are repeated, from number 0 on.
    var names: [String] = []
    /// Of the entries that have the others, or of some of these entries.
    var locations: [NamesLocation] = []

    init(nameCount: Int) { self.nameCount = nameCount }

    func write(to writer: inout ByteWriter) {
        writer.varint(nameCount)
        writer.varint(names.count)
        for name in names { writer.countedText(name) }
        NamesLocation.write(locations, to: &writer)
    }

    init(_ bytes: Span<UInt8>) throws(FormatError) {
        var cursor = ByteCursor()
        nameCount = try cursor.count(bytes, upTo: Schema.nameLimit)
        for _ in 0..<(try cursor.count(bytes, upTo: nameCount)) {
            names.append(try cursor.text(bytes, upTo: 255))
        }
        locations = try NamesLocation.list(bytes, &cursor, nameCount: nameCount)
        guard locations.isEmpty == (names.count == nameCount),
            locations.first?.firstNumber ?? 0 <= names.count
        else { throw .value("location") }
        try cursor.end(bytes)
    }

    /// The same of the frame at `offset`, before which all that it names lies.
    init(_ bytes: Span<UInt8>, at offset: JournalOffset) throws(FormatError) {
        try self.init(bytes)
        guard locations.last?.offset ?? .zero < offset else { throw .value("location") }
    }

    /// Whether it says of the names what `schema` does.
    func agrees(with schema: Schema) -> Bool {
        nameCount == schema.nameCount && locations.allSatisfy(schema.has)
            && names.enumerated().allSatisfy { schema.name(UInt32($0)) == $1 }
    }
}
