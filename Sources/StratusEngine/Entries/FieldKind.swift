/// The kind of value a field holds: `Formats/Record.md`, "Values".
package enum ValueKind: UInt8, Sendable {
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
package struct FieldKind: RawRepresentable, Hashable, Sendable {
    /// The ``ValueKind`` in the low bits; a list has the sixth bit, an encrypted field the seventh.
    package var rawValue: UInt8

    package static let listBit: UInt8 = 0x20
    package static let encryptedBit: UInt8 = 0x40
    /// An empty list says nothing of its elements.
    package static let emptyList = FieldKind(list: true, bits: 0)

    package init?(rawValue: UInt8) {
        let bits = rawValue & ~(Self.listBit | Self.encryptedBit)
        let isList = rawValue & Self.listBit != 0
        guard ValueKind(rawValue: bits) != nil || (isList && bits == 0) else { return nil }
        guard
            rawValue & Self.encryptedBit == 0
                || bits != ValueKind.reference.rawValue && bits != ValueKind.asset.rawValue
        else { return nil }
        self.rawValue = rawValue
    }

    /// The same with the encryption flag; nil for references and assets, which the store must be able
    /// to see.
    package var encrypted: FieldKind? { FieldKind(rawValue: rawValue | Self.encryptedBit) }

    package init(_ kind: ValueKind, isList: Bool = false) {
        self.init(list: isList, bits: kind.rawValue)
    }

    private init(list: Bool, bits: UInt8) { rawValue = bits | (list ? Self.listBit : 0) }

    /// The same without the encryption flag.
    package var unencrypted: FieldKind {
        FieldKind(list: isList, bits: rawValue & ~(Self.listBit | Self.encryptedBit))
    }

    package var isList: Bool { rawValue & Self.listBit != 0 }
    package var isEncrypted: Bool { rawValue & Self.encryptedBit != 0 }
    /// Nil of a list without elements, which says nothing of them.
    package var element: ValueKind? {
        ValueKind(rawValue: rawValue & ~(Self.listBit | Self.encryptedBit))
    }

    /// The name that CloudKit's schema language has for it.
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
