internal import FoundationEssentials
internal import Stratus

/// Draws a token for a device of the caller and registers the device with it.
struct CreateToken: Call {
    enum Key: String { case apnsEnvironment, clientId }

    private let environment: PushEnvironment
    private let client: String?

    init(_ keys: JSONKeys<Key>) throws(Mismatch) {
        environment = try keys.required(.apnsEnvironment)
        client = try keys.optional(.clientId)
    }

    func run(in session: Session) async throws(StoreError) -> JSONObject {
        // Two identifiers without their hyphens: 64 digits.
        let digits = session.gateway.identifier() + session.gateway.identifier()
        let token = digits.lowercased().filter { $0 != "-" }
        try await session.register(token, environment, on: client)
        return [
            "apnsEnvironment": .string(environment.rawValue), "apnsToken": .string(token),
        ]
    }
}

/// Registers a device of the caller with a token that the push provider gave it.
struct RegisterToken: Call {
    enum Key: String { case apnsEnvironment, apnsToken, clientId }

    private let environment: PushEnvironment
    private let token: String
    private let client: String?

    init(_ keys: JSONKeys<Key>) throws(Mismatch) {
        environment = try keys.required(.apnsEnvironment)
        token = try keys.required(.apnsToken)
        client = try keys.optional(.clientId)
    }

    func run(in session: Session) async throws(StoreError) -> JSONObject {
        try await session.register(token, environment, on: client)
        return JSONObject()
    }
}

extension PushEnvironment: JSONWord {}

extension Session {
    /// Registers the device that the call names or, where it names none, the request.
    fileprivate func register(
        _ token: String, _ environment: PushEnvironment, on client: String?
    ) async throws(StoreError) {
        let user = try user()
        guard let name = client ?? request.device else {
            throw StoreError(
                .invalidArguments,
                "the call needs a device: name one as 'clientId', or the request's as 'device'")
        }
        try await container.registerDevice(
            PushDevice(name: name, token: Data(token.utf8), environment: environment), for: user)
    }
}
