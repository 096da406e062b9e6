internal import Stratus

struct ExportSchema: Call {
    typealias Key = NoKey

    init(_ keys: JSONKeys<NoKey>) {}

    func run(in session: Session) async throws(StoreError) -> JSONObject {
        ["schema": .string(try await session.container.schema())]
    }
}

struct ValidateSchema: Call {
    enum Key: String { case schema }

    private let text: String

    init(_ keys: JSONKeys<Key>) throws(Mismatch) { text = try keys.required(.schema) }

    func run(in session: Session) async throws(StoreError) -> JSONObject {
        try Container.validateSchema(text)
        return JSONObject()
    }
}

struct ImportSchema: Call {
    enum Key: String { case schema }

    private let text: String

    init(_ keys: JSONKeys<Key>) throws(Mismatch) { text = try keys.required(.schema) }

    func run(in session: Session) async throws(StoreError) -> JSONObject {
        try session.demand(.maintenance)
        let changes = try await session.container.importSchema(text)
        return ["changes": .array(changes.map { .string($0) })]
    }
}

struct DeploySchema: Call {
    enum Key: String { case schema }

    private let text: String

    init(_ keys: JSONKeys<Key>) throws(Mismatch) { text = try keys.required(.schema) }

    func run(in session: Session) async throws(StoreError) -> JSONObject {
        try session.demand(.maintenance)
        let changes = try await session.container.deploySchema(text)
        return ["changes": .array(changes.map { .string($0) })]
    }
}

struct ResetSchema: Call {
    typealias Key = NoKey

    init(_ keys: JSONKeys<NoKey>) {}

    func run(in session: Session) async throws(StoreError) -> JSONObject {
        try session.demand(.maintenance)
        try await session.container.resetSchema()
        return JSONObject()
    }
}
