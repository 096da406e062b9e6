/// What a token has seen of a zone or a database.
package struct ModelToken: Sendable {
    package let database: ModelDatabaseID
    /// nil: of the database.
    package let zone: String?
    let incarnation: Int
    /// All up to this moment was seen,
    var base: Int
    /// and these changes after it, by the moments of them.
    var delivered: [String: Int] = [:]
    /// Whether the owner of its database never wrote anything: it has seen nothing of any.
    var isOfNothing = false
    /// Of a fetch without a token that is not at its end: when it began. What was gone then is not
    /// reported.
    var snapshot: Int?

    /// Whether a deletion at that moment is reported.
    func reports(deletionAt time: Int) -> Bool { snapshot.map { time > $0 } ?? true }
}

extension ModelToken {
    /// The token as it goes on in a database, where that took one of nothing for its own.
    func taken(as id: ModelDatabaseID) -> Self {
        isOfNothing ? Self(database: id, zone: nil, incarnation: 0, base: 0) : self
    }
}

/// What is in a feed since a token, in all its pages.
package struct ModelFeed: Sendable {
    package var modified: [String: ModelRecord] = [:]
    /// With the types.
    package var deleted: [String: String] = [:]
}

package struct ModelDatabaseFeed: Sendable {
    package var modified: Set<String> = []
    package var deleted: [String: ModelDatabase.Reason] = [:]
}

// Feeds: semantics 5, and design 9.
extension RecordModel {
    /// A token that has seen nothing.
    package func beginning(of zone: String?, in id: ModelDatabaseID) -> ModelToken {
        let incarnation = zone.flatMap { database(id).zones[$0]?.incarnation } ?? 0
        var token = ModelToken(database: id, zone: zone, incarnation: incarnation, base: 0)
        token.snapshot = time
        return token
    }

    /// Everything of a zone that a token has not seen.
    package func changes(
        of zone: String, since token: ModelToken?, in id: ModelDatabaseID
    ) -> Result<ModelFeed, ModelFailure> {
        let database = database(id)
        guard let found = database.zones[zone] else { return .failure(database.missing(zone)) }
        guard found.hasCapabilities else { return .failure(ModelFailure(.invalidArguments)) }
        var feed = ModelFeed()
        guard let token else {
            feed.modified = found.records
            return .success(feed)
        }
        guard token.zone != nil else { return .failure(ModelFailure(.invalidArguments)) }
        guard token.database == id, token.zone == zone, token.incarnation == found.incarnation
        else { return .failure(ModelFailure(.changeTokenExpired)) }
        for (name, change) in found.changes {
            let isKnown = change.time <= token.base || token.delivered[name] == change.time
            if let record = found.records[name] {
                if !isKnown { feed.modified[name] = record }
                continue
            }
            if let type = change.deletedType, !isKnown, token.reports(deletionAt: change.time) {
                feed.deleted[name] = type
            }
        }
        return .success(feed)
    }

    /// Everything of a database that a token has not seen.
    package func databaseChanges(
        since token: ModelToken?, in id: ModelDatabaseID
    ) -> Result<ModelDatabaseFeed, ModelFailure> {
        if id == .everybodys { return .failure(ModelFailure(.badDatabase)) }
        var feed = ModelDatabaseFeed()
        if let token {
            guard token.zone == nil else { return .failure(ModelFailure(.invalidArguments)) }
            guard token.database == id || token.isOfNothing else {
                return .failure(ModelFailure(.changeTokenExpired))
            }
        }
        for (name, change) in database(id).changes {
            let delivered = token?.delivered[name]
            let base = token.map { $0.isOfNothing ? 0 : $0.base } ?? 0
            guard change.time > base, delivered != change.time else { continue }
            switch change.reason {
            case nil: feed.modified.insert(name)
            case let reason?:
                if token?.reports(deletionAt: change.time) == true { feed.deleted[name] = reason }
            }
        }
        return .success(feed)
    }

    /// The token of a page that told of these names, after which `moreComing` or not.
    package func token(
        after token: ModelToken, naming names: some Sequence<String>, moreComing: Bool
    ) -> ModelToken {
        var next = token
        if !moreComing {
            next = ModelToken(
                database: token.database, zone: token.zone, incarnation: token.incarnation,
                base: time)
            if case .own(let user) = token.database { next.isOfNothing = !writers.contains(user) }
            return next
        }
        let database = database(token.database)
        for name in names {
            next.delivered[name] =
                if let zone = token.zone { database.zones[zone]?.changes[name]?.time } else {
                    database.changes[name]?.time
                }
        }
        return next
    }
}
