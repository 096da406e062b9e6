internal import StratusEngine

/// An item of a call that says which thing it is about.
protocol NamedItem: Sendable {
    /// What the thing is once it was saved.
    associatedtype Saved: Sendable

    /// What the store tells the thing from others by, byte by byte.
    var itemName: String { get }
    /// What the thing is called in an error.
    var title: String { get }

    /// Whether both want the same of one thing.
    func wantsSame(as other: Self) -> Bool
    /// What became of it; nothing of a deletion.
    func outcome(_ error: StoreError?) -> Result<Saved?, StoreError>
    /// An error of which only code and reason are known, with what it is about.
    func placed(_ error: StoreError) -> StoreError
}

/// The items of a call, of each thing one.
struct DistinctItems<Item: NamedItem>: Sendable {
    let distinct: [Item]
    /// For each item of the call the place of what is done for it.
    private let places: [Int]

    /// Fails where two items want different things of one.
    init(_ items: [Item]) throws(EngineError) {
        var distinct: [Item] = []
        var places: [Int] = []
        var known: [[UInt8]: Int] = [:]
        for item in items {
            let name = Array(item.itemName.utf8)
            let place = known[name] ?? distinct.count
            places.append(place)
            if place == distinct.count {
                known[name] = place
                distinct.append(item)
            } else if !item.wantsSame(as: distinct[place]) {
                throw .refused(
                    .invalidArguments, "\(item.title) is named twice in one call")
            }
        }
        self.distinct = distinct
        self.places = places
    }

    /// Why each item of the call failed, out of what became of the distinct ones.
    func errors(of results: [ItemResult]) -> [StoreError?] { places.map { results[$0].error } }
}

/// One commit of those items of a call that can be done.
protocol ItemizedTransaction: Transaction {
    associatedtype Item: NamedItem
    var items: DistinctItems<Item> { get }
}

extension ItemizedTransaction {
    /// Why each item of the call failed.
    func errors(of draft: Draft) -> [StoreError?] { items.errors(of: draft.results) }
}

extension Database {
    /// Makes a commit: what became of each item of the call.
    nonisolated(nonsending) func outcomes<Call: ItemizedTransaction>(
        of items: [Call.Item], _ call: () async throws(EngineError) -> Call
    ) async throws(StoreError) -> [Result<Call.Item.Saved?, StoreError>] {
        try await answering { () async throws(EngineError) in
            let call = try await call()
            let committed = try await container.engine().commit(call)
            return zip(items, call.errors(of: committed.draft)).map { $0.outcome($1) }
        }
    }
}
