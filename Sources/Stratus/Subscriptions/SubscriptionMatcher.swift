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
        /// Which of the matches are its own and not written yet: by user, then by number, each once.
        var matches: Range<Int>
        /// No fewer bytes than it takes in an entry without its matches.
        let headLength: Int

        init(_ tested: borrowing TestedChange, values: [MatchesEntry.Value], matches: Range<Int>) {
            reason = tested.change.reason
            name = tested.change.name
            type = tested.change.type
            creator = tested.change.creator
            zone = tested.zone.number
            self.values = values
            self.matches = matches
            headLength = MatchesWriter.greatestHeadLength(recordName: name, values: values)
        }

        /// No fewer bytes than it takes in an entry with so many of its matches.
        func length(withMatches count: Int) -> Int {
            headLength + MatchesWriter.greatestMatchLength * count
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
    /// The matches of these changes.
    var matches: [Match] = []
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
    private let filter: SubscriptionFilter
    private var probe: SubscriptionProbe
    private var types: [UInt32: AnchoredType] = [:]
    private var lastType: AnchoredType?
    /// What waits at places that were hit before. What was asked for last is at hand, and so is its
    /// predicate, since the records of a call are often alike.
    private var waiting: [SubscriptionProbe.Place: WaitingMatches] = [:]
    private var lastWaiting: (at: SubscriptionProbe.Place, matches: WaitingMatches)?
    private var lastPredicate: (of: TestedSubscription, predicate: PreparedPredicate?)?
    /// By subscription the fields that its notifications name.
    var named: [UInt64: [String]] = [:]
    /// Those that have fired once. A later change of the commit is not theirs.
    private var ended: Set<UInt64> = []

    /// Of so many subscriptions these are remembered.
    static let namedLimit = 256

    /// A subscription, and the zone of the records that it is asked about.
    private struct TestedSubscription: Equatable {
        var number: UInt64
        var zone: UInt32
    }

    /// Of the public database.
    private var grants: Grants?
    /// What the last subscriber may read of it.
    private var lastReader: (number: UInt32, reader: PublicReader?)?

    /// For the changes of a database; nil where that never had query subscriptions. No initializer,
    /// since one that fails has allocated the object before.
    static func make(
        _ reading: StoreReading, _ context: PreparationContext, in database: UInt32,
        by author: Author, _ caller: UserID, _ schema: Schema
    ) throws(EngineError) -> SubscriptionMatcher? {
        guard try reading.hasQuerySubscriptions(in: database) else { return nil }
        return SubscriptionMatcher(reading, context, in: database, by: author, caller, schema)
    }

    private init(
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
        filter = reading.subscriptionFilter(of: database)
        probe = SubscriptionProbe(filter, secret: secret)
    }

    /// Whether subscriptions are to records of a type.
    func isWatched(_ type: UInt32) throws(EngineError) -> Bool { try anchored(type) != nil }

    /// What the subscriptions ask of records of a type; nil: nothing.
    private func anchored(_ number: UInt32) throws(EngineError) -> AnchoredType? {
        if let lastType, lastType.number == number { return lastType.isEmpty ? nil : lastType }
        if let known = types[number] {
            lastType = known
            return known.isEmpty ? nil : known
        }
        guard let name = schema.name(number) else { return nil }
        let shapes = try filter.shapes(ofType: name, reading)
        let changed =
            shapes.isEmpty ? nil : try reading.subscriptionChange(ofType: name, in: database)
        let type = AnchoredType(number, name, shapes, schema, changed: changed)
        types[number] = type
        lastType = type
        return type.isEmpty ? nil : type
    }
}

// Changes.
extension SubscriptionMatcher {
    /// A record was saved, and has these fields now. `payload` gives that of its entry. Returns
    /// whether anything may follow.
    @discardableResult
    func save(
        _ fields: some EncodedFields, _ change: consuming RecordChange, in zone: AnchorZone,
        payload: () -> [UInt8]?
    ) throws(EngineError) -> Bool {
        guard let type = try anchored(change.type) else { return false }
        do throws(FormatError) {
            guard try probe.find(fields, over: change.former?.fields, type, in: zone) else {
                return false
            }
        } catch {
            throw .refused(.internalError, "a value cannot be compared with subscriptions")
        }
        var tested = TestedChange(change, type, zone)
        let fields = EncodedRecord(fields: fields.kept, schema: schema, zone: zone)
        try collect(&tested, fields) { () throws(EngineError) -> Record in
            guard let payload = payload() else {
                throw .refused(.internalError, "a record cannot be compared with subscriptions")
            }
            return try record(
                payload, 0..<payload.count, .none, in: zone,
                damage: reading.damaged(at: reading.head))
        }
        return !found.isEmpty || isTooLong
    }

