internal import StratusBytes

/// The kind of value a field holds: `Formats/Record.md`, "Values".
@usableFromInline package enum ValueKind: UInt8, Sendable {
    case string = 1
    case int64 = 2
    case double = 3
    case date = 4
    case bytes = 5
    case location = 6
    case reference = 7
    case asset = 8
}

/// The kind of value a field was given when it was first saved.
@usableFromInline package struct FieldKind: RawRepresentable, Hashable, Sendable {
    /// The ``ValueKind`` in the low bits; a list has the sixth bit, an encrypted field the seventh.
    @usableFromInline package var rawValue: UInt8

    @inlinable package static var listBit: UInt8 { 0x20 }
    @inlinable package static var encryptedBit: UInt8 { 0x40 }
    /// An empty list says nothing of its elements.
    package static let emptyList = FieldKind(list: true, bits: 0)

    /// A bit for each value that a kind may have: those below ``encryptedBit``, and the others.
    @inlinable static var plainKinds: UInt64 { 0x1ff << 32 | 0x1fe }
    @inlinable static var encryptedKinds: UInt64 { 0x7f << 32 | 0x7e }

    /// Nil where no field can be of that kind: references and assets are never encrypted, since the
    /// store must be able to see them.
    @inlinable package init?(rawValue: UInt8) {
        let kinds = rawValue & Self.encryptedBit == 0 ? Self.plainKinds : Self.encryptedKinds
        guard rawValue < 0x80, kinds >> UInt64(rawValue & 0x3f) & 1 != 0 else { return nil }
        self.rawValue = rawValue
    }

    /// Of a value that was checked before.
    @inlinable package init(checked rawValue: UInt8) { self.rawValue = rawValue }

    /// The same with the encryption flag; nil for references and assets, which the store must be able
    /// to see.
    @inlinable package var encrypted: FieldKind? {
        FieldKind(rawValue: rawValue | Self.encryptedBit)
    }

    @inlinable package init(_ kind: ValueKind, isList: Bool = false) {
        self.init(list: isList, bits: kind.rawValue)
    }

    @usableFromInline init(list: Bool, bits: UInt8) { rawValue = bits | (list ? Self.listBit : 0) }

    /// The same without the encryption flag.
    @inlinable package var unencrypted: FieldKind {
        FieldKind(list: isList, bits: rawValue & ~(Self.listBit | Self.encryptedBit))
    }

    @inlinable package var isList: Bool { rawValue & Self.listBit != 0 }
    @inlinable package var isEncrypted: Bool { rawValue & Self.encryptedBit != 0 }
    /// Whether it is an asset, or a list of assets.
    @inlinable package var isAsset: Bool {
        rawValue & ~(Self.listBit | Self.encryptedBit) == ValueKind.asset.rawValue
    }
    /// Whether the strings of such a field may be compared by their bytes.
    package var canBeBinary: Bool { element == .string && !isEncrypted }
    /// Nil of a list without elements, which says nothing of them.
    @inlinable package var element: ValueKind? {
        ValueKind(rawValue: rawValue & ~(Self.listBit | Self.encryptedBit))
    }

    /// The name that CloudKit's schema language has for it; of a list that of Web Services, such as
    /// `STRING_LIST`.
    package var name: String {
        let element =
            switch element {
            case .string: "STRING"
            case .int64: "INT64"
            case .double: "DOUBLE"
            case .date: "TIMESTAMP"
            case .bytes: "BYTES"
            case .location: "LOCATION"
            case .reference: "REFERENCE"
            case .asset: "ASSET"
            case nil: "EMPTY"
            }
        return (isEncrypted ? "ENCRYPTED " : "") + element + (isList ? "_LIST" : "")
    }
}

extension FieldKind {
    /// Reads one byte.
    init(_ bytes: Span<UInt8>, _ cursor: inout ByteCursor) throws(FormatError) {
        guard let kind = FieldKind(rawValue: try cursor.uint8(bytes)) else {
            throw .newer("field kind")
        }
        self = kind
    }
}
