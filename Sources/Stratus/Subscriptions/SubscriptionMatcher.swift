internal import StratusBytes
internal import StratusEngine
internal import StratusIndex
internal import StratusJournal
internal import StratusLanguage

/// Finds the query subscriptions that the changes of a commit are of, while it is prepared.
/// `Formats/Record.md`, "Matches".
///
/// A record finds what may match it by its own values, in memory; only then the index says which
/// subscriptions these are, and the predicate of each decides. What follows is asked for with
/// ``next()``. Matches of one record take some bytes of memory each until they are written.
final class SubscriptionMatcher {
    /// A subscription that matches, as the index has it.
    typealias Match = AnchorRow

    /// A change that subscriptions match.
    struct MatchedChange {
        var reason: MatchesEntry.Reason
        var name: String
        var type: UInt32
        var creator: UInt32
        var zone: UInt32
        /// What notifications bring.
        var values: [MatchesEntry.Value]
        /// By user, then by number, each once; those that are not written yet.
        var matches: ArraySlice<Match>

        /// About what it takes in an entry, in bytes.
        var length: Int {
            values.reduce(32 + name.utf8.count + 16 * matches.count) { $0 + $1.bytes.count }
        }
    }

    let reading: StoreReading
    let context: PreparationContext
    /// Who makes the changes.
    let author: Author
    /// With the names that the commit itself brings.
    let schema: Schema
    /// What was found and is not written yet.
    var found: [MatchedChange] = []
    /// About what that takes, in bytes.
    var foundLength = 0
    /// Whether no change comes any more.
    var isClosed = false
    /// Whether all that was found is being written, and of which zone the last entry was.
    var isDraining = false
    var drained: UInt32?
    /// The subscriptions that fired once and are to end.
    var endings: [Match] = []
    /// The badges of users, after what was written.
    var badges: [UInt32: UInt64] = [:]
    /// The users whose badges are to be written; nil: these are not known yet.
    var changedBadges: [UInt32]?
    /// What was relied on, beside the subscriptions of each type.
    var readSet: [IndexKey] = []
    /// Whether more was found than this context may write.
    private(set) var isTooLong = false

    private let caller: UserID
    private let database: UInt32
    private let filters: SubscriptionFilters
    private var probe: SubscriptionProbe
    private var types: [UInt32: AnchoredType] = [:]
    private var lastType: AnchoredType?
    /// Of predicates by the hashes of their texts.
    private var evaluators: [Hash128: PredicateEvaluator] = [:]
    /// What waits at places that were hit before, and by subscription the evaluator of its predicate.
    private var waiting: [SubscriptionProbe.Hit: [Match]] = [:]
    private var testers: [TestedSubscription: PredicateEvaluator?] = [:]
    /// By subscription the fields that its notifications name.
    var named: [UInt64: [String]] = [:]
    /// Those that have fired once. A later change of the commit is not theirs.
    private var ended: Set<UInt64> = []

    private static let evaluatorLimit = 256
    /// So many places are remembered, and no more rows of one.
    static let waitingLimit = 256

    /// A subscription, and the zone of the records that it is asked about.
    private struct TestedSubscription: Hashable {
        var number: UInt64
        var zone: UInt32
    }

    /// Of the public database.
    private var grants: Grants?
    /// What the last subscriber may read of it.
    private var lastReader: (number: UInt32, reader: PublicReader?)?

    /// For the changes of a database; a store without subscriptions needs none.
    init(
        _ reading: StoreReading, _ context: PreparationContext, in database: UInt32,
        by author: Author, _ caller: UserID, _ schema: Schema
    ) {
        let secret = reading.identity.secret
        self.reading = reading
        self.context = context
        self.database = database
        self.author = author
        self.caller = caller
        self.schema = schema
        let filters = reading.subscriptionFilters
        self.filters = filters
        probe = SubscriptionProbe(filters, in: database, secret: secret)
    }

    /// What the subscriptions ask of records of a type; nil: nothing.
    private func anchored(_ number: UInt32) throws(EngineError) -> AnchoredType? {
        if let lastType, lastType.number == number { return lastType.isEmpty ? nil : lastType }
        if let known = types[number] {
            lastType = known
            return known.isEmpty ? nil : known
        }
        guard let name = schema.name(number) else { return nil }
        let shapes = try filters.shapes(ofType: name, in: database, reading)
        let type = AnchoredType(number, name, shapes, schema)
        types[number] = type
        lastType = type
        return type.isEmpty ? nil : type
    }
}

