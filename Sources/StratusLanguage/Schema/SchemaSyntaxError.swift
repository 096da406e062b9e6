/// Why a text is not a schema, and where.
package struct SchemaSyntaxError: Error, Hashable, Sendable, CustomStringConvertible {
    package var place: SchemaPlace
    /// What was expected and what was found.
    package var message: String

    package init(place: SchemaPlace, message: String) {
        self.place = place
        self.message = message
    }

    package var description: String { "\(place): \(message)" }
}
