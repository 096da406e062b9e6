internal import StratusAssets
package import StratusBytes
package import StratusJournal

/// The entry of a deleted record: `Formats/Record.md`, "Tombstone".
package struct Tombstone: Equatable, Sendable {
    package var type: UInt32
    package var name: String
    /// The version that was deleted; none: it was deleted before its zone was restored.
    package var previous: Version
    /// Who deleted it, and when in milliseconds since 1970.
    package var deleter: UInt32
    package var deleted: Int64
    /// ``DeviceHash`` of the device that deleted it; nil: not known.
    package var device: UInt64?
    /// How many bytes the payload had of the version that was deleted.
    package var replacedLength = 0
    /// The links that the deleted version had.
    package var parent: String?
    package var cascadeLinks: [CascadeLink] = []
    /// The zone that the record was moved to.
    package var destination: UInt32?
    /// How many bytes the assets of the deleted version had; nil: there were none.
    package var assetBytes: Int?
    /// The rows that the deleted version had in declared indexes.
    package var indexRows = IndexStatement.none
    /// The membership that the deleted version had in a share; nil: it was in none.
    package var membership: ShareMembership?

    /// What the deleted version took, as quotas count it.
    package var takenBytes: Int { replacedLength + (assetBytes ?? 0) }

    private enum Flag {
        static let hasParent: UInt32 = 1
        static let hasCascadeLinks: UInt32 = 2
        static let isMoved: UInt32 = 4
        static let hadAssets: UInt32 = 8
        static let hadIndexRows: UInt32 = 16
        static let wasMember: UInt32 = 32
        static let hasDevice: UInt32 = 64
        static let known: UInt32 = 127
    }

    package func write(to writer: inout ByteWriter) {
        writer.varint(type)
        writer.varint(deleter)
        writer.signedVarint(deleted)
        writer.varint(previous.rawValue)
        writer.varint(replacedLength)
        writer.countedText(name)
        var flags: UInt32 = 0
        if parent != nil { flags |= Flag.hasParent }
        if !cascadeLinks.isEmpty { flags |= Flag.hasCascadeLinks }
        if destination != nil { flags |= Flag.isMoved }
        if assetBytes != nil { flags |= Flag.hadAssets }
        if !indexRows.isEmpty { flags |= Flag.hadIndexRows }
        if membership != nil { flags |= Flag.wasMember }
        if device != nil { flags |= Flag.hasDevice }
        if flags == 0 { return }
        writer.varint(flags)
        if let parent { writer.countedText(parent) }
        if !cascadeLinks.isEmpty { CascadeLink.write(cascadeLinks, to: &writer) }
        if let destination { writer.varint(destination) }
        if let assetBytes { writer.varint(assetBytes) }
        if !indexRows.isEmpty { indexRows.write(to: &writer) }
        membership?.write(to: &writer)
        if let device { writer.uint64(device) }
    }

    package init(type: UInt32, name: String, previous: Version, by author: Author, deleted: Int64) {
        self.type = type
        self.name = name
        self.previous = previous
        deleter = author.user
        device = author.device
        self.deleted = deleted
    }

    package init(_ bytes: Span<UInt8>) throws(FormatError) {
        var cursor = ByteCursor()
        type = try cursor.varint32(bytes)
        deleter = try cursor.varint32(bytes)
        deleted = try cursor.signedVarint(bytes)
        previous = Version(rawValue: try cursor.varint(bytes))
        replacedLength = Int(try cursor.varint32(bytes))
        name = try cursor.text(bytes, upTo: 255)
        if cursor.remaining(bytes) > 0 {
            let flags = try cursor.varint32(bytes)
            guard flags != 0 else { throw .value("flags") }
            guard flags & ~Flag.known == 0 else { throw .newer("flags") }
            if flags & Flag.hasParent != 0 { parent = try cursor.text(bytes, upTo: 255) }
            if flags & Flag.hasCascadeLinks != 0 {
                cascadeLinks = try CascadeLink.read(bytes, &cursor)
            }
            if flags & Flag.isMoved != 0 { destination = try cursor.varint32(bytes) }
            if flags & Flag.hadAssets != 0 {
                assetBytes = try cursor.count(bytes, upTo: AssetContent.lengthLimit)
            }
            if flags & Flag.hadIndexRows != 0 { indexRows = try IndexStatement(bytes, &cursor) }
            if flags & Flag.wasMember != 0 {
                membership = try ShareMembership(former: bytes, &cursor)
            }
            if flags & Flag.hasDevice != 0 { device = try cursor.uint64(bytes) }
        }
        try cursor.end(bytes)
    }
}
