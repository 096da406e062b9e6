package import StratusFiles

/// Why the index could not be read or written.
package enum IndexError: Error, Equatable, Sendable {
    /// The medium failed, or memory alone could not answer (`.notResident`).
    case storage(StorageError)
    case damaged(IndexDamage)
}

/// Bytes of the index that are not what was written, and where.
package struct IndexDamage: Error, Equatable, Sendable {
    package enum Kind: Equatable, Sendable {
        /// Bytes of a table contradict the format; the word names the rule.
        case table(Rule)
        /// A table that the description names is not there.
        case missingFile
        /// A table is shorter or longer than the description says.
        case fileLength
        /// Written in a format of this version, which is newer than this code reads.
        case newerFormat(UInt16)
        case description
    }

    /// What holds for a table: `Formats/Index.md`, "Validity".
    package enum Rule: String, Sendable {
        case magic, checksum, reserved, number, footer, store, columns, entry, place, order
        case filter, count
        /// Of a block, or of an entry in it: bits that this code does not know.
        case form, flags

        /// Whether the bytes may be right, and a newer version knows what they mean.
        package var isNewer: Bool { self == .form || self == .flags }
    }

    package var kind: Kind
    package var file: String
    /// Where in the file, in bytes from its start.
    package var byte: Int

    package init(_ kind: Kind, file: String, byte: Int) {
        self.kind = kind
        self.file = file
        self.byte = byte
    }
}

extension IndexDamage: CustomStringConvertible {
    package var description: String { "\(file), byte \(byte): \(kind.identifier)" }
}

extension IndexDamage.Kind {
    /// A stable name for scripts.
    package var identifier: String {
        switch self {
        case .table(let rule): rule.isNewer ? "format.newer \(rule)" : "index.\(rule)"
        case .missingFile: "file.missing"
        case .fileLength: "file.length"
        case .newerFormat(let version): "format.newer \(version)"
        case .description: "index.description"
        }
    }
}
