import Stratus
import StratusBytes

// Stores whose last entry, of a subscription or of what it brings, breaks a rule of
// `Formats/Record.md`.
extension SampleMaker {
    static func damagedSubscriptions() async throws -> [(String, StoreFiles)] {
        try await LastEntry.stores(LastEntry.ofSubscriptions)
    }
}

extension LastEntry {
    /// By the name of the sample.
    fileprivate static let ofSubscriptions: [(name: String, entry: LastEntry)] = [
        ("subscription-flags", subscription(flags: 32)),
        ("subscription-kind", subscription(kind: 4)),
        // A zone subscription in the public database.
        ("subscription-scope", subscription(flags: 0, scope: 1, kind: 2, type: "", zone: "notes")),
        ("subscription-info", subscription(info: fourKeys)),
        ("subscription-former", subscription(former: 1 << 40)),
        ("subscription-origin", subscription(former: 1, origin: 1)),
        ("subscription-anchors", subscription(anchors: [0x81, 0x08])),
        ("subscription-anchor-kind", subscription(anchors: anchor(kind: 8))),
        ("subscription-removal-number", removal(number: 1 << 40)),
        ("matches-reason", matches(reason: 4)),
        ("matches-value", matches(values: [1, 1, 5, 1, 0x61])),
        ("matches-user", matches(groups: [1, 2, 0, 1, 0xb0, 0x09])),
        // The same user twice.
        (
            "matches-groups",
            matches(groups: [2, 1, 0, 1, 0xb0, 0x09, 0, 0, 1, 0xb0, 0x09])
        ),
        ("matches-badge", matches(groups: [1, 1, 5, 1, 0xb0, 0x09])),
        ("matches-zone", matches(zone: 77)),
        ("read-mark-kind", readMark(kind: 9)),
        ("badge-value", badge(1 << 32)),
        ("zone-notifications-count", zoneNotifications(count: 0, [])),
        ("zone-notifications-offset", zoneNotifications(count: 1, [0xff, 0xff, 0xff, 0x7f, 1])),
    ]

    /// Of a query of all notes.
    private static func subscription(
        flags: UInt64 = 1, scope: UInt8 = 2, kind: UInt8 = 1, type: String = "Note",
        zone: String = "", info: [UInt8] = [0], former: UInt64 = 0, origin: UInt8 = 0,
        anchors: [UInt8] = [0]
    ) -> LastEntry {
        LastEntry(54, zone: 0) {
            $0.varint(flags)
            $0.append([1, scope, kind])
            for text in ["hostile", type, zone, ""] { $0.countedText(text) }
            $0.append(info)
            $0.varint(former)
            // No type, and no anchors.
            if former > 0 { $0.append([0, 0, origin]) }
            $0.append(anchors)
        }
    }

    /// What notifications say: nothing but desired keys, one too many.
    private static let fourKeys: [UInt8] = [
        1, 0x80, 0x80, 0x01, 4, 1, 0x61, 1, 0x62, 1, 0x63, 1, 0x64,
    ]

    /// A list of one.
    private static func anchor(kind: UInt8) -> [UInt8] {
        [1, 1, 0x61, kind, 0, 0] + [UInt8](repeating: 0, count: 16)
    }

    private static func removal(number: UInt64) -> LastEntry {
        LastEntry(55, zone: 0) {
            $0.append([1, 2])
            $0.countedText("hostile")
            $0.uint64(number)
            $0.countedText("Note")
            $0.append([0])
        }
    }

    /// Of user 1 and the subscription 600, which does not badge.
    private static func matches(
        zone: UInt8 = 1, reason: UInt8 = 1, values: [UInt8] = [0],
        groups: [UInt8] = [1, 1, 0, 1, 0xb0, 0x09]
    ) -> LastEntry {
        LastEntry(56, zone: zone) {
            $0.append([0, 0, 1, 1, reason])
            $0.countedText("note-0")
            $0.append([0, 1])
            $0.append(values)
            $0.append(groups)
        }
    }

    private static func readMark(kind: UInt8) -> LastEntry {
        LastEntry(57, zone: 0) {
            $0.append([1, 0, kind])
            $0.uint64(600)
            $0.uint64(650)
            $0.uint32(1)
        }
    }

    private static func zoneNotifications(count: UInt8, _ changes: [UInt8]) -> LastEntry {
        LastEntry(65, zone: 0) {
            $0.append([1, 0])
            $0.uint64(600)
            $0.uint8(count)
            $0.append(changes)
        }
    }

    private static func badge(_ value: UInt64) -> LastEntry {
        LastEntry(58, zone: 0) {
            $0.append([1])
            $0.varint(value)
        }
    }
}
