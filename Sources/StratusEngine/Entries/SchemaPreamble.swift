package import StratusBytes
package import StratusJournal

/// Where an entry `names` that has names lies, and the number of the first of them.
package struct NamesLocation: Hashable, Sendable {
    package var firstNumber: UInt32
    package var offset: JournalOffset

    /// As ``write(_:to:)`` writes it.
    package var lengthInBytes: Int {
        ByteWriter.varintLength(UInt64(firstNumber)) + ByteWriter.varintLength(offset.rawValue)
    }

    package static func write(_ locations: [NamesLocation], to writer: inout ByteWriter) {
        writer.varint(locations.count)
        for location in locations {
            writer.varint(location.firstNumber)
            writer.varint(location.offset.rawValue)
        }
    }

    /// Locations in the order of the journal, of the names with numbers below `nameCount`.
    package static func list(
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
package struct SchemaPreamble: Sendable {
    /// Of all names that are in force.
    package var nameCount: Int
    /// Those that are repeated, from number 0 on.
    package var names: [String] = []
    /// Of the entries that have the others, or of some of these entries.
    package var locations: [NamesLocation] = []

    package init(nameCount: Int) { self.nameCount = nameCount }

    package func write(to writer: inout ByteWriter) {
        writer.varint(nameCount)
        writer.varint(names.count)
        for name in names { writer.countedText(name) }
        NamesLocation.write(locations, to: &writer)
    }

    package init(_ bytes: Span<UInt8>) throws(FormatError) {
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
    package init(_ bytes: Span<UInt8>, at offset: JournalOffset) throws(FormatError) {
        try self.init(bytes)
        guard locations.last?.offset ?? .zero < offset else { throw .value("location") }
    }

    /// Whether it says of the names what `schema` does.
    package func agrees(with schema: Schema) -> Bool {
        nameCount == schema.nameCount && locations.allSatisfy(schema.has)
            && names.enumerated().allSatisfy { schema.name(UInt32($0)) == $1 }
    }
}
