package import FoundationEssentials
public import Stratus

/// Answers the requests of CloudKit Web Services from a container.
///
/// It has no state of its own beside the container, which the host opens and closes. Requests run
/// concurrently; a caller that needs one to take effect before another waits for its answer.
public struct Gateway: Sendable {
    /// What a host may permit beyond the data of users.
    public enum Grant: Hashable, Sendable {
        /// The calls about the store as a whole, and changes of its schema.
        case maintenance
        /// Reading and writing files below a directory, except a store's own.
        case files(under: String)
        /// Naming the caller by a user record name (`_` and 32 hexadecimal digits).
        case userRecordNames
    }

    let container: Container
    let grants: Set<Grant>
    /// The moment of `now()` in predicates.
    let now: @Sendable () -> Date
    private let makeIdentifier: @Sendable () -> UUID

    /// Answers from `container`, with no more than the data of users unless granted.
    public init(container: Container, grants: Set<Grant> = []) {
        self.init(
            container: container, grants: grants, now: { Date() }, makeIdentifier: { UUID() })
    }

    /// With the clock of the caller, and identifiers that the caller draws.
    package init(
        container: Container, grants: Set<Grant>, now: @escaping @Sendable () -> Date,
        makeIdentifier: @escaping @Sendable () -> UUID
    ) {
        self.container = container
        self.grants = grants
        self.now = now
        self.makeIdentifier = makeIdentifier
    }

    /// Does what a request asks. A change is durable, at the container's durability, when this
    /// returns.
    public nonisolated(nonsending) func respond(
        to request: GatewayRequest
    ) async -> GatewayResponse {
        guard let call = CallTable.calls[request.call] else {
            return refusal(ofCall: request)
        }
        let session = Session(gateway: self, request: request)
        do throws(StoreError) {
            try session.checkCaller()
            let body = try await call.run(request.body, session)
            return GatewayResponse(id: request.id, status: 200, body: body)
        } catch {
            return GatewayResponse(
                id: request.id, status: GatewayError(error.code).status, body: session.json(error))
        }
    }

    /// Does what a line of JSON asks.
    ///
    /// - Parameter number: which line it is, counted from 1; the answer to one that is no JSON
    ///   names it.
    public nonisolated(nonsending) func respond(
        toLine line: [UInt8], number: Int? = nil
    ) async -> GatewayResponse {
        let json: JSONValue
        do throws(JSONError) {
            json = try JSONReader.read(line.span)
        } catch {
            return refusal(ofLine: number, "\(error.reason), at byte \(error.byte) of the line")
        }
        let request: GatewayRequest
        do throws(Mismatch) {
            request = try GatewayRequest(json)
        } catch {
            guard case .object(let object) = json else {
                return refusal(ofLine: number, StoreError(error).reason)
            }
            return refusal(StoreError(error), id: object["id"] ?? .null)
        }
        return await respond(to: request)
    }

    /// Shows a container that was opened for reading as it is now.
    package nonisolated(nonsending) func refresh() async throws(StoreError) {
        try await container.refresh()
    }

    /// Shows what is durable to readers in other processes, where the container is stepped by its
    /// caller and does not do so by itself.
    package func announceDurable() { container.announceDurable() }

    /// The answer to a line that cannot be read.
    package func refusal(ofLine number: Int?, _ reason: String) -> GatewayResponse {
        var response = refusal(StoreError(.invalidArguments, reason), id: .null)
        response.line = number
        return response
    }

    private func refusal(_ error: StoreError, id: JSONValue) -> GatewayResponse {
        GatewayResponse(
            id: id, status: GatewayError(error.code).status, body: json(error))
    }

    private func refusal(ofCall request: GatewayRequest) -> GatewayResponse {
        guard CallTable.announced.contains(request.call) else {
            return refusal(
                StoreError(.invalidArguments, "there is no call \(request.call)"), id: request.id)
        }
        let error = StoreError(.invalidArguments, "\(request.call) is not in this build")
        return GatewayResponse(
            id: request.id, status: GatewayError.notImplemented.status,
            body: json(error, named: .notImplemented))
    }

    /// What an error is and why, without the item that it is about.
    func json(
        _ error: StoreError, named name: GatewayError? = nil, isCreation: Bool = false
    ) -> JSONObject {
        let name = name ?? GatewayError(error.code, isCreation: isCreation)
        var object: JSONObject = [
            "uuid": .string(identifier()), "serverErrorCode": .string(name.serverErrorCode),
            "ckErrorCode": .integer(error.code.rawValue), "reason": .string(error.sentence),
        ]
        // In whole seconds, rounded up.
        if let wait = error.retryAfter {
            let (seconds, rest) = wait.components
            object.append("retryAfter", .integer(Int(clamping: seconds) + (rest > 0 ? 1 : 0)))
        }
        object.append("cause", error.cause.map { .string($0.name) })
        object.append("line", (error.textPlace?.line).map { .integer($0) })
        object.append("column", (error.textPlace?.column).map { .integer($0) })
        return object
    }

    func identifier() -> String { makeIdentifier().uuidString }
}
