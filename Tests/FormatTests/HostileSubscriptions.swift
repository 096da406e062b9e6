import StratusBytes

// Subscriptions, matches, read marks, zone notifications and badges that use what is not known. What breaks a rule by
// itself: ``SubscriptionEntryTests``. `Formats/Record.md`, "Validity", rule 4.
extension HostilePayloadTests {
    /// A query without anchors.
    private static func subscription(
        _ name: String, user: UInt64 = 1, former: UInt64 = 0
    ) -> Malformation {
        Malformation(name, entry: 54) {
            $0.uint8(1)
            $0.varint(user)
            $0.append([2, 1])
            for text in ["hostile", "Note", "", ""] { $0.countedText(text) }
            $0.uint8(0)
            $0.varint(former)
            // Its type and anchors.
            if former > 0 { $0.append([0, 0]) }
            $0.uint8(0)
        }
    }

    private static func removal(
        _ name: String, user: UInt64 = 1, number: UInt64 = 500
    ) -> Malformation {
        Malformation(name, entry: 55) {
            $0.varint(user)
            $0.uint8(2)
            $0.countedText("hostile")
            $0.uint64(number)
            $0.countedText("Note")
            $0.uint8(0)
        }
    }

    /// Of one change with one value, of one user and one subscription.
    private static func matches(
        _ name: String, zone: UInt8 = 1, type: UInt64 = 0, creator: UInt64 = 1,
        modifier: UInt64 = 1, field: UInt64 = 1, user: UInt64 = 1
    ) -> Malformation {
        var matches = Malformation(name, entry: 56) {
            $0.append([0, 0])
            $0.varint(modifier)
            $0.append([1, 1])
            $0.countedText("note-0")
            for number in [type, creator, 1, field] { $0.varint(number) }
            $0.append([2, 1, 2])
            for number in [1, user, 0, 1, 1200] { $0.varint(number) }
        }
        matches.zone = zone
        return matches
    }

    private static func readMark(_ name: String, user: UInt64) -> Malformation {
        Malformation(name, entry: 57) {
            $0.varint(user)
            $0.append([0, 1])
            $0.uint64(600)
            $0.uint64(650)
            $0.uint32(1)
        }
    }

    private static func zoneNotifications(
        _ name: String, user: UInt64 = 1, number: UInt64 = 600, offset: UInt64 = 650
    ) -> Malformation {
        Malformation(name, entry: 65) {
            $0.varint(user)
            $0.uint8(0)
            $0.uint64(number)
            $0.uint8(1)
            $0.varint(offset)
            $0.uint8(1)
        }
    }

    private static func badge(_ name: String, user: UInt64) -> Malformation {
        Malformation(name, entry: 58) {
            $0.varint(user)
            $0.uint8(7)
        }
    }

    /// Refused when the store is opened.
    static let ofSubscriptions: [Malformation] = [
        subscription("a subscription of an unknown user", user: 77),
        subscription("a subscription in the place of a later one", former: 1 << 40),
        removal("the end of a subscription of an unknown user", user: 77),
        removal("the end of a later subscription", number: 1 << 40),
        matches("matches in an unknown zone", zone: 77),
        matches("matches of an unknown type", type: 9999),
        matches("matches with a field without a name", field: 9999),
        matches("matches of a record of an unknown user", creator: 77),
        matches("matches of a change by an unknown user", modifier: 77),
        matches("matches for an unknown user", user: 77),
        readMark("a read mark of an unknown user", user: 77),
        zoneNotifications("zone notifications of an unknown user", user: 77),
        zoneNotifications("what a later subscription left", number: 1 << 40),
        zoneNotifications("zone notifications of a later change", offset: 1 << 40),
        badge("a badge of an unknown user", user: 77),
    ]
}