    /// A record is deleted, whose last version the entry holds.
    func delete(_ entry: JournalEntry, in zone: AnchorZone) throws(EngineError) {
        let (head, cursor) = try entry.recordHead()
        guard let type = try anchored(head.type) else { return }
        // A damaged record can be deleted, and satisfies nothing.
        guard let fields = try? entry.storedFields(at: cursor),
            let isHit = try? probe.find(fields, over: nil, type, in: zone), isHit,
            let name = entry.recordName, !name.isEmpty, head.creator > 0,
            head.creator == author.user || head.creator <= reading.userCount
        else { return }
        var tested = TestedChange(
            RecordChange(.deleted, type: head.type, name: name, creator: head.creator), type, zone)
        let encoded = EncodedRecord(fields: fields, schema: schema, zone: zone)
        try collect(&tested, encoded) { () throws(EngineError) -> Record? in
            do throws(EngineError) {
                return try record(of: entry, in: zone)
            } catch {
                if error.isDamage { return nil }
                throw error
            }
        }
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
    ///
    /// - Parameters:
    ///   - fields: those of the record as it is now or, where it is deleted, was.
    ///   - record: gives that record; nil where it satisfies nothing.
    private func collect(
        _ tested: inout TestedChange, _ fields: EncodedRecord<some EncodedFields>,
        record: () throws(EngineError) -> Record?
    ) throws(EngineError) {
        let first = matches.count
        for hit in probe.hits {
            try collect(hit, &tested, fields, record)
            if isTooLong { return }
        }
        if matches.count - first > 1 {
            matches[first...].sort { ($0.user, $0.number) < ($1.user, $1.number) }
            // What waits at several places may be found at several of them.
            var count = first + 1
            for place in count..<matches.count
            where matches[place].number != matches[count - 1].number {
                matches[count] = matches[place]
                count += 1
            }
            matches.removeLast(matches.count - count)
        }
        if database == 0, matches.count > first {
            try removeUnreadable(from: first, of: tested.type.name, creator: tested.change.creator)
        }
        if matches.count == first { return }
        for match in matches[first...] where match.options.contains(.firesOnce) {
            ended.insert(match.number)
            endings.append(match)
        }
        try add(tested, fields.fields, first..<matches.count)
    }

    /// Adds a change with these of its matches: as several, where they bring more values than an entry
    /// has room for.
    private func add(
        _ tested: borrowing TestedChange, _ fields: some EncodedFields, _ range: Range<Int>
    ) throws(EngineError) {
        let matched = MatchedChange(
            tested, values: try values(of: fields, namedBy: matches[range]), matches: range)
        let mustDivide =
            matched.values.count > MatchesEntry.valueLimit
            || matched.headLength > context.payloadLimit / 2
        if mustDivide, range.count > 1 {
            let middle = range.lowerBound + range.count / 2
            try add(tested, fields, range.lowerBound..<middle)
            try add(tested, fields, middle..<range.upperBound)
            return
        }
        foundLength += matched.length(withMatches: range.count)
        found.append(matched)
    }

    /// Of the public database nobody is told, by a badge or the end of a subscription either, what may
    /// not be read. Whether it may be is asked again when it is told.
    private func removeUnreadable(
        from first: Int, of type: String, creator: UInt32
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
        let found = Array(matches[first...])
        matches.removeLast(found.count)
        for match in found {
            let reader = try publicReader(match.user, grants)
            if reader?.refusal(ofType: type, creator: creator) == nil { matches.append(match) }
        }
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
        _ hit: SubscriptionProbe.Hit, _ tested: inout TestedChange,
        _ fields: EncodedRecord<some EncodedFields>,
        _ record: () throws(EngineError) -> Record?
    ) throws(EngineError) {
        let (first, place) = (matches.count, hit.place)
        // Where there is neither a bound nor another slot, rows of one order have one predicate.
        let isGrouped = place.slot != nil && !place.hasBound
        let limit = context.isSerial ? Int.max : context.partLimit / 4
        var order: UInt64?
        try forEachWaiting(at: hit, tested.type) { match throws(EngineError) in
            guard tested.concerns(match.options), !ended.contains(match.number) else { return true }
            if !isGrouped || match.order != order {
                order = match.order
                tested.begin(try predicate(of: match, tested.type, tested.zone))
            }
            guard try fires(match.options, &tested, fields, record) else { return true }
            matches.append(match)
            return matches.count - first <= limit
        }
        if matches.count - first > limit { isTooLong = true }
    }

    /// Gives `body` what waits at a place, until it returns false.
    private func forEachWaiting(
        at hit: SubscriptionProbe.Hit, _ type: AnchoredType,
        _ body: (Match) throws(EngineError) -> Bool
    ) throws(EngineError) {
        // Where a bound counts, other records find other rows there.
        let isSame = !hit.place.hasBound
        if isSame, let known = knownWaiting(at: hit.place, type) {
            for match in known.matches { if try !body(match) { return } }
            return
        }
        var known: [Match]? = isSame ? [] : nil
        try reading.scan(range(of: hit)) { key, row throws(EngineError) in
            guard let match = Match(key, row) else { return true }
            if known?.count == WaitingMatches.limit { known = nil }
            known?.append(match)
            let goesOn = try body(match)
            if !goesOn { known = nil }
            return goesOn
        }
        if let known { keep(WaitingMatches(known), at: hit.place, type) }
    }

    private func knownWaiting(
        at place: SubscriptionProbe.Place, _ type: AnchoredType
    ) -> WaitingMatches? {
        if let last = lastWaiting, last.at == place { return last.matches }
        var known = waiting[place]
        if known == nil, let change = type.changed {
            known = reading.derived(of: place.hash, database, from: change) as? WaitingMatches
        }
        if let known { lastWaiting = (place, known) }
        return known
    }

    private func keep(
        _ matches: WaitingMatches, at place: SubscriptionProbe.Place, _ type: AnchoredType
    ) {
        if waiting.count < WaitingMatches.limit { waiting[place] = matches }
        if let change = type.changed, matches.isShort {
            reading.keep(matches, of: place.hash, database, derivedFrom: change)
        }
    }

    private func range(of hit: SubscriptionProbe.Hit) -> Range<IndexKey> {
        let shape = hit.place.shape
        guard let slot = hit.place.slot else {
            return KeySpace.subscriptionAnchors.key().appending(database).appending(shape)
                .asPrefix
        }
        switch hit.place.kind {
        case .above:
            return IndexKey.subscriptionAnchors(
                database, shape: shape, slot: slot, orders: 0...hit.bound)
        case .below:
            return IndexKey.subscriptionAnchors(
                database, shape: shape, slot: slot, orders: hit.bound...UInt64.max)
        default: return IndexKey.subscriptionAnchors(database, shape: shape, slot: slot)
        }
    }

    /// Whether a subscription with the options of the predicate at hand is told of the change.
    private func fires(
        _ options: SubscriptionEntry.Options, _ tested: inout TestedChange,
        _ fields: EncodedRecord<some EncodedFields>, _ record: () throws(EngineError) -> Record?
    ) throws(EngineError) -> Bool {
        guard let predicate = tested.predicate else { return false }
        let isMatch = try tested.current.satisfies(predicate, fields, record)
        guard tested.change.isUpdate else { return isMatch }
        if isMatch { return options.contains(.firesOnUpdate) }
        guard options.contains(.firesOnEnd), let former = tested.change.former else { return false }
        return try tested.former.satisfies(
            predicate, EncodedRecord(fields: former.fields, schema: schema, zone: tested.zone)
        ) { () throws(EngineError) -> Record? in
            try self.record(of: former.entry, in: fields.zone)
        }
    }

    /// That of a subscription; nil where the subscription is to other records.
    private func predicate(
        of match: Match, _ type: AnchoredType, _ zone: AnchorZone
    ) throws(EngineError) -> PreparedPredicate? {
        let subscription = TestedSubscription(number: match.number, zone: zone.number)
        if let last = lastPredicate, last.of == subscription { return last.predicate }
        let predicate = try readPredicate(of: match, type, zone)
        lastPredicate = (subscription, predicate)
        return predicate
    }

    private func readPredicate(
        of match: Match, _ type: AnchoredType, _ zone: AnchorZone
    ) throws(EngineError) -> PreparedPredicate? {
        let offset = JournalOffset(rawValue: match.number)
        let subscription: WaitingSubscription
        if let known = reading.derived(from: offset) as? WaitingSubscription {
            subscription = known
        } else {
            let entry = try reading.entry(match.location)
            subscription = WaitingSubscription(try Self.subscription(in: entry))
            reading.keep(subscription, derivedFrom: offset)
        }
        let isOf = subscription.isOf(records: type.name, in: zone.id.zoneName, database)
        return isOf ? subscription.predicate : nil
    }

    static func subscription(in entry: JournalEntry) throws(EngineError) -> SubscriptionEntry {
        guard entry.kind == .subscription,
            let subscription = entry.withPayload({ try? SubscriptionEntry($0) })
        else { throw .damaged(entry) }
        return subscription
    }
}

/// What waits at a place, as it is kept for other records and other commits.
private final class WaitingMatches: DerivedState {
    let matches: [AnchorRow]

    /// So many places are remembered within a commit, and no more rows of one.
    static let limit = 256

    init(_ matches: [AnchorRow]) { self.matches = matches }

    /// Whether it is kept beyond the commit.
    var isShort: Bool { matches.count <= 16 }
}
