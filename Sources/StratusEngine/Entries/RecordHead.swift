internal import StratusAssets
package import StratusBytes
package import StratusJournal

/// What stands before the fields in the entry of a record: `Formats/Record.md`, "Record".
package struct RecordHead: Equatable, Sendable {
    private enum Flag {
        static let hasPrevious: UInt32 = 1
        static let isUpdate: UInt32 = 2
        static let hasParent: UInt32 = 4
        static let hasCascadeLinks: UInt32 = 8
        static let formerParent: UInt32 = 16
        static let formerCascadeLinks: UInt32 = 32
        static let isMoved: UInt32 = 64
        static let hasAssets: UInt32 = 128
        static let hasExtensions: UInt32 = 256
        static let hasIndexRows: UInt32 = 512
        static let isMember: UInt32 = 1024
        static let leavesShare: UInt32 = 2048
        static let isRoot: UInt32 = 4096
        static let ofShares: UInt32 = isMember | leavesShare | isRoot
        static let hasDevice: UInt32 = 8192
        static let known: UInt32 = 16383
        static let readWithoutLinks: UInt32 = hasPrevious | isUpdate | hasParent | hasDevice
    }

    package var type: UInt32
    /// In milliseconds since 1970.
    package var modified: Int64
    package var modifier: UInt32
    /// ``DeviceHash`` of the device that saved it; nil: not known.
    package var device: UInt64?
    package var created: Int64
    package var creator: UInt32
    /// The version that this one replaces: of the record or, where that was deleted, of its
    /// tombstone.
    package var previous: Version
    /// Whether the record lived when this version was saved.
    package var isUpdate: Bool
    /// Of an update: how many bytes the payload had that it replaces.
    package var replacedLength = 0
    /// Where the record name lies, once it was read.
    package private(set) var name = 0..<0
    /// Where the record name of the parent lies.
    package private(set) var parent: Range<Int>?
    /// Where the name of the parent lies that this version has no more, empty for none; nil: the
    /// parent is as before.
    package private(set) var formerParent: Range<Int>?
    /// Whether any of the references has the action deleteSelf.
    package private(set) var hasCascadeLinks = false
    /// Where those of them are listed that this version has no more; nil: they are as before.
    package private(set) var formerCascadeLinks: Range<Int>?
    /// Where the record was before its versions in this zone began.
    package var origin: MoveOrigin?
    /// How many bytes the assets have together; nil: there are none.
    package var assetBytes: Int?
    /// The same of the version that this one replaces.
    package var formerAssetBytes: Int?
    /// Where the rows of declared indexes are listed that change; nil: none does.
    package private(set) var indexRows: Range<Int>?
    /// The membership of the record in a share; nil: it is in none.
    package var membership: ShareMembership?
    /// Of an update: the one that the version before had and this one has not.
    package var formerMembership: ShareMembership?
    /// Of the root of a share: where the name of the share's record lies.
    package private(set) var shareRecord: Range<Int>?

    package init(
        type: UInt32, modified: Int64, by author: Author, created: Int64, creator: UInt32,
        previous: Version, isUpdate: Bool, origin: MoveOrigin? = nil
    ) {
        self.type = type
        self.modified = modified
        self.modifier = author.user
        self.device = author.device
        self.created = created
        self.creator = creator
        self.previous = previous
        self.isUpdate = isUpdate
        self.origin = origin
    }

    package func write(
        name: String, parent: String?, links: LinkChange = LinkChange(),
        indexRows: IndexStatement = .none, shareRecord: String? = nil,
        to writer: inout ByteWriter
    ) {
        var flags: UInt32 = 0
        if previous != .none { flags |= Flag.hasPrevious }
        if isUpdate { flags |= Flag.isUpdate }
        if parent != nil { flags |= Flag.hasParent }
        if links.hasCascadeLinks { flags |= Flag.hasCascadeLinks }
        if links.formerParent != nil { flags |= Flag.formerParent }
        if links.formerCascadeLinks != nil { flags |= Flag.formerCascadeLinks }
        if origin != nil { flags |= Flag.isMoved }
        if assetBytes != nil || formerAssetBytes != nil { flags |= Flag.hasAssets }
        if !indexRows.isEmpty { flags |= Flag.hasIndexRows }
        if membership != nil { flags |= Flag.isMember }
        if formerMembership != nil { flags |= Flag.leavesShare }
        if shareRecord != nil { flags |= Flag.isRoot }
        if device != nil { flags |= Flag.hasDevice }
        writer.varint(flags)
        writer.varint(type)
        writer.varint(modifier)
        writer.signedVarint(modified)
        if let device { writer.uint64(device) }
        if isUpdate || origin != nil {
            writer.varint(creator)
            writer.signedVarint(created)
        }
        if previous != .none { writer.varint(previous.rawValue) }
        if isUpdate { writer.varint(replacedLength) }
        writer.countedText(name)
        if let parent { writer.countedText(parent) }
        if let former = links.formerParent { writer.countedText(former) }
        if let former = links.formerCascadeLinks { CascadeLink.write(former, to: &writer) }
        if let origin {
            writer.varint(origin.zone)
            writer.varint(origin.version.rawValue)
        }
        if flags & Flag.hasAssets != 0 {
            writer.varint(assetBytes.map { $0 + 1 } ?? 0)
            writer.varint(formerAssetBytes.map { $0 + 1 } ?? 0)
        }
        if !indexRows.isEmpty { indexRows.write(to: &writer) }
        membership?.write(to: &writer)
        formerMembership?.write(to: &writer)
        if let shareRecord { writer.countedText(shareRecord) }
    }

    /// Reads the head and leaves the cursor at the field table. Makes no texts: every save and
    /// every opening passes here.
    package init(_ bytes: Span<UInt8>, _ cursor: inout ByteCursor) throws(FormatError) {
        let flags = try cursor.varint32(bytes)
        guard flags & ~Flag.known == 0 else { throw .newer("flags") }
        type = try cursor.varint32(bytes)
        modifier = try cursor.varint32(bytes)
        modified = try cursor.signedVarint(bytes)
        guard modified.magnitude < 1 << 53 else { throw .value("modified") }
        if flags & Flag.hasDevice != 0 { device = try cursor.uint64(bytes) }
        isUpdate = flags & Flag.isUpdate != 0
        creator = modifier
        created = modified
        if flags & (Flag.isUpdate | Flag.isMoved) != 0 {
            creator = try cursor.varint32(bytes)
            created = try cursor.signedVarint(bytes)
            guard created.magnitude < 1 << 53 else { throw .value("created") }
        }
        previous = .none
        if flags & Flag.hasPrevious != 0 {
            previous = Version(rawValue: try cursor.varint(bytes))
        }
        if isUpdate { replacedLength = Int(try cursor.varint32(bytes)) }
        guard previous != .none || flags & (Flag.hasPrevious | Flag.isUpdate) == 0 else {
            throw .value("previous")
        }
        name = try cursor.range(bytes, count: cursor.count(bytes, upTo: 255))
        if flags & Flag.hasParent != 0 {
            parent = try cursor.range(bytes, count: cursor.count(bytes, upTo: 255))
        }
        if flags & ~Flag.readWithoutLinks != 0 {
            try readLinks(flags, bytes, &cursor)
        }
    }

    private mutating func readLinks(
        _ flags: UInt32, _ bytes: Span<UInt8>, _ cursor: inout ByteCursor
    ) throws(FormatError) {
        let changes = flags & (Flag.formerParent | Flag.formerCascadeLinks) != 0
        guard !changes || isUpdate else { throw .value("flags") }
        hasCascadeLinks = flags & Flag.hasCascadeLinks != 0
        if flags & Flag.formerParent != 0 {
            formerParent = try cursor.range(bytes, count: cursor.count(bytes, upTo: 255))
        }
        if flags & Flag.formerCascadeLinks != 0 {
            let start = cursor.position
            try CascadeLink.skip(bytes, &cursor)
            formerCascadeLinks = start..<cursor.position
        }
        if flags & Flag.isMoved != 0 {
            let zone = try cursor.varint32(bytes)
            origin = MoveOrigin(zone: zone, version: Version(rawValue: try cursor.varint(bytes)))
        }
        if flags & Flag.hasAssets != 0 { try readAssets(bytes, &cursor) }
        if flags & Flag.hasIndexRows != 0 {
            let start = cursor.position
            try IndexStatement.skip(bytes, &cursor)
            indexRows = start..<cursor.position
        }
        if flags & Flag.ofShares != 0 { try readShares(flags, bytes, &cursor) }
        if flags & Flag.hasExtensions != 0 { try ExtensionBlock.skip(bytes, &cursor) }
    }

    private mutating func readAssets(
        _ bytes: Span<UInt8>, _ cursor: inout ByteCursor
    ) throws(FormatError) {
        let limit = AssetContent.lengthLimit
        let own = try cursor.count(bytes, upTo: limit)
        let former = try cursor.count(bytes, upTo: limit)
        guard own + former > 0, former == 0 || isUpdate else { throw .value("assets") }
        assetBytes = own == 0 ? nil : own - 1
        formerAssetBytes = former == 0 ? nil : former - 1
    }

    private mutating func readShares(
        _ flags: UInt32, _ bytes: Span<UInt8>, _ cursor: inout ByteCursor
    ) throws(FormatError) {
        if flags & Flag.isMember != 0 {
            let own = try ShareMembership(bytes, &cursor)
            guard own.share > 0 else { throw .value("share") }
            guard own.since == .none || isUpdate else { throw .value("since") }
            membership = own
        }
        if flags & Flag.leavesShare != 0 {
            guard isUpdate else { throw .value("flags") }
            let former = try ShareMembership(former: bytes, &cursor)
            if let membership {
                // It was in one share at a time.
                guard membership.since == .none else { throw .value("since") }
                guard membership.share != former.share else { throw .value("share") }
            }
            formerMembership = former
        }
        if flags & Flag.isRoot != 0 {
            guard membership != nil else { throw .value("flags") }
            let name = try cursor.range(bytes, count: cursor.count(bytes, upTo: 255))
            guard !name.isEmpty else { throw .value("share record") }
            shareRecord = name
        }
    }

    /// Whether the entry says anything of shares.
    package var concernsShares: Bool { membership != nil || formerMembership != nil }

    /// Of an update: the membership that the version before had, as this one says; nil: none.
    package var replacedMembership: ShareMembership? {
        if let membership, membership.since != .none { return membership }
        return formerMembership
    }

    /// The record name, out of the bytes that the head was read from.
    package func name(in bytes: Span<UInt8>) throws(FormatError) -> String {
        try Self.text(name, in: bytes)
    }

    /// The record name of the parent, out of the bytes that the head was read from.
    package func parent(in bytes: Span<UInt8>) throws(FormatError) -> String? {
        guard let parent else { return nil }
        return try Self.text(parent, in: bytes)
    }

    /// Of the root of a share: the name of the share's record, out of the bytes that the head was
    /// read from.
    package func shareRecord(in bytes: Span<UInt8>) throws(FormatError) -> String? {
        guard let shareRecord else { return nil }
        return try Self.text(shareRecord, in: bytes)
    }

    private static func text(
        _ range: Range<Int>, in bytes: Span<UInt8>
    ) throws(FormatError) -> String {
        guard let text = bytes.text(in: range) else { throw .text }
        return text
    }
}
