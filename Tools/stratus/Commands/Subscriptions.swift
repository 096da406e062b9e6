import Stratus
import StratusGateway

/// Lists subscriptions.
enum Subscriptions {
    static func run(_ invocation: Invocation, _ output: Output) async throws -> ExitCode {
        var listing = try Listing(invocation)
        let container = try await invocation.openStore()
        let snapshot = try await invocation.snapshot(of: container)
        try listing.begin(
            output, schema: "stratus.subscriptions/1",
            columns: "user  database  subscription  kind  zone  type  fires on  predicate")
        let databases =
            invocation.has("database") ? [invocation.database] : DatabaseChoice.allCases
        var hasSkipped = false
        for user in listing.ordered(try invocation.listedUsers(of: container, at: snapshot))
        where !listing.isFull {
            for choice in listing.ordered(databases) {
                let database = snapshot.database(choice, of: user.recordName)
                let subscriptions: [Subscription]
                do throws(StoreError) {
                    subscriptions = try database.allSubscriptions()
                } catch {
                    guard error.isOfAccount else { throw error }
                    hasSkipped = true
                    output.warning(
                        "subscriptions.account",
                        "skipped: the account of \(user.text) cannot be used")
                    break
                }
                for subscription in listing.ordered(subscriptions) {
                    try listing.take {
                        let found = try database.explanation(of: subscription)
                        try output.result(
                            "subscription", subscription.json(of: user, in: choice, found),
                            text: subscription.columns(of: user, in: choice, found)
                                .map { Output.escaped($0) }.joined(separator: "  "))
                    }
                }
            }
        }
        try listing.finish(output)
        return hasSkipped ? .partial : .ok
    }
}

extension Snapshot {
    fileprivate func database(_ choice: DatabaseChoice, of user: String) -> DatabaseSnapshot {
        switch choice {
        case .private: privateDatabase(for: user)
        case .public: publicDatabase(as: user)
        case .shared: sharedDatabase(for: user)
        }
    }
}

extension StoreError {
    /// Whether the host has said that the account of the user cannot be used.
    fileprivate var isOfAccount: Bool {
        code == .notAuthenticated || code == .accountTemporarilyUnavailable
    }
}

extension Subscription {
    fileprivate func json(
        of user: StoreUser, in choice: DatabaseChoice, _ found: SubscriptionExplanation?
    ) -> JSONObject {
        var object: JSONObject = ["user": .string(user.recordName)]
        object.append("userName", user.userName.map(JSONValue.string))
        object.append("database", .string(choice.rawValue))
        object.append(json(ownedBy: choice == .private ? user.recordName : nil))
        object.append("isAlwaysTested", found.map { .boolean($0.isAlwaysTested) })
        return object
    }

    fileprivate func columns(
        of user: StoreUser, in choice: DatabaseChoice, _ found: SubscriptionExplanation?
    ) -> [String] {
        let start = [user.text, choice.rawValue, subscriptionID]
        switch kind {
        case .query(let predicate, let type, let zone, let options):
            let firesOn = options.firesOn + (options.contains(.firesOnce) ? ["once"] : [])
            return start + [
                "query", zone?.text ?? "*", type, firesOn.joined(separator: ", "),
                predicate.description,
            ] + (found?.isAlwaysTested == true ? ["tested with every change"] : [])
        case .zone(let zone, let type): return start + ["zone", zone.text, type ?? "*"]
        case .database(let type): return start + ["database", "*", type ?? "*"]
        }
    }
}