// Changes.
extension SubscriptionMatcher {
    /// A record of the type was saved with these fields, over `former` where it was there before.
    /// `payload` gives that of its entry.
    func save(
        _ fields: some EncodedFields, type number: UInt32,
        over former: (entry: JournalEntry, fields: StoredFields)?, in zone: AnchorZone,
        payload: () -> [UInt8]?
    ) throws(EngineError) {
        guard let type = try anchored(number) else { return }
        do throws(FormatError) {
            guard try probe.find(fields, over: former?.fields, type, in: zone) else { return }
        } catch {
            throw .refused(.internalError, "a value cannot be compared with subscriptions")
        }
        guard let payload = payload(), let creator = Self.creator(payload) else {
            throw .refused(.internalError, "a record cannot be compared with subscriptions")
        }
        let record = try record(
            payload, 0..<payload.count, .none, in: zone,
            damage: reading.damaged(at: reading.head))
        let tested = TestedChange(
            former == nil ? .created : .updated, new: QueryRecord(record), former: former?.entry,
            type, zone)
        try collect(tested, record, creator: creator)
    }

    private static func creator(_ payload: [UInt8]) -> UInt32? {
        var cursor = ByteCursor()
        return (try? RecordHead(payload.span, &cursor))?.creator
    }

    /// A record is deleted, whose last version the entry holds.
    func delete(_ entry: JournalEntry, in zone: AnchorZone) throws(EngineError) {
        let (head, cursor) = try entry.recordHead()
        guard let type = try anchored(head.type) else { return }
        // A damaged record can be deleted, and satisfies nothing.
        guard let fields = try? entry.storedFields(at: cursor),
            let isHit = try? probe.find(fields, over: nil, type, in: zone), isHit
        else { return }
        let record: Record
        do throws(EngineError) {
            record = try self.record(of: entry, in: zone)
        } catch {
            if error.isDamage { return }
            throw error
        }
        let tested = TestedChange(.deleted, old: QueryRecord(record), type, zone)
        try collect(tested, record, creator: head.creator)
    }

    private func record(
        of entry: JournalEntry, in zone: AnchorZone
    ) throws(EngineError) -> Record {
        try record(
            entry.bytes, entry.payloadRange, entry.version, in: zone, damage: .damaged(entry))
    }

    /// As the owner of the zone sees it, who need not be who changes it.
    private func record(
        _ bytes: [UInt8], _ range: Range<Int>, _ version: Version, in zone: AnchorZone,
        damage: @autoclosure () -> EngineError
    ) throws(EngineError) -> Record {
        let (reading, user, caller) = (reading, author.user, caller)
        return try Record(
            bytes, range, version: version, expected: nil, in: zone.id, schema: schema,
            assets: nil, damage: damage()
        ) { number throws(EngineError) in
            // The commit itself may bring the caller.
            if number == user { return caller }
            return try reading.user(number)
        }
    }
}

// Matching.
extension SubscriptionMatcher {
    /// Finds the subscriptions that the change is of, among those that wait where the probe hit.
    private func collect(
        _ tested: TestedChange, _ record: Record, creator: UInt32
    ) throws(EngineError) {
        var tested = tested
        var matches: [Match] = []
        for (hit, bound) in probe.hits {
            try collect(hit, bound, &tested, &matches)
            if isTooLong { return }
        }
        if matches.isEmpty { return }
        matches.sort { ($0.user, $0.number) < ($1.user, $1.number) }
        // What waits at several places may be found at several of them.
        var count = 1
        for place in 1..<matches.count where matches[place].number != matches[count - 1].number {
            matches[count] = matches[place]
            count += 1
        }
        matches.removeLast(matches.count - count)
        if database == 0 {
            try removeUnreadable(from: &matches, of: tested.type.name, creator: creator)
            if matches.isEmpty { return }
        }
        for match in matches where match.options.contains(.firesOnce) {
            ended.insert(match.number)
            endings.append(match)
        }
        let change = MatchedChange(
            reason: tested.reason, name: record.recordID.recordName, type: tested.type.number,
            creator: creator, zone: tested.zone.number,
            values: try values(of: record.stored, namedBy: matches), matches: matches[...])
        found.append(change)
        foundLength += change.length
    }

    /// Of the public database nobody is told, by a badge or the end of a subscription either, what may
    /// not be read. Whether it may be is asked again when it is told.
    private func removeUnreadable(
        from matches: inout [Match], of type: String, creator: UInt32
    ) throws(EngineError) {
        let grants: Grants
        if let known = self.grants {
            grants = known
        } else {
            grants = try reading.grants()
            self.grants = grants
        }
        if grants.isOpen { return }
        let creator = creator == author.user ? caller : try reading.user(creator)
        var readable: [Match] = []
        for match in matches {
            let reader = try publicReader(match.user, grants)
            if reader?.refusal(ofType: type, creator: creator) == nil { readable.append(match) }
        }
        matches = readable
    }

