import FoundationEssentials
import Stratus
import StratusBytes
import StratusGateway

/// Lists the devices that are sent pushes.
enum Devices {
    static func run(_ invocation: Invocation, _ output: Output) async throws -> ExitCode {
        let container = try await invocation.openStore()
        try output.header(
            schema: "stratus.devices/1", columns: "user  device  environment  token  position")
        for user in try users(invocation, container) {
            for state in try await container.deviceStates(for: user.recordName) {
                try output.result(
                    "device", state.json(of: user),
                    text: state.columns(of: user).map { Output.escaped($0) }
                        .joined(separator: "  "))
            }
        }
        return .ok
    }

    private static func users(
        _ invocation: Invocation, _ container: Container
    ) throws -> [StoreUser] {
        guard let name = invocation.value("user") else { return try container.allUsers() }
        return [try container.demandUser(name)]
    }
}

extension PushDeviceState {
    /// The token as text; nil where it is none that can be read.
    private var tokenText: String? {
        let isText = device.token.allSatisfy { (0x20...0x7e).contains($0) }
        return isText ? String(decoding: device.token, as: UTF8.self) : nil
    }

    private var tokenHex: String { Hex.encode([UInt8](device.token)) }

    fileprivate func json(of user: StoreUser) -> JSONObject {
        var object: JSONObject = ["user": .string(user.recordName)]
        object.append("userName", user.userName.map(JSONValue.string))
        object.append("device", .string(device.name))
        object.append("environment", .string(device.environment.rawValue))
        if let tokenText {
            object.append("token", .string(tokenText))
        } else {
            object.append("tokenHex", .string(tokenHex))
        }
        object.append("position", .offset(position))
        return object
    }

    fileprivate func columns(of user: StoreUser) -> [String] {
        [
            user.text, device.name, device.environment.rawValue, tokenText ?? "0x" + tokenHex,
            String(position),
        ]
    }
}
