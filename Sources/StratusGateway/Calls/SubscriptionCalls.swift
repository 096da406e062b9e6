internal import FoundationEssentials
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

/// Saves and deletes subscriptions, one after the other; a long-lived call does so at once.
struct ModifySubscriptions: Call {
    enum Key: String, LongLivedKey { case operations, operationID, isLongLived }

    private let inputs: [SubscriptionItemInput]
    /// Nil of a call that is made at once.
    private let longLivedID: String?

    init(_ keys: JSONKeys<Key>) throws(Mismatch) {
        inputs = try keys.required(.operations)
        longLivedID = try keys.longLivedID()
        guard longLivedID != nil else { return }
        for (index, input) in inputs.enumerated() where input.id == nil {
            let error = Mismatch("is missing: the call is long-lived")
                .under(SubscriptionInput.Key.subscriptionID.rawValue)
                .under(SubscriptionItemInput.Key.subscription.rawValue).at(index)
            throw error.under(Key.operations.rawValue)
        }
    }

    func run(in session: Session) async throws(StoreError) -> JSONObject {
        _ = try session.user()
        let database = try session.database()
        // All are read before one is saved: a key without meaning refuses the whole request.
        if let longLivedID {
            var form = AnswerForm()
            form.moment =
                try await session.kept(longLivedID)?.form.moment
                ?? ExactDate(session.gateway.now()).milliseconds
            let now = ExactDate.date(milliseconds: form.moment)
            var items: [SubscriptionItem] = []
            for item in try self.items(session, now: now) { items.append(try item.content.get()) }
            return try await session.answerLongLived(
                .modifySubscriptions(LongLivedRequest.SubscriptionModification(items)), form,
                longLivedID)
        }
        var answers: [JSONValue] = []
        for item in try items(session, now: session.gateway.now()) {
            do throws(StoreError) {
                let content = try item.content.get()
                answers.append(
                    session.answer(of: try await database.modify([content])[0], item.id))
            } catch {
                answers.append(session.answer(of: .failure(error), item.id))
            }
        }
        return ["subscriptions": .array(answers)]
    }

    /// What becomes of each subscription, or why its item cannot be read.
    private func items(
        _ session: Session, now: Date
    ) throws(StoreError) -> [(id: Subscription.ID, content: Result<SubscriptionItem, StoreError>)] {
        var items: [(id: Subscription.ID, content: Result<SubscriptionItem, StoreError>)] = []
        for (index, input) in inputs.enumerated() {
            let id = input.id ?? session.gateway.identifier()
            do throws(Mismatch) {
                let item = try input.item(id: id, in: session.container, now: now)
                items.append((id, .success(item)))
            } catch {
                let error = error.under(SubscriptionItemInput.Key.subscription.rawValue)
                guard !error.isUnknownKey else {
                    throw StoreError(
                        error.at(index).under(Key.operations.rawValue).under("body"))
                }
                items.append((id, .failure(StoreError(error))))
            }
        }
        return items
    }
}

/// An item as the request has it.
private struct SubscriptionItemInput: JSONBody {
    enum Key: String { case operationType, subscription }
    enum Kind: String, JSONWord { case create, update, delete }

    private enum Content {
        case save(SubscriptionInput, isUpdate: Bool)
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
        content = .save(input, isUpdate: kind == .update)
    }

    /// - Parameter now: the moment of `now()` in its predicate.
    func item(
        id: Subscription.ID, in container: Container, now: Date
    ) throws(Mismatch) -> SubscriptionItem {
        switch content {
        case .delete: .delete(id)
        case .save(let input, let isUpdate):
            .save(try input.subscription(id: id, in: container, now: now), isUpdate: isUpdate)
        }
    }
}

extension Session {
    func answer(
        of outcome: Result<Subscription?, StoreError>, _ id: Subscription.ID
    ) -> JSONValue {
        switch outcome {
        case .success(let subscription?): .object(writer().json(subscription))
        case .success(nil): ["subscriptionID": .string(id), "deleted": true]
        case .failure(let error): item(error, forSubscription: id)
        }
    }

    /// What stands in place of a subscription that could not be had.
    fileprivate func item(
        _ error: StoreError, forSubscription id: Subscription.ID
    ) -> JSONValue {
        var object: JSONObject = ["subscriptionID": .string(id)]
        object.append(json(error))
        return .object(object)
    }
}
