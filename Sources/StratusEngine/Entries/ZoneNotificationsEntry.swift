package import StratusBytes
package import StratusJournal

/// The entry of what a zone or database subscription had to tell when it ended:
/// `Formats/Record.md`, "Zone notifications".
package struct ZoneNotificationsEntry: Equatable, Sendable {
    /// A zone that had changed.
    package struct Change: Equatable, Sendable {
        /// Of the last change that the subscription was told of.
        package var offset: UInt64
        /// Its number.
        package var zone: UInt32

        package init(offset: UInt64, zone: UInt32) {
            self.offset = offset
            self.zone = zone
        }
    }

    /// The subscriber.
    package var user: UInt32
    /// In microseconds since 1970. That of the commit does not outlive the commit's last entry.
    package var time: Int64
    /// Of the subscription: where its entry lies.
    package var subscription: UInt64
    /// The offsets do not fall.
    package private(set) var changes: [Change]

    /// Of the changes of an entry.
    package static let limit = 4096

    package init(user: UInt32, time: Int64, subscription: UInt64, changes: [Change]) {
        self.user = user
        self.time = time
        self.subscription = subscription
        self.changes = changes.sorted { ($0.offset, $0.zone) < ($1.offset, $1.zone) }
    }

    package func write(to writer: inout ByteWriter) {
        writer.varint(user)
        writer.signedVarint(time)
        writer.uint64(subscription)
        writer.varint(changes.count)
        var last: UInt64 = 0
        for change in changes {
            writer.varint(change.offset &- last)
            writer.varint(change.zone)
            last = change.offset
        }
    }

    /// That what it names comes before the entry itself, which lies at `offset`.
    package func check(at offset: JournalOffset) throws(FormatError) {
        guard subscription < offset.rawValue else { throw .value("number") }
        guard changes.last.map({ $0.offset < offset.rawValue }) ?? true else {
            throw .value("offset")
        }
    }

    package init(_ bytes: Span<UInt8>) throws(FormatError) {
        var cursor = ByteCursor()
        user = try cursor.varint32(bytes)
        guard user > 0 else { throw .value("user") }
        time = try MatchesEntry.readTime(bytes, &cursor)
        subscription = try cursor.uint64(bytes)
        guard subscription > 0, subscription < JournalOffset.limit else { throw .value("number") }
        let count = try cursor.count(bytes, upTo: Self.limit)
        guard count > 0 else { throw .value("count") }
        changes = []
        changes.reserveCapacity(count)
        var last: UInt64 = 0
        for _ in 0..<count {
            let (offset, overflow) = last.addingReportingOverflow(try cursor.varint(bytes))
            guard !overflow, offset > 0, offset < JournalOffset.limit else {
                throw .value("offset")
            }
            let zone = try cursor.varint32(bytes)
            guard zone > 0 else { throw .value("zone") }
            changes.append(Change(offset: offset, zone: zone))
            last = offset
        }
        try ExtensionBlock.end(bytes, &cursor)
    }
}
