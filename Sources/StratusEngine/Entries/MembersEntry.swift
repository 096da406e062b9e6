package import StratusBytes
package import StratusJournal

/// The entry of records that enter or leave a share because one above them does, and get no new
/// version: `Formats/Record.md`, "Members".
package struct MembersEntry: Equatable, Sendable {
    package struct Item: Equatable, Sendable {
        /// The record name.
        package var name: String
        package var type: UInt32
        /// The version that the record has, and keeps.
        package var version: Version
        /// Of the frame of the record's entry, in bytes.
        package var length: Int
        /// The membership in the old share: as of ``ShareMembership``.
        package var since: Version
        package var place: UInt32

        package init(
            name: String, type: UInt32, version: Version, length: Int, since: Version = .none,
            place: UInt32 = 0
        ) {
            self.name = name
            self.type = type
            self.version = version
            self.length = length
            self.since = since
            self.place = place
        }
    }

    /// The share that they leave; 0: none.
    package var oldShare: UInt32
    /// The share that they enter; 0: none.
    package var newShare: UInt32
    /// ``DeviceHash`` of the device that moved them; nil: not known.
    package var device: UInt64?
    package var items: [Item]

    /// How many records an entry has at most: a byte counts them in rows of feeds.
    package static let limit = 256

    package init(oldShare: UInt32, newShare: UInt32, device: UInt64? = nil, items: [Item]) {
        self.oldShare = oldShare
        self.newShare = newShare
        self.device = device
        self.items = items
    }

    /// The membership that a record has until then; nil: it is in no share.
    package func formerMembership(of item: Item) -> ShareMembership? {
        if oldShare == 0 { return nil }
        return ShareMembership(share: oldShare, since: item.since, place: item.place)
    }

    package func write(to writer: inout ByteWriter) {
        writer.varint(oldShare)
        writer.varint(newShare)
        writer.uint64(device ?? 0)
        writer.varint(items.count)
        for item in items {
            writer.countedText(item.name)
            writer.varint(item.type)
            writer.varint(item.version.rawValue)
            writer.varint(item.length)
            guard oldShare != 0 else { continue }
            writer.varint(item.since.rawValue)
            writer.varint(item.place)
        }
    }

    package init(_ bytes: Span<UInt8>) throws(FormatError) {
        var cursor = ByteCursor()
        oldShare = try cursor.varint32(bytes)
        newShare = try cursor.varint32(bytes)
        guard oldShare != newShare else { throw .value("share") }
        let device = try cursor.uint64(bytes)
        self.device = device == 0 ? nil : device
        let count = try cursor.count(bytes, upTo: Self.limit)
        guard count > 0 else { throw .value("count") }
        items = []
        for _ in 0..<count {
            items.append(try Item(bytes, &cursor, leavesShare: oldShare != 0))
        }
        try cursor.end(bytes)
    }
}

extension MembersEntry.Item {
    private static let greatestLength = FrameFormat.frameLength(
        payload: FrameFormat.payloadLimit, isLast: true)

    fileprivate init(
        _ bytes: Span<UInt8>, _ cursor: inout ByteCursor, leavesShare: Bool
    ) throws(FormatError) {
        name = try cursor.text(bytes, upTo: NameRules.limit)
        guard !name.isEmpty else { throw .value("name") }
        type = try cursor.varint32(bytes)
        version = Version(rawValue: try cursor.varint(bytes))
        guard version != .none else { throw .value("version") }
        length = Int(try cursor.varint32(bytes))
        guard FrameFormat.headerLength...Self.greatestLength ~= length,
            length % JournalOffset.unit == 0
        else { throw .value("length") }
        since = .none
        place = 0
        guard leavesShare else { return }
        since = Version(rawValue: try cursor.varint(bytes))
        guard since != .none else { throw .value("since") }
        place = try ShareMembership.place(bytes, &cursor)
    }
}
