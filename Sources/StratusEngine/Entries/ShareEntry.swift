package import StratusBytes
package import StratusJournal

/// Whether a share is in force.
package enum ShareState: UInt8, Sendable {
    case alive = 1
    case ended = 2
    /// What lies below its root is taken in, commit by commit; no participant sees the share yet.
    case growing = 3
}

/// The entry of a share: `Formats/Record.md`, "Share".
package struct ShareEntry: Equatable, Sendable {
    /// Of the sequence that zones have their numbers from.
    package var number: UInt32
    /// The version of the share's first entry; none: that is this one.
    package var began: Version
    package var state: ShareState
    /// What anyone may do who has the link: one of ``permissions``.
    package var permission: UInt8
    package var link: Hash128
    /// The name of the share's record.
    package var recordName: String
    /// The name of the record at the head of the hierarchy; empty: the whole zone is shared.
    package var rootName: String

    /// None, read only, read and write: CloudKit's numbers.
    static let permissions: ClosedRange<UInt8> = 1...3

    package init(
        number: UInt32, began: Version, state: ShareState, permission: UInt8, link: Hash128,
        recordName: String, rootName: String
    ) {
        self.number = number
        self.began = began
        self.state = state
        self.permission = permission
        self.link = link
        self.recordName = recordName
        self.rootName = rootName
    }

    package var isZoneWide: Bool { rootName.isEmpty }

    package func write(to writer: inout ByteWriter) {
        writer.varint(number)
        writer.varint(began.rawValue)
        writer.uint8(state.rawValue)
        writer.uint8(permission)
        writer.hash(link)
        writer.countedText(recordName)
        writer.countedText(rootName)
    }

    package init(_ bytes: Span<UInt8>) throws(FormatError) {
        var cursor = ByteCursor()
        number = try cursor.varint32(bytes)
        guard number > 0, number < 1 << 31 else { throw .value("number") }
        began = Version(rawValue: try cursor.varint(bytes))
        guard let state = ShareState(rawValue: try cursor.uint8(bytes)) else {
            throw .newer("state")
        }
        self.state = state
        permission = try cursor.uint8(bytes)
        guard Self.permissions.contains(permission) else { throw .newer("permission") }
        link = try cursor.hash(bytes)
        recordName = try cursor.text(bytes, upTo: NameRules.limit)
        guard !recordName.isEmpty else { throw .value("name") }
        rootName = try cursor.text(bytes, upTo: NameRules.limit)
        guard state != .growing || !rootName.isEmpty else { throw .value("root") }
        try ExtensionBlock.end(bytes, &cursor)
    }
}
