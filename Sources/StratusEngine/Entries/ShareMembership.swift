internal import StratusBytes
package import StratusIndex
package import StratusJournal

/// The membership of a record in a share, as entries and the index state it: `Formats/Record.md`,
/// "Membership".
package struct ShareMembership: Hashable, Sendable {
    /// 0: a members entry took the record out of a share, and it is in none since.
    package var share: UInt32
    /// The version of the entry with which it began; none: the entry that states it.
    package var since: Version
    /// 0: that is an entry of the record. Otherwise a members entry, and 1 + the record's place in
    /// it.
    package var place: UInt32

    package init(share: UInt32, since: Version, place: UInt32) {
        self.share = share
        self.since = since
        self.place = place
    }

    /// Where the feed of the share has the record while it has that version.
    package func row(of version: Version) -> ShareRow.Place {
        guard place > 0, version < since else {
            return ShareRow.Place(version: version, ordinal: 0)
        }
        return ShareRow.Place(version: since, ordinal: UInt8(truncatingIfNeeded: place - 1))
    }

    func write(to writer: inout ByteWriter) {
        writer.varint(share)
        writer.varint(since.rawValue)
        if since != .none { writer.varint(place) }
    }

    init(_ bytes: Span<UInt8>, _ cursor: inout ByteCursor) throws(FormatError) {
        share = try cursor.varint32(bytes)
        since = Version(rawValue: try cursor.varint(bytes))
        place = 0
        if since != .none { place = try Self.place(bytes, &cursor) }
    }

    /// One that has ended.
    init(former bytes: Span<UInt8>, _ cursor: inout ByteCursor) throws(FormatError) {
        try self.init(bytes, &cursor)
        guard since != .none else { throw .value("since") }
        guard share > 0 || place > 0 else { throw .value("share") }
    }

    static func place(
        _ bytes: Span<UInt8>, _ cursor: inout ByteCursor
    ) throws(FormatError) -> UInt32 {
        let place = try cursor.varint32(bytes)
        guard place <= MembersEntry.limit else { throw .value("place") }
        return place
    }
}

// What the index says of the share that a record is in. The share may have ended: the record leaves it
// with its next entry.
extension ShareMembership {
    package init(_ value: IndexValue) {
        self.init(
            share: UInt32(truncatingIfNeeded: value.first), since: Version(rawValue: value.second),
            place: UInt32(truncatingIfNeeded: value.first >> 32))
    }

    package func value(at stamp: UInt64) -> IndexValue {
        IndexValue(
            stamp: stamp, first: UInt64(place) << 32 | UInt64(share), second: since.rawValue)
    }

    /// Whether the entry at the stamp is the members entry with which the membership began. Where
    /// an index is made anew of a part of the journal, it may be a later one of the record.
    static func isOfMembersEntry(_ value: IndexValue) -> Bool {
        let member = ShareMembership(value)
        return member.place > 0 && member.since.offset.rawValue == value.stamp
    }
}
