package import StratusBytes

/// The schema as it was declared last, as text: `Formats/Record.md`, "Schema".
package struct SchemaTextEntry: Equatable, Sendable {
    /// In bytes.
    package static let limit = 1 << 20

    /// In CloudKit's schema language.
    package var text: String

    package init(text: String) { self.text = text }

    package func write(to writer: inout ByteWriter) { writer.text(text) }

    package init(_ bytes: Span<UInt8>) throws(FormatError) {
        guard bytes.count <= Self.limit else { throw .value("schema") }
        guard let text = bytes.text(in: 0..<bytes.count) else { throw .text }
        self.text = text
    }
}
