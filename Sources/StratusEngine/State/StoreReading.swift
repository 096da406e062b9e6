package import StratusBytes
package import StratusFiles
package import StratusIndex
package import StratusJournal

/// One state of the store, and the journal to read its entries from. Never changes.
package final class StoreState: Sendable {
    package let fold: FoldState
    package let view: JournalView
    /// Everything before it belongs to this state.
    package let head: JournalOffset
    package let identity: StoreIdentity
    /// Entries that are staged and not yet written; only the committer sees any.
    package let staged: GroupBuilder?
    /// Where another process writes: keeps it from deleting what this state reads.
    package let pin: (any StoragePin)?
    package let assets: AssetStore?
    package let cache: StateCache
    /// Of an archive that has some zones only, which these are; nil: everything is there.
    package let selection: ZoneSelection?

    package init(
        fold: FoldState, view: JournalView, head: JournalOffset, identity: StoreIdentity,
        assets: AssetStore?, cache: StateCache, staged: GroupBuilder? = nil,
        pin: (any StoragePin)? = nil, selection: ZoneSelection? = nil
    ) {
        self.selection = selection
        self.assets = assets
        self.cache = cache
        self.pin = pin
        self.fold = fold
        self.view = view
        self.head = head
        self.identity = identity
        self.staged = staged
    }
}

