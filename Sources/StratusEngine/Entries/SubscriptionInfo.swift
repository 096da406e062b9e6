internal import StratusBytes

/// What the notifications of a subscription say: `Formats/Record.md`, "Subscription".
package struct SubscriptionInfo: Hashable, Sendable {
    package var alertBody: String?
    package var alertLocalizationKey: String?
    package var title: String?
    package var titleLocalizationKey: String?
    package var subtitle: String?
    package var subtitleLocalizationKey: String?
    package var alertActionLocalizationKey: String?
    package var alertLaunchImage: String?
    package var soundName: String?
    package var category: String?
    package var collapseIDKey: String?
    package var alertLocalizationArgs: [String]?
    package var titleLocalizationArgs: [String]?
    package var subtitleLocalizationArgs: [String]?
    package var desiredKeys: [String]?
    package var shouldBadge = false
    package var shouldSendContentAvailable = false
    package var shouldSendMutableContent = false

    /// Of a text, in bytes.
    package static let textLimit = 4096
    /// How many names of fields a list has at most.
    package static let listLimit = 64
    package static let desiredKeyLimit = 3

    package init() {}

    /// The fields whose values a notification brings.
    package var namedFields: Set<String> {
        Set(lists.flatMap { $0 ?? [] })
    }
}

// In an entry: a bit for each that is there, from bit 0 on, and then their values.
extension SubscriptionInfo {
    private var texts: [String?] {
        [
            alertBody, alertLocalizationKey, title, titleLocalizationKey, subtitle,
            subtitleLocalizationKey, alertActionLocalizationKey, alertLaunchImage, soundName,
            category, collapseIDKey,
        ]
    }

    private var lists: [[String]?] {
        [alertLocalizationArgs, titleLocalizationArgs, subtitleLocalizationArgs, desiredKeys]
    }

    private var switches: [Bool] {
        [shouldBadge, shouldSendContentAvailable, shouldSendMutableContent]
    }

    private static let partCount: UInt64 = 18

    func write(to writer: inout ByteWriter) {
        let isThere = texts.map { $0 != nil } + lists.map { $0 != nil } + switches
        writer.varint(isThere.reversed().reduce(UInt64(0)) { $0 << 1 | ($1 ? 1 : 0) })
        for text in texts {
            if let text { writer.countedText(text) }
        }
        for list in lists {
            guard let list else { continue }
            writer.varint(list.count)
            for name in list { writer.countedText(name) }
        }
    }

    init(_ bytes: Span<UInt8>, _ cursor: inout ByteCursor) throws(FormatError) {
        var parts = InfoParts(mask: try cursor.varint(bytes))
        guard parts.mask >> Self.partCount == 0 else { throw .newer("flags") }
        alertBody = try parts.text(bytes, &cursor)
        alertLocalizationKey = try parts.text(bytes, &cursor)
        title = try parts.text(bytes, &cursor)
        titleLocalizationKey = try parts.text(bytes, &cursor)
        subtitle = try parts.text(bytes, &cursor)
        subtitleLocalizationKey = try parts.text(bytes, &cursor)
        alertActionLocalizationKey = try parts.text(bytes, &cursor)
        alertLaunchImage = try parts.text(bytes, &cursor)
        soundName = try parts.text(bytes, &cursor)
        category = try parts.text(bytes, &cursor)
        collapseIDKey = try parts.text(bytes, &cursor)
        alertLocalizationArgs = try parts.list(bytes, &cursor, upTo: Self.listLimit)
        titleLocalizationArgs = try parts.list(bytes, &cursor, upTo: Self.listLimit)
        subtitleLocalizationArgs = try parts.list(bytes, &cursor, upTo: Self.listLimit)
        desiredKeys = try parts.list(bytes, &cursor, upTo: Self.desiredKeyLimit)
        shouldBadge = parts.next()
        shouldSendContentAvailable = parts.next()
        shouldSendMutableContent = parts.next()
    }
}

/// Reads one part after the other, each where its bit says that it is there.
private struct InfoParts {
    var mask: UInt64

    mutating func next() -> Bool {
        defer { mask >>= 1 }
        return mask & 1 != 0
    }

    mutating func text(
        _ bytes: Span<UInt8>, _ cursor: inout ByteCursor
    ) throws(FormatError) -> String? {
        guard next() else { return nil }
        return try cursor.text(bytes, upTo: SubscriptionInfo.textLimit)
    }

    mutating func list(
        _ bytes: Span<UInt8>, _ cursor: inout ByteCursor, upTo limit: Int
    ) throws(FormatError) -> [String]? {
        guard next() else { return nil }
        let count = try cursor.count(bytes, upTo: limit)
        var names: [String] = []
        for _ in 0..<count { names.append(try cursor.text(bytes, upTo: NameRules.limit)) }
        return names
    }
}
