/// A place in the text of a schema.
package struct SchemaPlace: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// Counted from 1.
    package var line: Int
    /// Counted from 1, in Unicode scalars; a tab is one.
    package var column: Int

    package init(line: Int, column: Int) {
        self.line = line
        self.column = column
    }

    package var description: String { "line \(line), column \(column)" }

    package static func < (left: SchemaPlace, right: SchemaPlace) -> Bool {
        (left.line, left.column) < (right.line, right.column)
    }
}

/// A name in a schema, with its place where it was read from a text.
///
/// Two names are equal when their texts are: the place only serves messages, and a document that
/// was printed and parsed again equals the first one.
package struct SchemaName: Hashable, Sendable, ExpressibleByStringLiteral, CustomStringConvertible {
    package var text: String
    /// Nil where the name was not read from a text.
    package var place: SchemaPlace?

    package init(_ text: String, at place: SchemaPlace? = nil) {
        self.text = text
        self.place = place
    }

    package init(stringLiteral text: String) { self.init(text) }

    package var description: String { text.forMessage }

    package static func == (left: SchemaName, right: SchemaName) -> Bool { left.text == right.text }

    package func hash(into hasher: inout Hasher) { hasher.combine(text) }
}

extension String {
    private static let messageLimit = 64

    /// The text as a message shows it: control characters escaped, at most 64 Unicode scalars.
    var forMessage: String {
        var shown = ""
        for scalar in unicodeScalars.prefix(Self.messageLimit) {
            // A quote needs no escape here, what could move a terminal's cursor does.
            let isPlain = scalar == "\"" || scalar == "'" || scalar == "\\"
            shown += isPlain ? String(scalar) : scalar.escaped(asASCII: false)
        }
        return unicodeScalars.dropFirst(Self.messageLimit).isEmpty ? shown : shown + "…"
    }
}
