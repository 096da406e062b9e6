internal import Stratus

/// The subscriptions of the caller in a database.
struct ListSubscriptions: Call {
    typealias Key = NoKey

    init(_ keys: JSONKeys<NoKey>) {}

    func run(in session: Session) async throws(StoreError) -> JSONObject {
        _ = try session.user()
        let writer = session.writer()
        let subscriptions = try await session.database().allSubscriptions()
        return ["subscriptions": .array(subscriptions.map { .object(writer.json($0)) })]
    }
}

struct LookUpSubscriptions: Call {
    enum Key: String { case subscriptions }

    private let ids: [Subscription.ID]

    init(_ keys: JSONKeys<Key>) throws(Mismatch) {
        ids = try keys.required(.subscriptions, as: [SubscriptionIDInput].self).map(\.id)
    }

    func run(in session: Session) async throws(StoreError) -> JSONObject {
        _ = try session.user()
        let results = try await session.database().subscriptions(for: ids)
        let writer = session.writer()
        let items = ids.map { id -> JSONValue in
            switch results[id] {
            case .success(let subscription)?: .object(writer.json(subscription))
            case .failure(let error)?: session.item(error, forSubscription: id)
            case nil:
                session.item(
                    StoreError(.unknownItem, "there is no such subscription"),
                    forSubscription: id)
            }
        }
        return ["subscriptions": .array(items)]
    }
}

/// Saves and deletes subscriptions, one after the other.
struct ModifySubscriptions: Call {
    enum Key: String { case operations }

    private let items: [Item]

    init(_ keys: JSONKeys<Key>) throws(Mismatch) { items = try keys.required(.operations) }

    func run(in session: Session) async throws(StoreError) -> JSONObject {
        _ = try session.user()
        let database = try session.database()
        let writer = session.writer()
        // All are read before one is saved: a key without meaning refuses the whole request.
        let changes = try changes(session)
        var answers: [JSONValue] = []
        for change in changes {
            let id = change.id
            do throws(StoreError) {
                switch try change.content.get() {
                case .save(let subscription, let mustExist):
                    if mustExist { _ = try await database.subscription(for: id) }
                    let saved = try await database.save(subscription)
                    answers.append(.object(writer.json(saved)))
                case .delete:
                    try await database.deleteSubscription(withID: id)
                    answers.append(["subscriptionID": .string(id), "deleted": true])
                }
            } catch {
                answers.append(session.item(error, forSubscription: id))
            }
        }
        return ["subscriptions": .array(answers)]
    }

    /// What becomes of each subscription, or why its item cannot be read.
    private func changes(
        _ session: Session
    ) throws(StoreError) -> [NamedChange] {
        var changes: [NamedChange] = []
        for (index, item) in items.enumerated() {
            let id = item.id ?? session.gateway.identifier()
            do throws(Mismatch) {
                let change = try item.change(id: id, session)
                changes.append(NamedChange(id: id, content: .success(change)))
            } catch {
                let error = error.under(Item.Key.subscription.rawValue)
                guard !error.isUnknownKey else {
                    throw StoreError(
                        error.at(index).under(Key.operations.rawValue).under("body"))
                }
                changes.append(NamedChange(id: id, content: .failure(StoreError(error))))
            }
        }
        return changes
    }
}

/// What an item of a request asks for.
private enum Change: Sendable {
    /// - Parameter mustExist: whether there must be a subscription of the same ID.
    case save(Subscription, mustExist: Bool)
    case delete
}

/// The same, or why the item cannot be read, of the subscription that it names.
private struct NamedChange: Sendable {
    let id: Subscription.ID
    let content: Result<Change, StoreError>
}

/// An item as the request has it.
private struct Item: JSONBody {
    enum Key: String { case operationType, subscription }
    enum Kind: String, JSONWord { case create, update, delete }

    private enum Content {
        case save(SubscriptionInput, mustExist: Bool)
        case delete
    }

    /// Nil of a new subscription, for which an ID is drawn.
    let id: Subscription.ID?
    private let content: Content

    init(_ keys: JSONKeys<Key>) throws(Mismatch) {
        let kind: Kind = try keys.required(.operationType)
        guard kind != .delete else {
            id = try keys.required(.subscription, as: SubscriptionIDInput.self).id
            content = .delete
            return
        }
        let input: SubscriptionInput = try keys.required(.subscription)
        if kind == .update, input.id == nil {
            let id = SubscriptionInput.Key.subscriptionID.rawValue
            throw Mismatch("is missing").under(id).under(Key.subscription.rawValue)
        }
        id = input.id
        content = .save(input, mustExist: kind == .update)
    }

    func change(id: Subscription.ID, _ session: Session) throws(Mismatch) -> Change {
        switch content {
        case .delete: .delete
        case .save(let input, let mustExist):
            .save(
                try input.subscription(
                    id: id, in: session.container, now: session.gateway.now()),
                mustExist: mustExist)
        }
    }
}

extension Session {
    /// What stands in place of a subscription that could not be had.
    fileprivate func item(
        _ error: StoreError, forSubscription id: Subscription.ID
    ) -> JSONValue {
        var object: JSONObject = ["subscriptionID": .string(id)]
        for member in json(error).members { object.append(member.name, member.value) }
        return .object(object)
    }
}
