package import StratusBytes
internal import StratusJournal

/// Which notification: what a read mark names. `Formats/Record.md`, "Read mark".
package struct NotificationID: Hashable, Sendable {
    /// That of the subscription: the raw value of ``SubscriptionEntry/Kind``.
    package var kind: UInt8
    /// Of the subscription: where its entry lies.
    package var number: UInt64
    /// Where the matches entry lies or, of other kinds, the last change of the zone.
    package var offset: UInt64
    /// Which of the changes of the matches entry, from 0 on; of other kinds the number of the zone.
    package var place: UInt32

    /// In bytes.
    package static let length = 21

    package init(kind: UInt8, number: UInt64, offset: UInt64, place: UInt32) {
        self.kind = kind
        self.number = number
        self.offset = offset
        self.place = place
    }

    package func write(to writer: inout ByteWriter) {
        writer.uint8(kind)
        writer.uint64(number)
        writer.uint64(offset)
        writer.uint32(place)
    }

    package init(_ bytes: Span<UInt8>, _ cursor: inout ByteCursor) throws(FormatError) {
        kind = try cursor.uint8(bytes)
        guard SubscriptionEntry.Kind(rawValue: kind) != nil else {
            throw .newer("subscription kind")
        }
        number = try cursor.uint64(bytes)
        guard number > 0, number < JournalOffset.limit else { throw .value("number") }
        offset = try cursor.uint64(bytes)
        guard offset > 0, offset < JournalOffset.limit else { throw .value("offset") }
        place = try cursor.uint32(bytes)
    }
}
