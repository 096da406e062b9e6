package import StratusBytes
package import StratusJournal

/// A reference with the action deleteSelf: its record is deleted with its target.
/// `Formats/Record.md`, "Links".
package struct CascadeLink: Hashable, Comparable, Sendable {
    /// The number of the field that it stands in, alone or in a list.
    package var field: UInt32
    /// The record name of the target, in the same zone.
    package var target: String

    package init(field: UInt32, target: String) {
        self.field = field
        self.target = target
    }

    package static func < (left: CascadeLink, right: CascadeLink) -> Bool {
        if left.field != right.field { return left.field < right.field }
        return left.target.utf8.lexicographicallyPrecedes(right.target.utf8)
    }

    /// Each once, in order.
    package static func list(_ links: some Sequence<CascadeLink>) -> [CascadeLink] {
        Set(links).sorted()
    }

    package static func write(_ links: [CascadeLink], to writer: inout ByteWriter) {
        writer.varint(links.count)
        for link in links {
            writer.varint(link.field)
            writer.countedText(link.target)
        }
    }

    package static func read(
        _ bytes: Span<UInt8>, _ cursor: inout ByteCursor
    ) throws(FormatError) -> [CascadeLink] {
        var links: [CascadeLink] = []
        for _ in 0..<(try count(bytes, &cursor)) {
            let field = try cursor.varint32(bytes)
            links.append(CascadeLink(field: field, target: try cursor.text(bytes, upTo: 255)))
        }
        return links
    }

    /// The same without making texts: every opening passes here.
    package static func skip(_ bytes: Span<UInt8>, _ cursor: inout ByteCursor) throws(FormatError) {
        try forEach(bytes, &cursor) { _, _ in }
    }

    /// Gives `body` field and place of the target's name of each link of a list.
    package static func forEach(
        _ bytes: Span<UInt8>, _ cursor: inout ByteCursor, _ body: (UInt32, Range<Int>) -> Void
    ) throws(FormatError) {
        for _ in 0..<(try count(bytes, &cursor)) {
            let field = try cursor.varint32(bytes)
            body(field, try cursor.range(bytes, count: cursor.count(bytes, upTo: 255)))
        }
    }

    private static func count(
        _ bytes: Span<UInt8>, _ cursor: inout ByteCursor
    ) throws(FormatError) -> Int {
        try cursor.count(bytes, upTo: cursor.remaining(bytes) / 2)
    }
}

/// What a save changes of the links that its record had.
package struct LinkChange: Sendable {
    package var hasCascadeLinks = false
    /// The parent that the record has no more, empty where it had none; nil: it is as before.
    package var formerParent: String?
    /// The cascade links that the record has no more; nil: they are as before.
    package var formerCascadeLinks: [CascadeLink]?

    package init(
        hasCascadeLinks: Bool = false, formerParent: String? = nil,
        formerCascadeLinks: [CascadeLink]? = nil
    ) {
        self.hasCascadeLinks = hasCascadeLinks
        self.formerParent = formerParent
        self.formerCascadeLinks = formerCascadeLinks
    }
}

/// Where a record was before it was moved to another zone; of a user's record the user's entry, in
/// zone 0.
package struct MoveOrigin: Equatable, Sendable {
    package var zone: UInt32
    package var version: Version

    package init(zone: UInt32, version: Version) {
        self.zone = zone
        self.version = version
    }
}

/// What a reference says of its target: as of ``Reference/Action``.
package enum ReferenceAction: UInt8 {
    case none = 0
    case deleteSelf = 1
    case validate = 2
}

/// The references among the fields of an entry.
package enum ReferenceFields {
    /// Gives `body` field and place of the target's name of each that has the action deleteSelf;
    /// the field table begins at `cursor`.
    package static func forEachCascadeLink(
        _ bytes: Span<UInt8>, at cursor: ByteCursor, _ body: (UInt32, Range<Int>) -> Void
    ) throws(FormatError) {
        let table = try FieldTable(bytes, at: cursor)
        for place in 0..<table.count {
            let kind = table.kind(place, bytes)
            if kind.element != .reference { continue }
            try forEach(bytes, in: table.range(place, bytes), kind) { action, target in
                if action == .deleteSelf { body(table.number(place, bytes), target) }
            }
        }
    }

    /// Gives `body` action and place of the target's name of the reference that a value is, or of
    /// each in the list that it is.
    package static func forEach(
        _ bytes: Span<UInt8>, in range: Range<Int>, _ kind: FieldKind,
        _ body: (ReferenceAction, Range<Int>) -> Void
    ) throws(FormatError) {
        try ValueFormat.forEachElement(bytes, in: range, kind) { place throws(FormatError) in
            let (action, target) = try read(bytes, in: place)
            body(action, target)
        }
    }

    /// The action of the reference that fills `range`, and where the target's name lies.
    package static func read(
        _ bytes: Span<UInt8>, in range: Range<Int>
    ) throws(FormatError) -> (action: ReferenceAction, target: Range<Int>) {
        guard !range.isEmpty else { throw .truncated }
        guard let action = ReferenceAction(rawValue: bytes.uint8(at: range.lowerBound)) else {
            throw .newer("action")
        }
        let target = range.lowerBound + 1..<range.upperBound
        guard 1...NameRules.limit ~= target.count else { throw .value("target") }
        guard bytes.isText(in: target) else { throw .text }
        return (action, target)
    }
}