/// A view of a state of the store, as it was at one point. Its mode says whether reads may wait for
/// the disk.
package struct StoreReading: Sendable {
    private let store: StoreState
    package private(set) var mode: ReadMode
    /// Nothing from there on is seen.
    private let point: JournalOffset
    /// Whether a participant is shown of an earlier state only what the shares of the newest one show,
    /// too.
    package var showsOnlyWhatIsShared = false

    package init(_ store: StoreState, _ mode: ReadMode, at point: JournalOffset? = nil) {
        self.store = store
        self.mode = mode
        self.point = point ?? store.head
    }

    /// The same view, whose reads may wait for the disk.
    package var waiting: StoreReading {
        var reading = self
        reading.mode = .blocking
        return reading
    }

    /// The same from an earlier point.
    package func looking(from point: JournalOffset) -> StoreReading {
        var reading = StoreReading(store, mode, at: point)
        reading.showsOnlyWhatIsShared = showsOnlyWhatIsShared
        return reading
    }

    /// The same of the newest state, whatever point this looks from.
    package var newest: StoreReading { StoreReading(store, mode) }

    package var head: JournalOffset { point }
    /// Where the last commit of the newest state ends.
    package var end: JournalOffset { store.fold.end }
    package var view: JournalView { store.view }
    package var identity: StoreIdentity { store.identity }
    package var assets: AssetStore? { store.assets }
    package var selection: ZoneSelection? { store.selection }
    package var schema: Schema { store.fold.schema }
    package var indexes: IndexTable { store.fold.indexes }
    /// The indexes of a type that queries of this state may use.
    package func completeIndexes(of type: UInt32) -> [FieldIndex] {
        // After a salvage one may compare strings as the schema does not say any more.
        indexes.of(type: type).filter {
            indexes.isComplete($0.number, at: lookingFrom)
                && $0.binaryColumns == schema.binaryColumns(of: $0)
        }
    }
    package var zoneCount: UInt32 { store.fold.zoneCount }
    package var userCount: UInt32 { store.fold.userCount }
    package var lastTime: Int64 { store.fold.lastTime }
    package var history: KeptHistory { store.fold.history }
    package var deletions: KeptWindow { store.fold.deletions }

    /// The version of the last deletion in a zone that is forgotten, by now and whatever point this
    /// looks from; none where none is.
    package func horizon(of zone: ZonePlace) throws(EngineError) -> Version {
        do throws(IndexError) {
            let offset = try store.fold.index.horizon(ofPartition: zone.number, mode)
            return offset == 0
                ? .none : identity.version(at: JournalOffset(rawValue: offset))
        } catch {
            throw EngineError(JournalError(error))
        }
    }

    /// Which ends of a user's participations are forgotten by now, whatever state is read.
    package func participationHorizon(
        of user: UInt32
    ) throws(EngineError) -> ParticipationHorizon {
        let value = try value(.participationHorizon(user), at: .max)
        return ParticipationHorizon(
            through: JournalOffset(rawValue: value?.first ?? 0),
            stated: JournalOffset(rawValue: value?.stamp ?? 0))
    }

    /// How long notifications are kept by now, and how many, whatever state is read.
    package var keptNotifications: KeptNotifications {
        get throws(EngineError) {
            try KeptNotifications { key throws(EngineError) in try value(key, at: .max) }
        }
    }

    package func value(_ key: IndexKey) throws(EngineError) -> IndexValue? {
        try value(key, at: lookingFrom)
    }

    private func value(
        _ key: IndexKey, at point: UInt64
    ) throws(EngineError) -> IndexValue? {
        do throws(IndexError) {
            return try store.fold.index.value(of: key, at: point, mode)
        } catch {
            throw EngineError(JournalError(error))
        }
    }

    /// Whether a range is a group of keys (``KeySpace/groups``) of which none is there. It takes much
    /// less than a ``scan(_:_:_:)`` that finds none, which asks this first.
    package func isEmptyGroup(_ range: Range<IndexKey>) throws(EngineError) -> Bool {
        do throws(IndexError) {
            return try store.fold.index.isEmptyGroup(range, mode)
        } catch {
            throw EngineError(JournalError(error))
        }
    }

    /// About how many entries of a range lie in tables: ``OrderedIndex/estimatedCount(_:_:)``.
    package func estimatedCount(_ range: Range<IndexKey>) throws(EngineError) -> Int {
        do throws(IndexError) {
            return try store.fold.index.estimatedCount(range, mode)
        } catch {
            throw EngineError(JournalError(error))
        }
    }

    /// Gives `body` the entries of `range` in order, or backward, until it returns false.
    package func scan(
        _ range: Range<IndexKey>, _ direction: IndexDirection = .forward,
        _ body: (IndexKey, IndexValue) throws(EngineError) -> Bool
    ) throws(EngineError) {
        if try isEmptyGroup(range) { return }
        var cursor = store.fold.index.cursor(range, at: lookingFrom, mode, direction)
        var failure: EngineError?
        do throws(IndexError) {
            try cursor.forEach { key, value in
                do throws(EngineError) {
                    return try body(key, value)
                } catch {
                    failure = error
                    return false
                }
            }
        } catch {
            throw EngineError(JournalError(error))
        }
        if let failure { throw failure }
    }

    /// How many keys a range has, to about `limit`, and what of it was not counted then.
    package func count(
        _ range: Range<IndexKey>, upTo limit: Int
    ) throws(EngineError) -> (count: Int, rest: Range<IndexKey>?) {
        if try isEmptyGroup(range) { return (0, nil) }
        var cursor = store.fold.index.cursor(range, at: lookingFrom, mode)
        do throws(IndexError) {
            let (count, last) = try cursor.count(upTo: limit)
            return (count, last.map { $0.next..<range.upperBound })
        } catch {
            throw EngineError(JournalError(error))
        }
    }

    /// Of this state itself everything is seen.
    private var lookingFrom: UInt64 { point < store.head ? point.previous.rawValue : .max }

    package func hash(_ name: String) -> Hash128 { Hash128(name, seed: identity.secret) }

    package func user(_ user: UserID) throws(EngineError) -> UInt32? {
        try value(.user(user.bits)).map { UInt32(truncatingIfNeeded: $0.first) }
    }

    package func user(_ number: UInt32) throws(EngineError) -> UserID? {
        try value(.userNumber(number)).map {
            UserID(bits: Hash128(high: $0.first, low: $0.second))
        }
    }

    /// The number of a database: 0 for the public one, the owner's number for a private one; nil
    /// where the owner has never written, and for a shared one, which has zones of many databases.
    package func database(_ scope: DatabaseScope) throws(EngineError) -> UInt32? {
        switch scope {
        case .public: 0
        case .private(let owner): try user(owner)
        case .shared: nil
        }
    }

    package func zone(_ number: UInt32) throws(EngineError) -> ZonePlace? {
        try ZonePlace.decoded(value(.zoneNumber(number)))
    }

    package func entry(_ place: EntryLocation) throws(EngineError) -> JournalEntry {
        if let entry = store.staged?.entry(at: place.offset) { return entry }
        do {
            return try view.entry(at: place.offset, frameLength: place.frameLength, mode)
        } catch {
            throw EngineError(error)
        }
    }

    /// The entry at `offset`, which a caller may have made up, where one is kept there.
    package func keptEntry(at offset: JournalOffset) throws(EngineError) -> JournalEntry? {
        if let entry = store.staged?.entry(at: offset) { return entry }
        guard offset < point else { return nil }
        do {
            return try view.entry(at: offset, mode)
        } catch {
            switch error {
            case .noEntry: return nil
            case .damaged(let damage) where damage.isNoFrame: return nil
            default: throw EngineError(error)
            }
        }
    }

    /// The entry of a zone that has a version, which a caller may have made up, where one is kept and
    /// lies where its version says: those that were restored with their versions do not.
    package func keptEntry(
        of version: Version, in zone: UInt32
    ) throws(EngineError) -> JournalEntry? {
        guard version != .none, let entry = try keptEntry(at: version.offset),
            entry.version == version, entry.zone == zone
        else { return nil }
        return entry
    }

    /// Whether a version is one that a zone was restored with.
    package func isRestored(_ version: Version, in zone: ZonePlace) -> Bool {
        zone.hasLineage && version < identity.version(at: zone.offset)
    }

    /// The entries at `places`, read in the order in which they lie, given in that of `places`.
    package func entries(_ places: [EntryLocation]) throws(EngineError) -> [JournalEntry] {
        var found: [(number: Int, entry: JournalEntry)] = []
        found.reserveCapacity(places.count)
        try forEachReadable(places) { number, entry throws(EngineError) in
            found.append((number, try entry.get()))
        }
        let isInOrder = zip(found, found.dropFirst()).allSatisfy { $0.number < $1.number }
        if !isInOrder { found.sort { $0.number < $1.number } }
        return found.map(\.entry)
    }

    /// Reads the entries at `places` in the order in which they lie, those that lie close to each other
    /// together. Gives `body` the number of each in `places` and the entry, or why it cannot be had.
    package func forEachReadable(
        _ places: [EntryLocation],
        _ body: (Int, Result<JournalEntry, EngineError>) throws(EngineError) -> Void
    ) throws(EngineError) {
        var order = Array(places.indices)
        let isInOrder = zip(places, places.dropFirst()).allSatisfy { $0.offset < $1.offset }
        if !isInOrder { order.sort { places[$0].offset < places[$1].offset } }
        if let staged = store.staged, let last = order.last, places[last].offset > staged.base {
            for number in order {
                try body(number, Result { () throws(EngineError) in try entry(places[number]) })
            }
            return
        }
        var failure: EngineError?
        view.forEachEntry(
            at: order.map { (places[$0].offset, places[$0].frameLength) }, mode
        ) { place, entry in
            do throws(EngineError) {
                switch entry {
                case .success(let entry): try body(order[place], .success(entry))
                case .failure(let error): try body(order[place], .failure(EngineError(error)))
                }
                return true
            } catch {
                failure = error
                return false
            }
        }
        if let failure { throw failure }
    }

    /// Gives `body` the entries at `places`, each with its number there. Of those that are read together
    /// no more are held than are 64 KiB long, or one.
    package func forEachEntry(
        at places: [EntryLocation], _ body: (Int, JournalEntry) throws(EngineError) -> Void
    ) throws(EngineError) {
        var first = 0
        while first < places.count {
            var next = first
            var length = 0
            repeat {
                length += places[next].frameLength
                next += 1
            } while next < places.count && length + places[next].frameLength <= 64 << 10
            for (number, entry) in zip(first..<next, try entries(Array(places[first..<next]))) {
                try body(number, entry)
            }
            first = next
        }
    }

    /// What the entry of a user says; nil where there is no user of that number.
    package func userEntry(_ number: UInt32) throws(EngineError) -> UserEntry? {
        guard let value = try value(.userNumber(number)) else { return nil }
        return try payload(at: JournalOffset(rawValue: value.stamp)) { try UserEntry($0) }
    }

    package func zoneEntry(_ place: ZonePlace) throws(EngineError) -> ZoneEntry {
        try payload(at: place.offset) { try ZoneEntry($0) }
    }

    /// The payload of the entry at `offset`; that it cannot be decoded is damage there.
    private func payload<Payload>(
        at offset: JournalOffset, _ decode: (Span<UInt8>) throws -> Payload
    ) throws(EngineError) -> Payload {
        let entry: JournalEntry
        do {
            entry = try store.staged?.entry(at: offset) ?? view.entry(at: offset, mode)
        } catch {
            throw EngineError(translating: error)
        }
        guard let payload = entry.withPayload({ try? decode($0) }) else {
            throw .damaged(entry)
        }
        return payload
    }

    /// Where the last entry lies that changed who sees what of others' zones; zero: none did since the
    /// fold began; nil where the past is looked at, of which that is not known.
    package var sharingChange: JournalOffset? {
        point < store.head ? nil : store.fold.sharingChange
    }

    /// What ``keep(_:of:_:derivedFrom:)`` was given of a subject; nil: it is to be derived. Without a
    /// subject it is the store's.
    package func derived(
        of subject: Hash128? = nil, _ number: UInt32 = 0, from offset: JournalOffset
    ) -> (any DerivedState)? {
        store.cache.value(of: subject, number, from: offset)
    }

    /// Keeps for other readers what was derived of a subject, which the entry at `offset` was the
    /// last to concern.
    package func keep(
        _ value: any DerivedState, of subject: Hash128? = nil, _ number: UInt32 = 0,
        derivedFrom offset: JournalOffset
    ) {
        if offset < settled { store.cache.keep(value, of: subject, number, from: offset) }
    }

    /// Whether the host ever stated an identity, so that looking for one is worth it. Reads the
    /// index once, and memory from then on.
    package func hasIdentities() throws(EngineError) -> Bool {
        if store.fold.hasIdentities { return true }
        return try hasAny(.identities, of: .identities)
    }

    /// The same of subscriptions, of all databases and kinds.
    package func hasSubscriptions() throws(EngineError) -> Bool {
        if store.fold.hasSubscriptions { return true }
        return try hasAny(.subscriptions, of: .subscriptions)
    }

    /// Whether the index has a row of a keyspace, which was not changed since the fold began.
    private func hasAny(
        _ question: StateCache.Question, of keyspace: KeySpace
    ) throws(EngineError) -> Bool {
        if let known = store.cache.answer(to: question) { return known }
        let isAny: Bool
        do throws(IndexError) {
            var cursor = store.fold.index.cursor(keyspace.range(), mode)
            isAny = try cursor.next() != nil
        } catch {
            throw EngineError(JournalError(error))
        }
        store.cache.note(isAny, for: question)
        return isAny
    }

    /// What query subscriptions of a database wait for, as far as memory has it.
    package func subscriptionFilter(of database: UInt32) -> SubscriptionFilter {
        store.cache.subscriptionFilters.filter(of: database)
    }

    /// Entries before it stay what they are, whatever becomes of what is staged or of a long commit
    /// that is open. Another entry may get the offset of one at or behind it.
    package var settled: JournalOffset {
        let end = store.fold.end
        guard let staged = store.staged else { return end }
        return min(staged.base, end)
    }

    /// The fields of a record whose entry is to be repeated in part: all that it names is known.
    package func fields(
        of entry: JournalEntry, _ head: RecordHead, at cursor: ByteCursor
    ) throws(EngineError) -> StoredFields {
        let numbers = store.fold.numbers
        guard numbers.hasUser(head.creator), numbers.hasUser(head.modifier),
            numbers.schema.name(head.type) != nil
        else { throw .damaged(entry) }
        do throws(FormatError) {
            return try StoredFields(
                entry.bytes, at: cursor, end: entry.payloadRange.upperBound, schema: schema)
        } catch {
            throw .damaged(entry)
        }
    }

    /// The error of bytes at `offset` whose checksums hold and that make no sense.
    package func damaged(at offset: JournalOffset) -> EngineError {
        .journal(.damaged(view.damage(.payload("content"), at: offset)))
    }
}

