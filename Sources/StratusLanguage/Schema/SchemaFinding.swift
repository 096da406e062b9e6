/// A rule that a schema breaks, or something in it that has no effect.
package struct SchemaFinding: Hashable, Sendable, CustomStringConvertible {
    package enum Severity: String, Sendable {
        /// The schema must not be imported.
        case error
        /// CloudKit takes it, and its exports have it, but it does not do what it seems to.
        case warning
    }

    package var severity: Severity
    /// Of the name it is about; nil where the document was not read from a text.
    package var place: SchemaPlace?
    package var message: String

    package init(_ severity: Severity, at place: SchemaPlace?, _ message: String) {
        self.severity = severity
        self.place = place
        self.message = message
    }

    package var description: String {
        (place.map { "\($0): " } ?? "") + "\(severity): \(message)"
    }
}

extension SchemaDocument {
    /// All that is wrong with the schema, in the order of places; it may be imported if there is no
    /// ``SchemaFinding/Severity/error``. The rules are CloudKit's for names, types, options, roles
    /// and grants.
    package func validate() -> [SchemaFinding] {
        var validator = SchemaValidator(self)
        validator.checkDocument()
        let start = SchemaPlace(line: 0, column: 0)
        return validator.findings.sorted { ($0.place ?? start) < ($1.place ?? start) }
    }
}
