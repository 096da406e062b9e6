internal import StratusEngine

extension Container {
    /// The type of the values of a field, as CloudKit's schema language names it, without the
    /// `ENCRYPTED` of an encrypted field; nil where no record of that type was saved with the field.
    package func fieldType(_ field: String, of type: String) -> String? {
        let schema = reading.schema
        guard let type = schema.number(type), let field = schema.number(field) else { return nil }
        return schema.kind(of: Schema.Column(type: type, field: field))?.unencrypted.name
    }
}
