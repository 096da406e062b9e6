package import StratusBytes

/// The entry of how far a device was sent its pushes: `Formats/Record.md`, "Push position".
package struct PushPositionEntry: Equatable, Sendable {
    /// Of the user.
    package var user: UInt32
    /// Of the device.
    package var device: String
    /// A token of notifications: `Formats/Token.md`, "Notifications".
    package var token: [UInt8]

    /// Of a token, in bytes: without that of what others share, and with the longest.
    package static let tokenLengths = 55...310

    package init(user: UInt32, device: String, token: some Collection<UInt8>) {
        self.user = user
        self.device = device
        self.token = Array(token)
    }

    package func write(to writer: inout ByteWriter) {
        writer.varint(user)
        writer.countedText(device)
        writer.varint(token.count)
        writer.append(token)
    }

    package init(_ bytes: Span<UInt8>) throws(FormatError) {
        var cursor = ByteCursor()
        user = try cursor.varint32(bytes)
        guard user > 0 else { throw .value("user") }
        device = try cursor.text(bytes, upTo: NameRules.limit)
        guard !device.isEmpty else { throw .value("device name") }
        let count = try cursor.count(bytes, upTo: Self.tokenLengths.upperBound)
        guard count >= Self.tokenLengths.lowerBound else { throw .value("token") }
        token = bytes.array(in: try cursor.range(bytes, count: count))
        try ExtensionBlock.end(bytes, &cursor)
    }
}
