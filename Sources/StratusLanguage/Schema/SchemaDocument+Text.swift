extension SchemaDocument {
    /// The schema that a text states, of at most ``textLimit`` bytes.
    package init(parsing text: String) throws(SchemaSyntaxError) {
        try self.init(parsing: Array(text.utf8))
    }

    /// The schema that a text states, of at most ``textLimit`` bytes; what is not UTF-8 is an error
    /// like any other.
    package init(parsing utf8: [UInt8]) throws(SchemaSyntaxError) {
        guard utf8.count <= Self.textLimit else {
            throw SchemaSyntaxError(
                place: SchemaPlace(line: 1, column: 1),
                message: "expected at most \(Self.textLimit) bytes of text, found \(utf8.count)")
        }
        if let offset = Self.firstInvalidOffset(in: utf8) {
            var cursor = SchemaLexer.Cursor()
            while cursor.offset < offset { cursor.advance(in: utf8) }
            throw SchemaSyntaxError(
                place: cursor.place, message: "expected UTF-8, found a byte that is none")
        }
        self = try SchemaParser.document(utf8)
    }

    /// The schema in its language, in the document's own order: a text that was put in an order by
    /// hand keeps it. Exports call ``sorted()`` first.
    package var text: String { SchemaPrinter.text(of: self) }

    /// Where valid UTF-8 ends, if that is not the end.
    private static func firstInvalidOffset(in utf8: [UInt8]) -> Int? {
        var parser = Unicode.UTF8.ForwardParser()
        var bytes = utf8.makeIterator()
        var offset = 0
        while true {
            switch parser.parseScalar(from: &bytes) {
            case .valid(let scalar): offset += scalar.count
            case .emptyInput: return nil
            case .error: return offset
            }
        }
    }
}
