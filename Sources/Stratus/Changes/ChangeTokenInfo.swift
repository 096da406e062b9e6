internal import StratusEngine
internal import StratusIndex
internal import StratusJournal

/// What a change token is of, and whether the store takes it: for those who look into why a reader has to
/// begin anew. Beyond CloudKit.
public struct ChangeTokenInfo: Sendable {
    /// What the reader of a token follows.
    public enum Feed: String, Hashable, Sendable, CaseIterable {
        case zone
        case database
        /// A zone of another user, of which something is shared with the reader.
        case sharedZone
        /// All that others share with the reader.
        case sharedDatabase
        /// All databases of the store.
        case store
    }

    /// Which feed it goes on in.
    public let feed: Feed
    /// Of a participant's token the participant, else whose database it is. Nil: of the public database
    /// or of all, or the token is none of this store's history.
    public internal(set) var userRecordID: Record.ID?
    /// The zone, also one that is gone, as the reader names it; nil likewise.
    public internal(set) var zoneID: RecordZone.ID?
    /// All that lies at or before this offset in the journal was seen; 0: nothing was.
    public let offset: UInt64
    /// Whether its reader is amid a fetch, of which more pages are to come.
    public let isAmidFetch: Bool
    /// With what the store answers to the token; nil: it takes it.
    public internal(set) var refusal: StoreError?

    init(_ token: ChangeToken) {
        feed =
            switch token.scope {
            case .zone: .zone
            case .database: .database
            case .sharedZone: .sharedZone
            case .sharedDatabase: .sharedDatabase
            case .store: .store
            }
        offset = token.position.offset.rawValue
        isAmidFetch = token.isAmidFetch
    }
}

extension Container {
    /// What a change token is of, and whether the feed that it was given for takes it now.
    ///
    /// - Throws: ``StoreError`` where the store cannot be read. That it does not take the token is no
    ///   error.
    public nonisolated(nonsending) func info(
        of token: ChangeToken
    ) async throws(StoreError) -> ChangeTokenInfo {
        try await answer { () async throws(EngineError) -> ChangeTokenInfo in
            try await read { reading throws(EngineError) in
                var info = ChangeTokenInfo(token)
                do throws(EngineError) {
                    try reading.find(token, &info)
                } catch {
                    guard case .other(let refusal as StoreError) = error else { throw error }
                    info.refusal = refusal
                }
                return info
            }
        }
    }
}

extension StoreReading {
    /// Finds out what a token is of. Fails as the feed does that it was given for.
    fileprivate func find(
        _ token: ChangeToken, _ info: inout ChangeTokenInfo
    ) throws(EngineError) {
        do throws(EngineError) {
            // The numbers of another history mean something else.
            try token.check(in: self)
        } catch {
            // What came with a restored zone is of another history, too.
            guard token.scope == .zone, let zone = try restoredZone(with: token) else {
                throw error
            }
            info.userRecordID = try user(zone.database).map { Record.ID(recordName: $0.recordName) }
            info.zoneID = RecordZone.ID(zoneName: try zoneEntry(zone).name)
            return
        }
        let user = token.database == 0 ? nil : try self.user(token.database)
        info.userRecordID = user.map { Record.ID(recordName: $0.recordName) }
        switch token.scope {
        case .store: break
        case .database: try token.check(against: token.database, self)
        case .sharedDatabase: try token.check(against: nil, for: token.database, self)
        case .zone, .sharedZone:
            guard let zone = try zone(token.zone) else {
                throw .refused(.expired(.zone, "the store has no zone of the token's number"))
            }
            let name = try zoneEntry(zone).name
            let isShared = token.scope == .sharedZone
            let owner = isShared ? try self.user(zone.database)?.recordName : nil
            let id = RecordZone.ID(
                zoneName: name, ownerName: owner ?? RecordZone.ID.currentUser)
            info.zoneID = id
            // The feed goes by the name.
            let named = try ZonePlace.decoded(value(.zone(zone.database, hash(name))))
            guard let named, named.isAlive else { throw .refused(.noZone(id, named)) }
            guard isShared else {
                _ = try token.accepted(for: named, horizon(of: named), self)
                return
            }
            guard let user, let shared = try sharedZone(named, for: user) else {
                throw .refused(.zoneNotFound(id))
            }
            try token.check(against: named, for: token.database, self)
            _ = try SharedFeed(shared, since: token, head: lastVersion, Page(nil), self)
        }
    }

    /// The zone that was restored with its history and takes a token; nil where there is none.
    private func restoredZone(with token: ChangeToken) throws(EngineError) -> ZonePlace? {
        for number in 1..<max(1, zoneCount + 1) {
            guard let zone = try zone(number), zone.isAlive, zone.hasLineage else { continue }
            do throws(EngineError) {
                _ = try token.accepted(for: zone, horizon(of: zone), self)
                return zone
            } catch {
                guard case .other(_ as StoreError) = error else { throw error }
                // It is of that zone, and why it is refused is said of that.
                let sources = try zoneEntry(zone).lineage?.sources ?? []
                if sources.contains(where: { $0.gave(token) }) { throw error }
            }
        }
        return nil
    }
}
