internal import StratusEngine
internal import StratusJournal

/// A page of the zones, of all databases, that changed since a token.
public struct StoreChanges: Sendable {
    /// A zone and what became of it.
    public struct Zone: Hashable, Sendable {
        /// The user record name of the user whose private database the zone lies in; nil: the public
        /// database.
        public var owner: String?
        /// As its owner names it.
        public var zoneID: RecordZone.ID
        /// Why the zone is gone; nil: it is there.
        public var deletion: DatabaseChanges.Deletion.Reason?
    }

    /// Zones that are new, gone, or in which something changed, each once, in the order of their last
    /// changes in the page.
    public internal(set) var zones: [Zone] = []
    /// Why changes may be missing, where the caller asked to skip what is damaged: each with its
    /// ``StoreError/place``.
    public internal(set) var skipped: [StoreError] = []
    /// From where the next page, or the next fetch, goes on.
    public internal(set) var changeToken: ChangeToken
    /// Whether there is more already.
    public internal(set) var moreComing = false
}

extension Container {
    /// Which zones of all databases changed since `token`; without one, since the store was made: for
    /// workers of the host that follow all of it. What changed in a zone, its own feed tells
    /// (``Database/recordZoneChanges(inZoneWith:since:asOf:desiredKeys:desiredRecordTypes:resultsLimit:skippingDamaged:)``),
    /// where it has one: default zones and those of the public database have none.
    ///
    /// The journal is read from the token on, so that it takes as long as what was written since is
    /// long. Nothing is forgotten: a zone of which deletions were forgotten is named once more, and
    /// its own feed says whether its token is still good.
    ///
    /// - Parameters:
    ///   - resultsLimit: the most zones in the page; the store may stop earlier.
    ///   - skippingDamaged: goes on behind entries that are damaged, and says in
    ///     ``StoreChanges/skipped`` where they lie. Without it they fail the page.
    /// - Throws: ``StoreError`` with `changeTokenExpired` where the token is of another store, or of a
    ///   copy that went another way, `invalidArguments` where it is of a zone or a database, and with
    ///   the cause ``StoreError/Cause/damaged``.
    public nonisolated(nonsending) func changes(
        since token: ChangeToken? = nil, resultsLimit: Int? = nil, skippingDamaged: Bool = false
    ) async throws(StoreError) -> StoreChanges {
        try await answer { () async throws(EngineError) -> StoreChanges in
            try await storeChanges(
                since: token, Page(resultsLimit), skippingDamaged: skippingDamaged
            ).page
        }
    }

    /// Which zones of all databases changed since `token`, and then which change. Pages as of
    /// ``changes(since:resultsLimit:skippingDamaged:)``.
    public func liveChanges(
        since token: ChangeToken? = nil, resultsLimit: Int? = nil
    ) -> ChangeFeed<StoreChanges> {
        ChangeFeed(container: self, start: token) { [self] token throws(EngineError) in
            try await storeChanges(since: token, Page(resultsLimit), skippingDamaged: false)
        }
    }

    private nonisolated(nonsending) func storeChanges(
        since token: ChangeToken?, _ page: Page, skippingDamaged: Bool
    ) async throws(EngineError) -> ChangeFeed<StoreChanges>.Answer {
        let reading = reading
        var changes = StoreChanges(
            changeToken: token ?? ChangeToken(storeAt: .none, of: reading.identity))
        try token?.checkOfStore(reading)
        let position = changes.changeToken.position.offset
        if position < reading.lastVersion.offset {
            let start = changes
            changes = try await threads.run {
                var changes = start
                try changes.read(
                    reading.waiting, behind: position, page, skippingDamaged: skippingDamaged)
                return changes
            }
        }
        return ChangeFeed<StoreChanges>.Answer(
            page: changes, watched: [.everything], head: reading.head)
    }
}

extension StoreChanges: ChangePage {
    /// Whether it names a change, or says that there are more.
    public var saysAnything: Bool { moreComing || !zones.isEmpty || !skipped.isEmpty }
}

extension StoreChanges {
    /// The most entries that are read for a page.
    private static let entryLimit = 1 << 16

    fileprivate mutating func read(
        _ reading: StoreReading, behind position: JournalOffset, _ page: Page,
        skippingDamaged: Bool
    ) throws {
        var log = JournalLog(
            reading.view, from: position == .zero ? .zero : position.next, to: reading.head,
            skipsDamaged: skippingDamaged)
        // By their numbers, where they changed last.
        var changed: [UInt32: JournalOffset] = [:]
        var (count, length) = (0, 0)
        var end = position
        while let entry = try log.nextLine()?.entry {
            guard entry.kind.isEntry else { continue }
            if let zone = try entry.changedZone {
                if changed.count == page.limit, changed[zone] == nil {
                    moreComing = true
                    break
                }
                changed[zone] = entry.offset
            }
            end = entry.offset
            count += 1
            length += entry.header.frameLength
            if count == Self.entryLimit || length > 8 * Page.lengthLimit {
                moreComing = true
                break
            }
        }
        skipped = log.takeSkipped().map { StoreError(translating: $0) }
        let version = moreComing ? reading.identity.version(at: end) : reading.lastVersion
        changeToken.goOn(to: max(changeToken.position, version), of: reading.identity)
        for (number, _) in changed.sorted(by: { $0.value < $1.value }) {
            guard let place = try reading.zone(number) else { continue }
            let name = try reading.zoneEntry(place).name
            // Its name was given to another zone since, which is named by itself.
            if !place.isAlive, try !reading.isLast(place, named: name) { continue }
            let owner = place.database == 0 ? nil : try reading.user(place.database)
            zones.append(
                Zone(
                    owner: owner?.recordName, zoneID: RecordZone.ID(zoneName: name),
                    deletion: place.isAlive ? nil : place.state == .purged ? .purged : .deleted))
        }
    }
}

extension JournalEntry {
    /// The number of the zone in which it changes what is there, if it does.
    fileprivate var changedZone: UInt32? {
        get throws {
            switch kind {
            case .record, .tombstone, .horizon: return zone
            case .zone:
                guard let entry = withPayload({ try? ZoneEntry($0) }) else {
                    throw EngineError.damaged(self)
                }
                return entry.number
            default: return nil
            }
        }
    }
}
