package import StratusBytes

/// Bytes of an archive that are not what was written, or mean nothing: `Formats/Backup.md`.
package struct ArchiveDamage: Error, Hashable, Sendable {
    package enum Kind: Hashable, Sendable {
        /// A rule of the page, by its name there.
        case archive(StaticName)
        case newerFormat(UInt16)
        /// Has something that this code does not know and may not ignore.
        case newerPart(String)
    }

    /// The names of the page.
    package enum StaticName: String, Sendable {
        case length, magic, checksum, reserved, foot, table, part, base, cycle, chain, zones
    }

    package var kind: Kind
    package var file: String
    package var byte: Int
    /// Of the archive that is missing, if one is.
    package var missing: Hash128?

    package init(_ kind: Kind, file: String, byte: Int) {
        self.kind = kind
        self.file = file
        self.byte = byte
    }

    /// As the pages of `Formats` name it.
    package var identifier: String {
        switch kind {
        case .archive(let name): "archive.\(name.rawValue)"
        case .newerFormat(let version): "format.newer \(version)"
        case .newerPart(let what): "format.newer \(what)"
        }
    }
}
