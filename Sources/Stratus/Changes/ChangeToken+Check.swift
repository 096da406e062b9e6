internal import StratusJournal
internal import StratusEngine

extension ChangeToken {
    /// In what a token differs from the feed that it was given for.
    public enum Difference: String, Hashable, Sendable {
        /// It is a zone's, and a database's was asked for, or the reverse.
        case kind
        /// It is of another store.
        case store
        /// It is of another user's database.
        case user
        /// It is of another zone, of one of the same name before it was deleted, or from before
        /// the zone was made.
        case zone
        /// It is of a copy of the zone or of the store that went another way.
        case incarnation
        /// It is from a future that a crash took.
        case future
        /// It is from a past that is not kept any more.
        case compacted
        /// It is from when all of the zone was shared with the user, which has ended since.
        case participation
    }

    /// The token as one of a zone, of whose history it is: `Formats/Token.md`, "Validity and what a
    /// reader does". Of a zone that was restored with its history, it may be one that was given for
    /// the zone that this was.
    ///
    /// - Parameter horizon: that of the zone: ``StoreReading/horizon(of:)``.
    func accepted(
        for zone: ZonePlace, _ horizon: Version, _ reading: StoreReading
    ) throws(EngineError) -> ChangeToken {
        guard scope == .zone else {
            throw .refused(
                .expired(
                    .kind, "the token of a database is none of a zone", .invalidArguments))
        }
        let identity = reading.identity
        let restored = zone.hasLineage ? try reading.zoneEntry(zone).lineage : nil
        var last: Version?
        if let source = restored?.sources.first(where: { $0.gave(self) }) {
            guard versions.allSatisfy({ $0 <= source.through }) else {
                throw .refused(
                    .expired(
                        .incarnation,
                        "the token is from after the state that the zone was restored from"))
            }
            last = source.through
        } else {
            try check(database: zone.database, reading)
            guard self.zone == zone.number else {
                throw .refused(
                    .expired(
                        .zone, "the token is of another zone, or of one before it was deleted"))
            }
            if restored != nil, !identity.includes(before: zone.offset.next, of: lineage) {
                throw .refused(.ofAnotherWay)
            }
            try checkHistory(reading, restoredThrough: restored?.through ?? .none)
            last = identity.lastShared(with: lineage)
        }
        // What was deleted behind the floor, it may not have been told of.
        let horizon = max(horizon, restored?.floor ?? .none)
        let token = given(for: zone, by: identity, through: last ?? fetchFloor)
        guard token.floor >= horizon else {
            throw .refused(.forgotten(horizon))
        }
        return token
    }

    /// The same of a participant's token of a zone or, where that is nil, of all.
    func check(
        against zone: ZonePlace?, for user: UInt32, _ reading: StoreReading
    ) throws(EngineError) {
        guard scope == (zone == nil ? .sharedDatabase : .sharedZone) else {
            throw .refused(
                .expired(
                    .kind,
                    "expected a token of a shared \(zone == nil ? "database" : "zone"), found "
                        + "another one", .invalidArguments))
        }
        // Of a user who was not known.
        let isOfNothing = zone == nil && database == 0 && position == .none
        if isOfNothing, storeID == reading.identity.storeID { return }
        try check(database: user, reading)
        try checkHistory(reading)
        guard let zone else {
            let horizon = try reading.participationHorizon(of: user)
            guard !isForgotten(by: horizon) else {
                throw .refused(
                    .expired(
                        .compacted,
                        "what others ceased to share up to offset \(horizon.through) is "
                            + "forgotten, and the token is from before"))
            }
            return
        }
        guard self.zone == zone.number else {
            throw .refused(
                .expired(
                    .zone, "the token is of another zone, or of one before it was deleted"))
        }
        let horizon = try reading.horizon(of: zone)
        // Without a position nothing is known of what was deleted.
        guard position == .none || position >= horizon else {
            throw .refused(.forgotten(horizon))
        }
    }

    /// The token as one of a database, by its number; 0 where its owner has never written.
    func accepted(
        for database: UInt32, _ reading: StoreReading
    ) throws(EngineError) -> ChangeToken {
        try check(against: database, reading)
        return knowing(through: reading.identity.lastShared(with: lineage) ?? fetchFloor)
    }

    /// That it is one.
    func check(against database: UInt32, _ reading: StoreReading) throws(EngineError) {
        guard scope == .database else {
            throw .refused(
                .expired(
                    .kind, "the token of a zone is none of a database", .invalidArguments))
        }
        if self.database == 0, position == .none, storeID == reading.identity.storeID { return }
        try check(database: database, reading)
        try checkHistory(reading)
    }

    /// That the token is one of the feed of all databases.
    func checkOfStore(_ reading: StoreReading) throws(EngineError) {
        guard scope == .store else {
            throw .refused(
                .expired(
                    .kind, "expected a token of the store, found one of a part of it",
                    .invalidArguments))
        }
        try check(in: reading)
    }

    /// That the token is one of this store's history, of whichever feed.
    func check(in reading: StoreReading) throws(EngineError) {
        try check(database: database, reading)
        try checkHistory(reading)
    }

    private func check(database: UInt32, _ reading: StoreReading) throws(EngineError) {
        guard storeID == reading.identity.storeID else {
            throw .refused(.expired(.store, "the token is of another store"))
        }
        guard self.database == database else {
            throw .refused(.expired(.user, "the token is of another user's database"))
        }
    }

    /// That its position, and the last change that its fetch knew of, are of the store's journal, or
    /// of what its zone was restored with.
    private func checkHistory(
        _ reading: StoreReading, restoredThrough last: Version = .none
    ) throws(EngineError) {
        for version in versions where version > last {
            try reading.checkHistory(has: version, of: lineage)
        }
    }

    /// Up to where it knows of the history.
    private var versions: [Version] {
        [position, fetchHead, round?.bound ?? .none, round?.head ?? .none]
    }
}

extension ZoneLineage.Source {
    /// Whether a token was given by the store for the zone.
    func gave(_ token: ChangeToken) -> Bool {
        token.storeID == storeID && token.lineage == lineage && token.database == database
            && token.zone == zone
    }
}

extension StoreReading {
    /// That a version which a token of that lineage names is of the store's journal.
    func checkHistory(has version: Version, of lineage: UInt64) throws(EngineError) {
        guard identity.includes(version, of: lineage) else {
            throw .refused(.ofAnotherWay)
        }
        // An offset that the journal never kept was handed out in a future that a crash took.
        let offset = version.offset
        guard offset == .zero || (offset < head && view.segment(at: offset) != nil) else {
            throw .refused(.expired(.future, "the token is from a future that was lost"))
        }
    }
}

extension StoreError {
    fileprivate static let ofAnotherWay = expired(
        .incarnation, "the token is of a copy of the store that went another way")

    fileprivate static func forgotten(_ horizon: Version) -> StoreError {
        expired(
            .compacted,
            "what was deleted in the zone up to offset \(horizon.offset) is forgotten, and the "
                + "token is from before")
    }

    static func expired(
        _ difference: ChangeToken.Difference, _ reason: String,
        _ code: Code = .changeTokenExpired
    ) -> StoreError {
        var error = StoreError(code, reason)
        error.cause = .changeToken(difference)
        return error
    }
}