    private func publicReader(
        _ number: UInt32, _ grants: Grants
    ) throws(EngineError) -> PublicReader? {
        if let lastReader, lastReader.number == number { return lastReader.reader }
        guard let user = try reading.user(number) else {
            throw reading.damaged(at: reading.head)
        }
        if !context.isSerial { readSet.append(.roles(number)) }
        let reader = try PublicReader(user, grants, reading)
        lastReader = (number, reader)
        return reader
    }

    private func collect(
        _ hit: SubscriptionProbe.Hit, _ bound: UInt64, _ tested: inout TestedChange,
        _ matches: inout [Match]
    ) throws(EngineError) {
        // Where there is neither a bound nor another slot, rows of one order have one predicate.
        let isGrouped = hit.slot != nil && hit.kind != .above && hit.kind != .below
        let limit = context.isSerial ? Int.max : context.partLimit / 4
        var order: UInt64?
        try forEachWaiting(at: hit, bound) { match throws(EngineError) in
            guard tested.concerns(match.options), !ended.contains(match.number) else { return true }
            if !isGrouped || match.order != order {
                order = match.order
                tested.begin(try evaluator(of: match, tested.type, tested.zone))
            }
            guard try fires(match.options, &tested) else { return true }
            matches.append(match)
            return matches.count <= limit
        }
        if matches.count > limit { isTooLong = true }
    }

    /// Gives `body` what waits at a place, until it returns false.
    private func forEachWaiting(
        at hit: SubscriptionProbe.Hit, _ bound: UInt64,
        _ body: (Match) throws(EngineError) -> Bool
    ) throws(EngineError) {
        if let known = waiting[hit] {
            for match in known { if try !body(match) { return } }
            return
        }
        // Where a bound counts, other records find other rows there.
        var known: [Match]? = hit.kind == .above || hit.kind == .below ? nil : []
        try reading.scan(range(of: hit, bound)) { key, row throws(EngineError) in
            guard let match = Match(key, row) else { return true }
            if known?.count == Self.waitingLimit { known = nil }
            known?.append(match)
            let goesOn = try body(match)
            if !goesOn { known = nil }
            return goesOn
        }
        guard let known, waiting.count < Self.waitingLimit else { return }
        waiting[hit] = known
    }

    private func range(
        of hit: SubscriptionProbe.Hit, _ bound: UInt64
    ) -> Range<IndexKey> {
        let shape = hit.shape
        guard let slot = hit.slot else {
            return KeySpace.subscriptionAnchors.key().appending(database).appending(shape)
                .asPrefix
        }
        switch hit.kind {
        case .above:
            return IndexKey.subscriptionAnchors(
                database, shape: shape, slot: slot, orders: 0...bound)
        case .below:
            return IndexKey.subscriptionAnchors(
                database, shape: shape, slot: slot, orders: bound...UInt64.max)
        default: return IndexKey.subscriptionAnchors(database, shape: shape, slot: slot)
        }
    }

    /// Whether a subscription with the options of the predicate at hand is told of the change.
    private func fires(
        _ options: SubscriptionEntry.Options, _ tested: inout TestedChange
    ) throws(EngineError) -> Bool {
        guard tested.isConcerned else { return false }
        switch tested.reason {
        case .created: return tested.isNew()
        case .deleted: return tested.isOld()
        case .updated:
            if tested.isNew() { return options.contains(.firesOnUpdate) }
            guard options.contains(.firesOnEnd) else { return false }
            if tested.needsOld, let entry = tested.former {
                tested.old = QueryRecord(try record(of: entry, in: tested.zone))
            }
            return tested.isOld()
        }
    }

    /// That of a subscription's predicate; nil where the subscription is to other records.
    private func evaluator(
        of match: Match, _ type: AnchoredType, _ zone: AnchorZone
    ) throws(EngineError) -> PredicateEvaluator? {
        let key = TestedSubscription(number: match.number, zone: zone.number)
        if let known = testers[key] { return known }
        let evaluator = try newEvaluator(of: match, type, zone)
        if testers.count == Self.evaluatorLimit { testers.removeAll() }
        testers[key] = .some(evaluator)
        return evaluator
    }

