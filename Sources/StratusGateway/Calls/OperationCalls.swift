internal import FoundationEssentials
internal import Stratus

/// The long-lived operations of the caller, of all databases.
struct ListOperations: Call {
    typealias Key = NoKey

    init(_ keys: JSONKeys<NoKey>) {}

    func run(in session: Session) async throws(StoreError) -> JSONObject {
        let operations = try await session.container.longLivedOperations(
            for: try session.user())
        return ["operations": .array(operations.map { .object($0.summary) })]
    }
}

/// Gives what a long-lived operation of the caller came to, and forgets it.
struct FetchOperation: Call {
    enum Key: String { case operationID }

    private let operationID: String

    init(_ keys: JSONKeys<Key>) throws(Mismatch) { operationID = try keys.required(.operationID) }

    func run(in session: Session) async throws(StoreError) -> JSONObject {
        let operation = try await session.operation(operationID)
        let own = session.session(in: operation.scope)
        let answer = try await operation.deliver()
        var body: JSONObject = [
            "operationID": .string(operation.operationID),
            "call": .string(operation.request.call),
            "state": .string(LongLivedOperation.State.finished.rawValue),
        ]
        body.append(own.body(of: answer, operation))
        return body
    }
}

/// Ends a long-lived operation of the caller.
struct CancelOperation: Call {
    enum Key: String { case operationID }

    private let operationID: String

    init(_ keys: JSONKeys<Key>) throws(Mismatch) { operationID = try keys.required(.operationID) }

    func run(in session: Session) async throws(StoreError) -> JSONObject {
        try await session.operation(operationID).cancel()
        return ["operationID": .string(operationID)]
    }
}

extension Session {
    fileprivate func operation(
        _ operationID: String
    ) async throws(StoreError) -> LongLivedOperation {
        let found = try await container.longLivedOperation(operationID, for: try user())
        guard let found else {
            throw try await container.absence(of: operationID, for: try user())
        }
        return found
    }
}

extension LongLivedRequest {
    /// The call that asks for it.
    fileprivate var call: String {
        switch self {
        case .modify: "records/modify"
        case .move: "records/move"
        case .records: "records/lookup"
        case .query: "records/query"
        case .zoneChanges: "changes/zone"
        case .databaseChanges: "changes/database"
        case .modifyZones: "zones/modify"
        case .modifySubscriptions: "subscriptions/modify"
        }
    }
}

extension LongLivedOperation {
    fileprivate var summary: JSONObject {
        [
            "operationID": .string(operationID), "call": .string(request.call),
            "database": .string(scope.rawValue), "state": .string(state.rawValue),
            "submitted": .integer(ExactDate(submissionDate).milliseconds),
        ]
    }
}
