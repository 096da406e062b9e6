public import FoundationEssentials
internal import StratusEngine

/// For which of a push provider's services a token is (after Web Services' `apnsEnvironment`).
public enum PushEnvironment: String, Hashable, Sendable, CaseIterable {
    /// That for apps under development.
    case development
    /// That for apps that are released.
    case production
}

/// A device of a user that is sent pushes.
public struct PushDevice: Hashable, Sendable {
    /// Tells the user's devices apart, 1 to 255 bytes: the name that calls from the device give as
    /// `device`, so that it is sent nothing of records that it changed itself.
    public var name: String
    /// Where the push provider reaches the device, 1 to 4,096 bytes.
    public var token: Data
    /// For which of the provider's services the token is.
    public var environment: PushEnvironment

    /// A device with a token that the push provider gave it.
    public init(name: String, token: Data, environment: PushEnvironment) {
        self.name = name
        self.token = token
        self.environment = environment
    }
}

/// A device, and how far it was sent its pushes.
package struct PushDeviceState: Sendable {
    package var device: PushDevice
    /// An offset of the journal: what lies at or before it is not sent any more.
    package var position: UInt64
}

extension PushEnvironment {
    init(_ stored: DeviceEntry.Environment) {
        switch stored {
        case .development: self = .development
        case .production: self = .production
        }
    }

    /// As entries have it.
    var stored: DeviceEntry.Environment {
        switch self {
        case .development: .development
        case .production: .production
        }
    }
}

extension PushDevice {
    init(_ stored: StoredDevice) {
        name = stored.name
        token = Data(stored.registration.token)
        environment = PushEnvironment(stored.registration.environment)
    }

    /// Fails where the name or the token is empty or too long.
    func check() throws(EngineError) {
        guard 1...NameRules.limit ~= name.utf8.count else {
            throw .refused(
                .invalidArguments,
                "expected a name of 1 to \(NameRules.limit) bytes for a device, found "
                    + "\(name.utf8.count)")
        }
        guard 1...DeviceEntry.tokenLimit ~= token.count else {
            throw .refused(
                .invalidArguments,
                "expected a token of 1 to \(DeviceEntry.tokenLimit) bytes for a device, found "
                    + "\(token.count)")
        }
    }
}
