internal import StratusEngine
internal import StratusLanguage

/// A query subscription, as it is kept for the commits that follow.
final class WaitingSubscription: DerivedState {
    private let entry: SubscriptionEntry
    /// Nil where its text is none, which fails no save of others.
    let predicate: PreparedPredicate?
    private let binaryColumns: Set<Schema.Column>

    init(_ entry: SubscriptionEntry, _ schema: Schema) {
        self.entry = entry
        let type = schema.number(entry.recordType)
        predicate = PreparedPredicate(entry.predicate) { schema.equality($0, of: type) }
        binaryColumns = schema.binaryColumns
    }

    /// Whether fields are compared in that schema as they were in the one that it was prepared for.
    func isPrepared(for schema: Schema) -> Bool { binaryColumns == schema.binaryColumns }

    func isOf(records type: String, in zone: String, _ database: UInt32) -> Bool {
        entry.kind == .query && entry.database == database && entry.recordType == type
            && (entry.zone.isEmpty || entry.zone == zone)
    }
}

/// The predicate of a subscription, ready to be asked about records.
final class PreparedPredicate: Sendable {
    private let evaluator: PredicateEvaluator
    private let asksForNamedFields: Bool

    /// Nil where the text is no predicate.
    ///
    /// - Parameter equality: of the strings of a field, by its name.
    init?(_ text: String, equality: (String) -> TextEquality) {
        guard let tree = try? PredicateParser.parse(text),
            let evaluator = try? PredicateEvaluator(tree, equality: equality)
        else { return nil }
        self.evaluator = evaluator
        asksForNamedFields = tree.asksForNamedFields
    }

    /// Whether a record satisfies it, which most often its fields decide.
    ///
    /// - Parameters:
    ///   - whole: the record, once it was made.
    ///   - make: gives it; nil where it satisfies nothing.
    func isSatisfied(
        by fields: some EncodedFields, _ whole: inout QueryRecord?,
        _ make: () throws(EngineError) -> Record?
    ) throws(EngineError) -> Bool {
        if asksForNamedFields { return evaluator.matches(fields) }
        if whole == nil { whole = try make().map { QueryRecord($0) } }
        guard let whole else { return false }
        return evaluator.matches(whole)
    }
}

/// A change that predicates are compared with, one after the other.
struct TestedChange: ~Copyable {
    /// One state of the record.
    struct State {
        private var whole: QueryRecord?
        /// Of the predicate at hand.
        fileprivate var isSatisfying: Bool?

        /// Whether the record satisfies the predicate at hand.
        mutating func satisfies(
            _ predicate: PreparedPredicate, _ fields: some EncodedFields,
            _ make: () throws(EngineError) -> Record?
        ) throws(EngineError) -> Bool {
            if let isSatisfying { return isSatisfying }
            let result = try predicate.isSatisfied(by: fields, &whole, make)
            isSatisfying = result
            return result
        }
    }

    let change: RecordChange
    /// As the record is now or, where it is deleted, was.
    var current = State()
    /// As it was before an update.
    var previous = State()
    /// Of the row whose predicate is at hand; nil where none of the place is.
    private(set) var order: UInt64?
    /// The options of which a subscription has one, where the change may be of it.
    private let concerned: SubscriptionEntry.Options

    init(_ change: consuming RecordChange) {
        concerned =
            switch change.reason {
            case .created: .firesOnCreation
            case .updated: [.firesOnUpdate, .firesOnEnd]
            case .deleted: .firesOnDeletion
            }
        self.change = change
    }

    func concerns(_ options: SubscriptionEntry.Options) -> Bool {
        !options.isDisjoint(with: concerned)
    }

    /// What waits at another place follows.
    mutating func beginPlace() { order = nil }

    /// Another predicate is at hand, that of a row.
    mutating func beginPredicate(ofOrder order: UInt64) {
        self.order = order
        current.isSatisfying = nil
        previous.isSatisfying = nil
    }
}

extension QueryRecord {
    /// A record whose own strings are the searchable fields.
    init(_ record: Record) { self.init(record: record, searchable: nil) }
}
