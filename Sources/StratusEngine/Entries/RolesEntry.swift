package import StratusBytes

/// The entry of the roles that a user has: `Formats/Record.md`, "Roles".
package struct RolesEntry: Equatable, Sendable {
    /// Of the user.
    package var user: UInt32
    /// As the schema names them, each once and in the order of ASCII.
    package private(set) var names: [String]

    /// How many roles a user has at most.
    package static let limit = 1000

    package init(user: UInt32, names: Set<String>) {
        self.user = user
        self.names = names.sorted()
    }

    package func write(to writer: inout ByteWriter) {
        writer.varint(user)
        writer.varint(names.count)
        for name in names { writer.countedText(name) }
    }

    package init(_ bytes: Span<UInt8>) throws(FormatError) {
        var cursor = ByteCursor()
        user = try cursor.varint32(bytes)
        guard user > 0 else { throw .value("user") }
        names = []
        let count = try cursor.count(bytes, upTo: Self.limit)
        for _ in 0..<count {
            let name = try cursor.text(bytes, upTo: NameRules.limit)
            // Roles are named like types.
            guard NameRules.isTypeName(name) else { throw .value("role") }
            if let last = names.last, last >= name { throw .value("role") }
            names.append(name)
        }
        try ExtensionBlock.end(bytes, &cursor)
    }
}
