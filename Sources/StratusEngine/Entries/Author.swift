internal import StratusBytes

/// Who makes a change, and on which device.
package struct Author: Equatable, Sendable {
    /// The number of the user.
    package let user: UInt32
    /// ``DeviceHash`` of the device; nil: not known.
    package let device: UInt64?

    package init(_ user: UInt32, device: UInt64? = nil) {
        self.user = user
        self.device = device
    }

    /// - Parameters:
    ///   - device: its name; nil: the one without a name, which is not told from others.
    ///   - seed: the secret of the store.
    package init(_ user: UInt32, onDevice device: String?, seed: UInt64) {
        self.init(user, device: device.map { DeviceHash.hash(user: user, device: $0, seed: seed) })
    }
}

/// What tells a user's device from all others, in entries that must not name it.
enum DeviceHash {
    /// - Parameter seed: the secret of the store.
    static func hash(user: UInt32, device: String, seed: UInt64) -> UInt64 {
        var writer = ByteWriter()
        writer.uint32(user)
        writer.countedText(device)
        let bytes = writer.bytes
        return Checksum.xxh3(bytes.span, seed: seed)
    }
}
