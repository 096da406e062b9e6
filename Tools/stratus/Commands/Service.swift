import FoundationEssentials
import Stratus
import StratusFiles
import StratusGateway

/// The service that has a store open, which changes it for us.
struct Service {
    private let connection: LocalConnection
    /// The store, beside the service.
    let store: Container

    /// Nil where none has the store at `path` open, or it does not listen.
    init?(_ path: String) async throws(StoreError) {
        guard let connection = try Container.service(at: path) else { return nil }
        self.connection = connection
        store = try await Container.openReadOnly(at: path)
    }

    /// What the service answers to a call.
    ///
    /// - Throws: ``StoreError`` as the service refuses it, ``ToolError`` where it goes away.
    func call(
        _ name: String, _ body: JSONObject, _ invocation: Invocation
    ) async throws -> JSONObject {
        guard let answer = try await Self.call(name, body, invocation, over: connection) else {
            throw ToolError(.internal, id: "service.gone", Self.goneReason)
        }
        return answer
    }

    fileprivate static let goneReason =
        "the service went away: whether the store was changed is not known"

    /// The same over a connection; nil where the service goes away.
    fileprivate static func call(
        _ name: String, _ body: JSONObject, _ invocation: Invocation,
        over connection: LocalConnection
    ) async throws(StoreError) -> JSONObject? {
        let request = GatewayRequest(
            as: invocation.user, database: invocation.gatewayDatabase, call: name, body: body)
        // Whatever fails on the way, it is not known what came of it.
        let answer = try? await IOThreads(count: 1).outcome {
            try Self.answer(to: request, over: connection)
        }.get()
        guard let answer else { return nil }
        return try GatewayResponse(line: answer).get()
    }

    /// The line that comes back; nil where none does.
    private static func answer(
        to request: GatewayRequest, over connection: LocalConnection
    ) throws(SystemError) -> [UInt8]? {
        let bytes = request.bytes + [UInt8(ascii: "\n")]
        try connection.write(bytes.span)
        var lines = LineReader(limit: 1 << 30)
        while true {
            switch lines.next() {
            case .line(let line, _)?: return line
            case .tooLong?: return nil
            case nil: break
            }
            let piece = try connection.read(upTo: 256 << 10)
            if piece.isEmpty { return nil }
            lines.append(piece)
        }
    }
}

extension Invocation {
    fileprivate var gatewayDatabase: GatewayRequest.Database {
        switch database {
        case .private: .private
        case .public: .public
        case .shared: .shared
        }
    }

    /// Changes the store that the command names: by itself or, where a service has it open and
    /// listens, through that.
    func changing<Result>(
        creating: Bool = false, own: (Container) async throws -> Result,
        through: (Service) async throws -> Result
    ) async throws -> Result {
        let path = argument("STORE")
        // A dry run only reads the store, also where another process writes it. A service that listens is
        // asked all the same: it reads what it has committed last.
        if has("dry-run") {
            guard let service = try await Service(path) else {
                return try await own(openStore(at: path))
            }
            return try await through(service)
        }
        let container: Container
        do throws(StoreError) {
            container = try await openForWriting(path, creating: creating)
        } catch {
            guard case .locked? = error.cause else { throw error }
            guard let service = try await Service(path) else {
                var refusal = ToolError(describing: error)
                refusal.file = path
                refusal.hint = "a service whose gateway listens changes the store for this command"
                throw refusal
            }
            return try await through(service)
        }
        return try await container.closing { try await own(container) }
    }

    /// A path as another process understands it.
    func absolutePath(_ path: String) -> String {
        path.hasPrefix("/") ? path : FileManager.default.currentDirectoryPath + "/" + path
    }

    /// The zone that `--zone` names, for a request.
    func zoneObject(in container: Container) throws(ToolError) -> JSONValue {
        RecordWriter().json(try zoneID(in: container))
    }
}

extension JSONObject {
    mutating func append(_ name: String, textOf value: String?) {
        append(name, value.map(JSONValue.string))
    }
}

/// A service that writes the store of which a backup is made. It is connected to for each call: it would
/// not wait for the next one for as long as a backup takes.
struct ServiceWriter: BackupWriter {
    private let path: String
    private let invocation: Invocation
    /// How many seconds an answer is waited for; nil: for as long as it takes.
    private let answerLimit: Int?

    /// Nil where no service has the store open, or it does not listen.
    init?(_ invocation: Invocation, answeringWithin seconds: Int? = nil) throws(StoreError) {
        path = invocation.argument("STORE")
        self.invocation = invocation
        answerLimit = seconds
        guard try Container.service(at: path) != nil else { return nil }
    }

    func leaveMark(_ name: String) async throws(StoreError) -> UInt64 {
        let answer = try await call("store/mark", ["name": .string(name)])
        guard let offset = answer.text("offset").flatMap(UInt64.init) else {
            throw StoreError(.internalError, "the service does not say where the mark lies")
        }
        return offset
    }

    func removeMark(_ name: String, at offset: UInt64) async throws(StoreError) {
        _ = try await call("store/unmark", ["name": .string(name), "offset": .offset(offset)])
    }

    func checkpoint() async throws(StoreError) { _ = try await call("store/checkpoint", [:]) }

    func steadyContainer() async throws(StoreError) -> Container {
        // Where the service does not grant that, what it has written is read all the same.
        try? await checkpoint()
        do {
            return try await invocation.openStore()
        } catch {
            throw StoreError(translating: error)
        }
    }

    private func call(_ name: String, _ body: JSONObject) async throws(StoreError) -> JSONObject {
        let connection = try Container.service(at: path)
        if let answerLimit { connection?.limitWaiting(seconds: answerLimit) }
        guard let connection,
            let answer = try await Service.call(name, body, invocation, over: connection)
        else { throw StoreError(.serviceUnavailable, Service.goneReason) }
        return answer
    }
}
