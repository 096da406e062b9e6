internal import FoundationEssentials
internal import StratusBytes
internal import StratusEngine
internal import StratusJournal

/// What tells a notification from all others of its user.
///
/// The same notification has the same identifier whenever and wherever it is read. Layout:
/// `Formats/Notification.md`, "Identifiers".
public struct NotificationIdentifier: Hashable, Sendable {
    /// Of the subscription or, of a read mark, ``readMark``.
    let kind: UInt8
    /// Of the subscription; 0 of a read mark.
    let number: UInt64
    /// Of the entry that it tells of.
    let offset: UInt64
    /// Of a record's change which of its entry; of a zone its number; 0 of a read mark.
    let place: UInt32

    static let readMark: UInt8 = 4

    init(_ id: NotificationID) {
        kind = id.kind
        number = id.number
        offset = id.offset
        place = id.place
    }

    /// Of the read mark at an offset.
    init(readMark offset: UInt64) {
        kind = Self.readMark
        number = 0
        self.offset = offset
        place = 0
    }

    /// As a read mark names it; nil of a read mark.
    var entryID: NotificationID? {
        kind == Self.readMark
            ? nil : NotificationID(kind: kind, number: number, offset: offset, place: place)
    }
}

extension NotificationIdentifier: LosslessStringConvertible {
    /// The identifier that ``description`` gave, or nil.
    public init?(_ description: String) {
        guard let data = Data(base64Encoded: description), data.count == NotificationID.length
        else { return nil }
        let bytes = [UInt8](data)
        let span = bytes.span
        kind = span.uint8(at: 0)
        number = span.uint64(at: 1)
        offset = span.uint64(at: 9)
        place = span.uint32(at: 17)
        let isPlace = offset > 0 && offset < JournalOffset.limit
        guard isPlace else { return nil }
        if kind == Self.readMark {
            guard number == 0, place == 0 else { return nil }
        } else {
            guard SubscriptionEntry.Kind(rawValue: kind) != nil, number > 0,
                number < JournalOffset.limit
            else { return nil }
        }
    }

    /// The identifier in base64, which is 28 characters.
    public var description: String {
        var writer = ByteWriter(capacity: NotificationID.length)
        writer.uint8(kind)
        writer.uint64(number)
        writer.uint64(offset)
        writer.uint32(place)
        return Data(writer.bytes).base64EncodedString()
    }
}
