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
struct SubscriptionMatcher: ~Copyable {
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

        init(
            _ change: RecordChange, in zone: AnchorZone, values: [MatchesEntry.Value],
            matches: Range<Int>
        ) {
            reason = change.reason
            name = change.name
            type = change.type
            creator = change.creator
            self.zone = zone.number
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
    private let whole: WholeRecords
    private let database: UInt32
    private let filter: SubscriptionFilter
    private var probe: SubscriptionProbe
    private var types: [UInt32: AnchoredType] = [:]
    private var lastType: AnchoredType?
    /// What waits at places that were hit before. What was asked for last is at hand, and so is its
    /// predicate, since the records of a call are often alike.
    private var waiting: [SubscriptionProbe.Place: WaitingMatches] = [:]
    private var lastWaiting: (at: SubscriptionProbe.Place, matches: WaitingMatches)?
    private var prepared: (of: TestedSubscription, predicate: PreparedPredicate?)?
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

    /// For the changes of a database; nil where that never had query subscriptions.
    init?(
        _ reading: StoreReading, _ context: PreparationContext, in database: UInt32,
        by author: Author, _ caller: UserID, _ schema: Schema
    ) throws(EngineError) {
        guard try reading.hasQuerySubscriptions(in: database) else { return nil }
        let secret = reading.identity.secret
        self.reading = reading
        self.context = context
        self.database = database
        self.author = author
        self.caller = caller
        self.schema = schema
        whole = WholeRecords(reading, schema, by: author.user, caller)
        filter = reading.subscriptionFilter(of: database)
        probe = SubscriptionProbe(filter, secret: secret)
    }

    /// What the subscriptions ask of records of a type; nil: nothing.
    private mutating func anchored(_ number: UInt32) throws(EngineError) -> AnchoredType? {
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
    /// Whether subscriptions may be to a record of a type that is saved with these fields: of an update
    /// over those of `former`. If so, ``saveFound(_:_:payload:)`` follows.
    mutating func find(
        _ fields: some EncodedFields, _ type: UInt32, over former: StoredFields?
    ) throws(EngineError) -> Bool {
        guard let type = try anchored(type) else { return false }
        do throws(FormatError) {
            return try probe.find(fields, over: former, type)
        } catch {
            throw .refused(.internalError, "a value cannot be compared with subscriptions")
        }
    }

    /// The record was saved to which subscriptions may be, as was found. `payload` gives that of its
    /// entry. Returns whether anything may follow.
    mutating func saveFound(
        _ fields: some EncodedFields, _ change: consuming RecordChange, payload: () -> [UInt8]?
    ) throws(EngineError) -> Bool {
        guard let type = try anchored(change.type) else { return false }
        let whole = whole
        try collect(TestedChange(change), fields, type) { () throws(EngineError) -> Record in
            guard let payload = payload() else {
                throw .refused(.internalError, "a record cannot be compared with subscriptions")
            }
            return try whole.record(of: payload, in: fields.zone)
        }
        return !found.isEmpty || isTooLong
    }

    /// Both of a record whose fields are in the store already.
    mutating func save(
        _ stored: StoredFields, _ change: consuming RecordChange, in zone: AnchorZone,
        payload: () -> [UInt8]?
    ) throws(EngineError) {
        let fields = EncodedVersion(fields: stored, schema: schema, zone: zone)
        if try find(fields, change.type, over: change.previous?.fields) {
            _ = try saveFound(fields, change, payload: payload)
        }
    }

    /// A record is deleted, whose last version the entry holds.
    mutating func delete(_ entry: JournalEntry, in zone: AnchorZone) throws(EngineError) {
        let (head, cursor) = try entry.recordHead()
        guard let type = try anchored(head.type) else { return }
        // A damaged record can be deleted, and satisfies nothing.
        guard let stored = try? entry.storedFields(at: cursor) else { return }
        let fields = EncodedVersion(fields: stored, schema: schema, zone: zone)
        guard let isHit = try? probe.find(fields, over: nil, type), isHit,
            let name = entry.recordName, !name.isEmpty, head.creator > 0,
            head.creator == author.user || head.creator <= reading.userCount
        else { return }
        let change = RecordChange(.deleted, type: head.type, name: name, creator: head.creator)
        let whole = whole
        try collect(TestedChange(change), fields, type) { () throws(EngineError) -> Record? in
            do throws(EngineError) {
                return try whole.record(of: entry, in: zone)
            } catch {
                if error.isDamage { return nil }
                throw error
            }
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
    private mutating func collect(
        _ tested: consuming TestedChange, _ fields: some EncodedFields, _ type: AnchoredType,
        record: () throws(EngineError) -> Record?
    ) throws(EngineError) {
        // Of no use any more: all of it is prepared again.
        if isTooLong { return }
        let first = matches.count
        for place in probe.hits.indices {
            try collect(probe.hits[place], &tested, fields, type, record)
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
            try removeUnreadable(from: first, of: type.name, creator: tested.change.creator)
        }
        for place in first..<matches.count where matches[place].options.contains(.firesOnce) {
            ended.insert(matches[place].number)
            endings.append(matches[place])
        }
        if matches.count > first { try add(tested.change, fields, first..<matches.count) }
    }

    /// Adds a change with these of its matches: as several, where they bring more values than an entry
    /// has room for.
    private mutating func add(
        _ change: RecordChange, _ fields: some EncodedFields, _ range: Range<Int>
    ) throws(EngineError) {
        let matched = MatchedChange(
            change, in: fields.zone, values: try values(of: fields, namedBy: range), matches: range)
        let mustDivide =
            matched.values.count > MatchesEntry.valueLimit
            || matched.headLength > context.payloadLimit / 2
        if mustDivide, range.count > 1 {
            let middle = range.lowerBound + range.count / 2
            try add(change, fields, range.lowerBound..<middle)
            try add(change, fields, middle..<range.upperBound)
            return
        }
        foundLength += matched.length(withMatches: range.count)
        found.append(matched)
    }

    /// Of the public database nobody is told, by a badge or the end of a subscription either, what may
    /// not be read. Whether it may be is asked again when it is told.
    private mutating func removeUnreadable(
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

    private mutating func publicReader(
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

    private mutating func collect(
        _ hit: SubscriptionProbe.Hit, _ tested: inout TestedChange, _ fields: some EncodedFields,
        _ type: AnchoredType, _ record: () throws(EngineError) -> Record?
    ) throws(EngineError) {
        let limit = context.isSerial ? Int.max : matches.count + context.partLimit / 4
        tested.beginPlace()
        // Where a bound counts, other records find other rows there.
        let isSame = !hit.place.hasBound
        if isSame, let known = knownWaiting(at: hit.place, type) {
            for index in known.matches.indices {
                try test(known.matches[index], at: hit.place, &tested, fields, type, record)
                if matches.count > limit { isTooLong = true }
                if isTooLong { return }
            }
            return
        }
        var known: [Match]? = isSame ? [] : nil
        let reading = reading
        try reading.scan(range(of: hit)) { key, row throws(EngineError) in
            guard let match = Match(key, row) else { return true }
            if known?.count == WaitingMatches.limit { known = nil }
            known?.append(match)
            try test(match, at: hit.place, &tested, fields, type, record)
            if matches.count > limit { isTooLong = true }
            return !isTooLong
        }
        if let known, !isTooLong { keep(WaitingMatches(known), at: hit.place, type) }
    }

    /// Adds what waits at a place to the matches, where the change is of it.
    private mutating func test(
        _ match: Match, at place: SubscriptionProbe.Place, _ tested: inout TestedChange,
        _ fields: some EncodedFields, _ type: AnchoredType,
        _ record: () throws(EngineError) -> Record?
    ) throws(EngineError) {
        guard tested.concerns(match.options), !ended.contains(match.number) else { return }
        // Where there is neither a bound nor another slot, rows of one order have one predicate.
        let isGrouped = place.slot != nil && !place.hasBound
        if !isGrouped || match.order != tested.order {
            try preparePredicate(of: match, type, fields.zone)
            tested.beginPredicate(ofOrder: match.order)
        }
        if try fires(match.options, &tested, fields, record) { matches.append(match) }
    }

    private mutating func knownWaiting(
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

    private mutating func keep(
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

    /// Whether a subscription with these options and the predicate at hand is told of the change.
    private func fires(
        _ options: SubscriptionEntry.Options, _ tested: inout TestedChange,
        _ fields: some EncodedFields, _ record: () throws(EngineError) -> Record?
    ) throws(EngineError) -> Bool {
        guard let predicate = prepared?.predicate else { return false }
        let isMatch = try tested.current.satisfies(predicate, fields, record)
        guard tested.change.isUpdate else { return isMatch }
        if isMatch { return options.contains(.firesOnUpdate) }
        guard options.contains(.firesOnEnd), let previous = tested.change.previous else {
            return false
        }
        return try tested.previous.satisfies(
            predicate, EncodedVersion(fields: previous.fields, schema: schema, zone: fields.zone)
        ) { () throws(EngineError) -> Record? in
            try whole.record(of: previous.entry, in: fields.zone)
        }
    }

    /// Makes that of a subscription the predicate at hand; nil where the subscription is to other
    /// records.
    private mutating func preparePredicate(
        of match: Match, _ type: AnchoredType, _ zone: AnchorZone
    ) throws(EngineError) {
        let subscription = TestedSubscription(number: match.number, zone: zone.number)
        if prepared?.of != subscription {
            prepared = (subscription, try readPredicate(of: match, type, zone))
        }
    }

    private func readPredicate(
        of match: Match, _ type: AnchoredType, _ zone: AnchorZone
    ) throws(EngineError) -> PreparedPredicate? {
        let offset = JournalOffset(rawValue: match.number)
        let subscription: WaitingSubscription
        if let known = reading.derived(from: offset) as? WaitingSubscription,
            known.isPrepared(for: schema)
        {
            subscription = known
        } else {
            let entry = try reading.entry(match.location)
            subscription = WaitingSubscription(try Self.subscription(in: entry), schema)
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

/// Decodes records of which a predicate asks more than named fields.
private final class WholeRecords {
    private let reading: StoreReading
    private let schema: Schema
    private let user: UInt32
    private let caller: UserID

    init(_ reading: StoreReading, _ schema: Schema, by user: UInt32, _ caller: UserID) {
        self.reading = reading
        self.schema = schema
        self.user = user
        self.caller = caller
    }

    func record(
        of entry: JournalEntry, in zone: AnchorZone
    ) throws(EngineError) -> Record {
        try record(
            entry.bytes, entry.payloadRange, entry.version, in: zone, damage: .damaged(entry))
    }

    /// One that the commit itself writes.
    func record(of payload: [UInt8], in zone: AnchorZone) throws(EngineError) -> Record {
        try record(
            payload, 0..<payload.count, .none, in: zone, damage: reading.damaged(at: reading.head))
    }

    /// As the owner of the zone sees it, who need not be who changes it.
    private func record(
        _ bytes: [UInt8], _ range: Range<Int>, _ version: Version, in zone: AnchorZone,
        damage: @autoclosure () -> EngineError
    ) throws(EngineError) -> Record {
        try Record(
            bytes, range, version: version, expected: nil, in: zone.id, schema: schema,
            assets: nil, damage: damage()
        ) { number throws(EngineError) in
            // The commit itself may bring the caller.
            if number == user { return caller }
            return try reading.user(number)
        }
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