extension JournalEntry {
    /// Whether the entry holds the record of that name. The index knows only a hash of it.
    package func isRecord(named name: String) throws(EngineError) -> Bool {
        let answer = withPayload { bytes -> Bool? in
            var cursor = ByteCursor()
            guard let head = try? RecordHead(bytes, &cursor) else { return nil }
            return bytes.equals(name, in: head.name)
        }
        guard let answer else { throw .damaged(self) }
        return answer
    }
}

/// Which database.
package enum DatabaseScope: Hashable, Sendable {
    case `public`
    case `private`(owner: UserID)
    /// What others share with a user.
    case shared(user: UserID)
}

extension EngineError {
    /// An entry whose checksum holds and whose payload cannot be decoded.
    ///
    /// - Parameter registry: that of the projection whose entry it is.
    package static func damaged(
        _ entry: JournalEntry, _ registry: ProjectionRegistry = .store
    ) -> EngineError {
        var numbers = NumberCheck()
        do throws(FormatError) {
            try entry.withPayload { payload throws(FormatError) in
                try registry.validate(payload, of: entry, &numbers)
            }
        } catch {
            return .journal(JournalError(entry.damage(JournalDamage.Kind(error))))
        }
        return .journal(.damaged(entry.damage(.payload("content"))))
    }
}

/// The users that many records name, of whom there are few.
package struct UserNames {
    private let reading: StoreReading
    private var last: (number: UInt32, user: UserID?)?

    package init(_ reading: StoreReading) { self.reading = reading }

    package mutating func user(_ number: UInt32) throws(EngineError) -> UserID? {
        if let last, last.number == number { return last.user }
        let user = try reading.user(number)
        last = (number, user)
        return user
    }
}
