package import StratusBytes
internal import StratusJournal

/// The entry of a device that is sent pushes, or is not any more: `Formats/Record.md`, "Device".
package struct DeviceEntry: Equatable, Sendable {
    /// Which of the services of a push provider the token is for. CloudKit's words.
    package enum Environment: UInt8, Sendable {
        case development = 0
        case production = 1
    }

    /// What is needed to send a device anything.
    package struct Registration: Equatable, Sendable {
        package var environment: Environment
        /// The push provider's, which the store does not look into.
        package var token: [UInt8]
        /// Where the entry lies with which the registration began; 0: it is this one.
        package var start: UInt64

        package init(environment: Environment, token: some Collection<UInt8>, start: UInt64) {
            self.environment = environment
            self.token = Array(token)
            self.start = start
        }
    }

    /// Of the user.
    package var user: UInt32
    /// Tells the user's devices apart.
    package var name: String
    /// Nil where the device was removed.
    package var registration: Registration?

    /// Of a token, in bytes.
    package static let tokenLimit = 4096
    private static let removed: UInt8 = 0
    private static let registered: UInt8 = 1

    package init(user: UInt32, name: String, registration: Registration?) {
        self.user = user
        self.name = name
        self.registration = registration
    }

    package func write(to writer: inout ByteWriter) {
        writer.varint(user)
        writer.uint8(registration == nil ? Self.removed : Self.registered)
        writer.countedText(name)
        guard let registration else { return }
        writer.uint8(registration.environment.rawValue)
        writer.varint(registration.token.count)
        writer.append(registration.token)
        writer.varint(registration.start)
    }

    package init(_ bytes: Span<UInt8>) throws(FormatError) {
        var cursor = ByteCursor()
        user = try cursor.varint32(bytes)
        guard user > 0 else { throw .value("user") }
        let state = try cursor.uint8(bytes)
        guard state == Self.removed || state == Self.registered else {
            throw .newer("device state")
        }
        name = try cursor.text(bytes, upTo: NameRules.limit)
        guard !name.isEmpty else { throw .value("device name") }
        registration = nil
        if state == Self.registered { registration = try Registration(bytes, &cursor) }
        try ExtensionBlock.end(bytes, &cursor)
    }
}

extension DeviceEntry.Registration {
    fileprivate init(_ bytes: Span<UInt8>, _ cursor: inout ByteCursor) throws(FormatError) {
        let environment = try cursor.uint8(bytes)
        guard let known = DeviceEntry.Environment(rawValue: environment) else {
            throw .newer("push environment")
        }
        self.environment = known
        let count = try cursor.count(bytes, upTo: DeviceEntry.tokenLimit)
        guard count > 0 else { throw .value("device token") }
        token = bytes.array(in: try cursor.range(bytes, count: count))
        start = try cursor.varint(bytes)
        guard start < JournalOffset.limit else { throw .value("start") }
    }
}
