internal import StratusBytes

/// A place at which a query subscription waits: a record that matches has a value there, so that
/// few subscriptions are looked at for a change. `Formats/Record.md`, "Subscription".
package struct SubscriptionAnchor: Hashable, Sendable {
    /// What values of a field come to the same place.
    package enum Kind: UInt8, Sendable, CaseIterable {
        case always = 0
        case equal = 1
        case prefix = 2
        case block = 3
        case above = 4
        case below = 5
        case word = 6
        case cell = 7
    }

    /// What all subscriptions have in common that are found in one way.
    package struct Shape: Hashable, Sendable {
        /// Empty for ``Kind/always`` and for words of all fields.
        package var field: String
        package var kind: Kind
        /// Of a prefix, a block or a cell: its length or its level.
        package var parameter: UInt8
        /// Whether only records of one zone come there.
        package var isInZone: Bool

        package init(
            field: String = "", kind: Kind, parameter: UInt8 = 0, isInZone: Bool = false
        ) {
            self.field = field
            self.kind = kind
            self.parameter = parameter
            self.isInZone = isInZone
        }

        /// By which the index finds it among the shapes of all types.
        package func hash(type: String, seed: UInt64) -> UInt64 {
            var writer = ByteWriter()
            writer.countedText(type)
            writer.countedText(field)
            writer.append([kind.rawValue, parameter, isInZone ? 1 : 0])
            let bytes = writer.bytes
            return Checksum.xxh3(bytes.span, seed: seed)
        }
    }

    package var shape: Shape
    /// Of the value, its class and its zone: a hash.
    package var slot: UInt64
    /// Where it stands among those of one slot.
    package var order: UInt64

    /// How many a subscription has at most.
    package static let limit = 1024

    package init(shape: Shape, slot: UInt64, order: UInt64) {
        self.shape = shape
        self.slot = slot
        self.order = order
    }

    /// By which the index finds what changes in the subscriptions of a type.
    package static func hash(ofType name: String, seed: UInt64) -> UInt64 {
        let bytes = name.utf8.span
        return Checksum.xxh3(bytes, seed: seed)
    }
}

// In an entry.
extension SubscriptionAnchor {
    static func write(_ anchors: [SubscriptionAnchor], to writer: inout ByteWriter) {
        writer.varint(anchors.count)
        for anchor in anchors {
            writer.countedText(anchor.shape.field)
            writer.uint8(anchor.shape.kind.rawValue)
            writer.uint8(anchor.shape.parameter)
            writer.uint8(anchor.shape.isInZone ? 1 : 0)
            writer.uint64(anchor.slot)
            writer.uint64(anchor.order)
        }
    }

    static func list(
        _ bytes: Span<UInt8>, _ cursor: inout ByteCursor
    ) throws(FormatError) -> [SubscriptionAnchor] {
        let count = try cursor.count(bytes, upTo: limit)
        var anchors: [SubscriptionAnchor] = []
        for _ in 0..<count { anchors.append(try SubscriptionAnchor(bytes, &cursor)) }
        return anchors
    }

    private init(_ bytes: Span<UInt8>, _ cursor: inout ByteCursor) throws(FormatError) {
        let field = try cursor.text(bytes, upTo: NameRules.limit)
        guard let kind = Kind(rawValue: try cursor.uint8(bytes)) else {
            throw .newer("anchor kind")
        }
        let parameter = try cursor.uint8(bytes)
        let isInZone = try cursor.uint8(bytes)
        guard isInZone <= 1 else { throw .value("isInZone") }
        shape = Shape(field: field, kind: kind, parameter: parameter, isInZone: isInZone == 1)
        slot = try cursor.uint64(bytes)
        order = try cursor.uint64(bytes)
    }
}
