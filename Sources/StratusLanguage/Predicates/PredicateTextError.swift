/// A place in a text.
package struct TextPlace: Hashable, Sendable {
    /// In UTF-8 bytes from the beginning.
    package var offset: Int
    /// From 1 on; lines end with `\n`.
    package var line: Int
    /// In Unicode scalars from the beginning of the line, from 1 on.
    package var column: Int

    /// The place `offset` bytes behind the beginning of `text`, or its end where that comes before.
    package init(offset: Int, in text: some Collection<UInt8>) {
        self.offset = offset
        line = 1
        column = 1
        for byte in text.prefix(offset) {
            if byte == UInt8(ascii: "\n") {
                line += 1
                column = 1
            } else if byte & 0xc0 != 0x80 {
                column += 1
            }
        }
    }
}

/// Why a text is no predicate.
package struct PredicateTextError: Error, Hashable, Sendable, CustomStringConvertible {
    package var message: String
    package var place: TextPlace

    package var description: String { "line \(place.line), column \(place.column): \(message)" }
}

/// A form of a predicate that is well written, and that cannot be evaluated here.
package struct UnsupportedPredicate: Error, Hashable, Sendable {
    package var message: String
    /// Where it stands in its text, in UTF-8 bytes; nil of a predicate that was not parsed.
    package var place: Range<Int>?

    package init(_ message: String, at place: Range<Int>?) {
        self.message = message
        self.place = place
    }
}