    private func newEvaluator(
        of match: Match, _ type: AnchoredType, _ zone: AnchorZone
    ) throws(EngineError) -> PredicateEvaluator? {
        let entry = try reading.entry(match.location)
        let subscription = try Self.subscription(in: entry)
        guard subscription.kind == .query, subscription.database == database,
            subscription.recordType == type.name,
            subscription.zone.isEmpty || subscription.zone == zone.id.zoneName
        else { return nil }
        let text = reading.hash(subscription.predicate)
        if let known = evaluators[text] { return known }
        guard let tree = try? PredicateParser.parse(subscription.predicate),
            let evaluator = try? PredicateEvaluator(tree)
        else {
            // Others' saves do not fail because of it.
            return nil
        }
        if evaluators.count == Self.evaluatorLimit { evaluators.removeAll() }
        evaluators[text] = evaluator
        return evaluator
    }

    static func subscription(in entry: JournalEntry) throws(EngineError) -> SubscriptionEntry {
        guard entry.kind == .subscription,
            let subscription = entry.withPayload({ try? SubscriptionEntry($0) })
        else { throw .damaged(entry) }
        return subscription
    }
}

/// What becomes of a record, as it is encoded.
struct RecordChange {
    let reason: MatchesEntry.Reason
    /// The number of its type.
    let type: UInt32
    /// The version before.
    let former: JournalEntry?
    /// The fields of that version, of an update.
    let fields: StoredFields?

    init(
        _ reason: MatchesEntry.Reason, type: UInt32, former: JournalEntry? = nil,
        fields: StoredFields? = nil
    ) {
        self.reason = reason
        self.type = type
        self.former = former
        self.fields = fields
    }
}

/// A change that predicates are compared with, one after the other.
private struct TestedChange {
    let reason: MatchesEntry.Reason
    let type: AnchoredType
    let zone: AnchorZone
    /// The version before, of an update.
    let former: JournalEntry?
    private let new: QueryRecord?
    /// Of an update it is read once it is needed.
    var old: QueryRecord?
    /// The options of which a subscription has one, where the change may be of it.
    private let concerned: SubscriptionEntry.Options

    /// Of the predicate at hand; nil where it is one of other records.
    private var evaluator: PredicateEvaluator?
    private var isNewKnown: Bool?
    private var isOldKnown: Bool?

    init(
        _ reason: MatchesEntry.Reason, new: QueryRecord? = nil, old: QueryRecord? = nil,
        former: JournalEntry? = nil, _ type: AnchoredType, _ zone: AnchorZone
    ) {
        self.reason = reason
        self.new = new
        self.old = old
        self.former = former
        self.type = type
        self.zone = zone
        concerned =
            switch reason {
            case .created: .firesOnCreation
            case .updated: [.firesOnUpdate, .firesOnEnd]
            case .deleted: .firesOnDeletion
            }
    }

    func concerns(_ options: SubscriptionEntry.Options) -> Bool {
        !options.isDisjoint(with: concerned)
    }

    mutating func begin(_ evaluator: PredicateEvaluator?) {
        self.evaluator = evaluator
        isNewKnown = nil
        isOldKnown = nil
    }

    /// Whether the predicate is one of such records.
    var isConcerned: Bool { evaluator != nil }
    /// Whether the version before is to be read.
    var needsOld: Bool { old == nil && isOldKnown == nil }

    /// Whether the record satisfies the predicate now.
    mutating func isNew() -> Bool {
        if let isNewKnown { return isNewKnown }
        let isMatch = matches(new)
        isNewKnown = isMatch
        return isMatch
    }

    /// Whether it did before.
    mutating func isOld() -> Bool {
        if let isOldKnown { return isOldKnown }
        let isMatch = matches(old)
        isOldKnown = isMatch
        return isMatch
    }

    private func matches(_ record: QueryRecord?) -> Bool {
        guard let record, let evaluator else { return false }
        return evaluator.matches(record)
    }
}

extension QueryRecord {
    /// A record whose own strings are the searchable fields.
    init(_ record: Record) { self.init(record: record, searchable: nil) }
}

/// The types of whose subscriptions a draft relies on that none begins or ends.
struct ReliedTypes {
    private var last: UInt32?
    private var others: Set<UInt32> = []

    mutating func add(
        _ type: UInt32, in database: UInt32, _ reading: StoreReading, to draft: inout Draft
    ) {
        if type == last { return }
        if let last { others.insert(last) }
        last = type
        guard !others.contains(type), let name = draft.schema.name(type) else { return }
        let hash = SubscriptionAnchor.hash(ofType: name, seed: reading.identity.secret)
        draft.readSet.append(.subscriptionChanges(database, hash))
    }
}
