package import StratusBytes

/// The entry of what the host says of a user: `Formats/Record.md`, "Identity".
package struct IdentityEntry: Equatable, Sendable {
    /// CloudKit's numbers.
    package enum AccountStatus: UInt8, Sendable {
        case couldNotDetermine = 0
        case available = 1
        case restricted = 2
        case noAccount = 3
        case temporarilyUnavailable = 4
    }

    /// Of the user.
    package var user: UInt32
    package var status: AccountStatus
    /// Whether other users find the user by address, and learn the name.
    package var isDiscoverable: Bool
    /// Empty: not known.
    package var givenName: String
    package var familyName: String
    package var addresses: [Address]
    /// The hashes of those that the user once had and that no user has now, in order: this entry
    /// takes them away, whichever of the earlier entries are still there.
    package private(set) var formerAddresses: [Hash128]

    /// Of a name, in bytes.
    package static let nameLimit = 255
    /// How many addresses a user has at most.
    package static let addressLimit = 32
    package static let formerAddressLimit = 4096
    private static let discoverable: UInt8 = 1

    package init(
        user: UInt32, status: AccountStatus = .available, isDiscoverable: Bool = false,
        givenName: String = "", familyName: String = "", addresses: [Address] = [],
        formerAddresses: Set<Hash128> = []
    ) {
        self.user = user
        self.status = status
        self.isDiscoverable = isDiscoverable
        self.givenName = givenName
        self.familyName = familyName
        self.addresses = addresses
        self.formerAddresses = formerAddresses.sorted()
    }

    package func write(to writer: inout ByteWriter) {
        writer.varint(user)
        writer.uint8(status.rawValue)
        writer.uint8(isDiscoverable ? Self.discoverable : 0)
        writer.countedText(givenName)
        writer.countedText(familyName)
        writer.varint(addresses.count)
        for address in addresses { address.write(to: &writer) }
        writer.varint(formerAddresses.count)
        for address in formerAddresses { writer.hash(address) }
    }

    package init(_ bytes: Span<UInt8>) throws(FormatError) {
        var cursor = ByteCursor()
        user = try cursor.varint32(bytes)
        guard user > 0 else { throw .value("user") }
        let status = try cursor.uint8(bytes)
        guard let known = AccountStatus(rawValue: status) else { throw .newer("account status") }
        self.status = known
        let flags = try cursor.uint8(bytes)
        guard flags & ~Self.discoverable == 0 else { throw .newer("flags") }
        isDiscoverable = flags & Self.discoverable != 0
        givenName = try cursor.text(bytes, upTo: Self.nameLimit)
        familyName = try cursor.text(bytes, upTo: Self.nameLimit)
        addresses = []
        formerAddresses = []
        var seen: Set<AddressKey> = []
        let count = try cursor.count(bytes, upTo: Self.addressLimit)
        for _ in 0..<count {
            let address = try Address(bytes, &cursor)
            guard seen.insert(address.key).inserted else { throw .value("address") }
            addresses.append(address)
        }
        let formerCount = try cursor.count(bytes, upTo: Self.formerAddressLimit)
        for _ in 0..<formerCount {
            let address = try cursor.hash(bytes)
            if let last = formerAddresses.last, last >= address { throw .value("former address") }
            formerAddresses.append(address)
        }
        try ExtensionBlock.end(bytes, &cursor)
    }
}

extension IdentityEntry {
    /// An address of a user.
    package struct Address: Equatable, Sendable {
        /// What tells it from others.
        package var key: AddressKey
        /// As the host gave it.
        package var text: String

        /// In bytes.
        package static let textLimit = 255

        package init(_ text: String, key: AddressKey) {
            self.text = text
            self.key = key
        }

        fileprivate func write(to writer: inout ByteWriter) {
            writer.uint8(key.kind.rawValue)
            writer.countedText(text)
            writer.countedText(key.isSame(as: text) ? "" : key.text)
        }

        fileprivate init(_ bytes: Span<UInt8>, _ cursor: inout ByteCursor) throws(FormatError) {
            let kind = try AddressKey.Kind(bytes, &cursor)
            text = try cursor.text(bytes, upTo: Self.textLimit)
            let compared = try cursor.text(bytes, upTo: AddressKey.textLimit)
            guard !text.isEmpty else { throw .value("address") }
            key = AddressKey(kind, compared.isEmpty ? text : compared)
            guard compared.isEmpty || !key.isSame(as: text) else { throw .value("address") }
        }
    }

    /// What tells addresses apart: the kind, and the text by which it is compared.
    package struct AddressKey: Hashable, Sendable {
        package enum Kind: UInt8, Sendable {
            case email = 1
            case phone = 2
        }

        package let kind: Kind
        /// The kind, then the UTF-8 of the text: texts are equal where their bytes are.
        private let bytes: [UInt8]

        /// Of a text with case folded, which may take more than the text as it was given.
        package static let textLimit = 1024

        package init(_ kind: Kind, _ text: String) {
            self.kind = kind
            bytes = [kind.rawValue] + Array(text.utf8)
        }

        package var text: String { String(decoding: bytes.dropFirst(), as: UTF8.self) }

        /// By which the index finds it.
        package func hash(seed: UInt64) -> Hash128 {
            let bytes = bytes
            return Hash128(bytes.span, seed: seed)
        }

        fileprivate func isSame(as text: String) -> Bool {
            bytes.dropFirst().elementsEqual(text.utf8)
        }
    }
}

extension IdentityEntry.AddressKey.Kind {
    fileprivate init(_ bytes: Span<UInt8>, _ cursor: inout ByteCursor) throws(FormatError) {
        let kind = try cursor.uint8(bytes)
        guard let known = Self(rawValue: kind) else { throw .newer("address kind") }
        self = known
    }
}
