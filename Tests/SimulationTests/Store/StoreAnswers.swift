import Stratus

/// Everything that can be read of a store, in every way there is to read it.
struct StoreAnswers: Equatable {
    struct Zone: Equatable {
        /// By name.
        var records: [Record] = []
        var byType: [[Record]] = []
        /// Names and tags, in the feed's order.
        var feed: [String] = []
        /// Of each of the queries the names.
        var found: [[String]] = []
    }

    struct Database: Equatable {
        var zones: [String: Zone] = [:]
        var feed: [String] = []
    }

    var databases: [Database] = []
    /// For each token what came since, or the error.
    var since: [[String]] = []
    /// Of a model whose store may forget deletions: what then may be otherwise.
    var forgetting: Forgetting?

    /// When a zone forgets deletions, that is a change of it, and tokens from before are refused.
    struct Forgetting: Equatable {
        /// By user: the zones in which anything was ever deleted.
        var zones: [Set<String>] = []
        /// By token: whether there was a deletion since of which it does not know.
        var tokens: [Bool] = []
    }

    static let users = ["alice", "bob"]
    static let types = ["T0", "T1", "T2"]

    /// What was seen when it was handed out is in the model.
    struct Token {
        var database: Int
        /// The zone's name, or nil for the token of a database.
        var zone: String?
        /// Which of the zones of that name it was.
        var instance = 0
        var token: ChangeToken
        /// Everything up to there was seen.
        var sequence: Int
        /// In the middle of a first fetch: what was gone when that began is not told as deleted.
        var floor = 0
    }
}

extension StoreAnswers {
    /// As a snapshot gives them.
    init(_ snapshot: Snapshot, _ tokens: [Token]) throws {
        for user in Self.users {
            databases.append(try Database(snapshot.privateDatabase(for: user)))
        }
        for token in tokens {
            let database = snapshot.privateDatabase(for: Self.users[token.database])
            do throws(StoreError) {
                if let zone = token.zone {
                    since.append(
                        try database.feed(of: RecordZone.ID(zoneName: zone), since: token.token))
                } else {
                    since.append(try database.zoneFeed(since: token.token))
                }
            } catch {
                guard [.zoneNotFound, .changeTokenExpired].contains(error.code) else {
                    throw error
                }
                since.append(["error \(error.code.rawValue)"])
            }
        }
    }

    /// Where two differ, in few words.
    func difference(from other: StoreAnswers) -> String? {
        for (user, (mine, others)) in zip(Self.users, zip(databases, other.databases)) {
            for zone in Set(mine.zones.keys).union(others.zones.keys).sorted() {
                guard let left = mine.zones[zone], let right = others.zones[zone] else {
                    return "\(user): only one has \(zone)"
                }
                if left.records != right.records { return "\(user), \(zone): records" }
                if left.byType != right.byType { return "\(user), \(zone): by type" }
                if left.found != right.found {
                    let place = zip(left.found, right.found).prefix { $0 == $1 }.count
                    return "\(user), \(zone): query \(place)"
                }
                if left.feed != right.feed {
                    return "\(user), \(zone): feed \(left.feed.count), \(right.feed.count)"
                }
            }
            if mine.feed == others.feed { continue }
            guard other.forgetting != nil, mine.feed.sorted() == others.feed.sorted() else {
                return "\(user): \(mine.feed), not \(others.feed)"
            }
        }
        for (number, (mine, others)) in zip(since, other.since).enumerated()
        where mine != others {
            if other.forgetting?.allows(mine, for: others, at: number) == true { continue }
            let (left, right) = (Set(mine), Set(others))
            return "token \(number): \(left.subtracting(right)) and not"
                + " \(right.subtracting(left)) of \(mine.count)"
        }
        return nil
    }

    /// How many tokens are refused because deletions are forgotten.
    func refusals(beside model: StoreAnswers) -> Int {
        zip(since, model.since).count { $0 != $1 && $0 == Self.expired }
    }

    fileprivate static let expired = ["error \(StoreError.Code.changeTokenExpired.rawValue)"]
}

extension StoreAnswers.Forgetting {
    /// Whether a store may answer `given` where the model says `expected`.
    fileprivate func allows(
        _ given: [String], for expected: [String], at number: Int
    ) -> Bool {
        if tokens[number] { return given == StoreAnswers.expired }
        // Of a database the zones, in the order of their changes.
        let more = Set(given).subtracting(expected)
        return Set(given).count == given.count && Set(expected).isSubset(of: given)
            && zones.contains { more.isSubset(of: $0) }
    }
}

extension StoreAnswers.Database {
    fileprivate init(_ database: DatabaseSnapshot) throws(StoreError) {
        for zone in try database.allRecordZones() {
            var answers = StoreAnswers.Zone()
            answers.records = try database.pages(of: zone.zoneID)
            for type in StoreAnswers.types {
                answers.byType.append(try database.pages(of: zone.zoneID, type: type))
            }
            answers.found = try StoreQuery.all.map { query throws(StoreError) in
                try query.names(database, zone.zoneID)
            }
            if !zone.zoneID.isDefault { answers.feed = try database.feed(of: zone.zoneID) }
            zones[zone.zoneID.zoneName] = answers
        }
        feed = try database.zoneFeed()
    }
}

extension DatabaseSnapshot {
    /// The records of a zone, page by page, sorted by name.
    func pages(of zone: RecordZone.ID, type: String? = nil) throws(StoreError) -> [Record] {
        var records: [Record] = []
        var cursor: RecordPage.Cursor?
        repeat {
            let page: RecordPage
            do throws(StoreError) {
                page = try self.records(
                    inZoneWith: zone, type: type, resultsLimit: 37, from: cursor)
            } catch {
                // The default zone is there before anything was saved in it.
                if zone.isDefault, error.code == .zoneNotFound { return [] }
                throw error
            }
            records += page.records
            cursor = page.cursor
        } while cursor != nil
        return records.sorted { $0.recordID.recordName < $1.recordID.recordName }
    }

    /// The changes of a zone, page by page: what was saved, then what was deleted.
    func feed(
        of zone: RecordZone.ID, since token: ChangeToken? = nil
    ) throws(StoreError) -> [String] {
        var saved: [String] = []
        var deleted: [String] = []
        var token = token
        var moreComing = true
        while moreComing {
            // Of a feed from nothing the deletions are left out on its first page only.
            let limit = token == nil ? 10_000 : 29
            let page = try recordZoneChanges(
                inZoneWith: zone, since: token, resultsLimit: limit)
            saved += page.modifications.map(\.nameAndTag)
            deleted += page.deletions.map { "-\($0.recordID.recordName) \($0.recordType)" }
            token = page.changeToken
            moreComing = page.moreComing
        }
        return saved + deleted
    }

    /// The changed zones in order, and then the deleted ones by name.
    func zoneFeed(since token: ChangeToken? = nil) throws(StoreError) -> [String] {
        let changes = try databaseChanges(since: token)
        return changes.modifications.map(\.zoneName)
            + Set(changes.deletions.map { "-" + $0.zoneID.zoneName }).sorted()
    }
}

extension Record {
    /// What is told of it in a feed.
    var nameAndTag: String { "\(recordID.recordName)@\(recordChangeTag ?? "")" }
}

/// A query, and the same as a filter.
struct StoreQuery: Sendable {
    var type: String
    var text: String
    var sorted: (key: String, ascending: Bool)?
    var isFound: @Sendable (Record) -> Bool

    static let all = [
        StoreQuery(type: "T0", text: "number >= 0 AND number < 4611686018427387904") {
            0..<(1 << 62) ~= $0.integer
        },
        StoreQuery(type: "T1", text: "number < 0", sorted: ("number", false)) { $0.integer < 0 },
        StoreQuery(type: "T2", text: "TRUEPREDICATE", sorted: ("number", true)) { _ in true },
        StoreQuery(type: "T0", text: "text IN {'', 'xxx', 'xxxxx', 'XXXXXXXX'}") {
            [0, 3, 5, 8].contains($0.textLength)
        },
        StoreQuery(type: "T1", text: "text BEGINSWITH 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxx'") {
            $0.textLength >= 30
        },
        StoreQuery(type: "T2", text: "text > 'x' AND text <= 'xxxx'", sorted: ("number", true)) {
            2...4 ~= $0.textLength
        },
        StoreQuery(type: "T0", text: "target = CAST({'r3'}, 'CKReference')") {
            $0["target"]?.referenceValue?.recordID.recordName == "r3"
        },
    ]

    init(
        type: String, text: String, sorted: (key: String, ascending: Bool)? = nil,
        isFound: @escaping @Sendable (Record) -> Bool
    ) {
        self.type = type
        self.text = text
        self.sorted = sorted
        self.isFound = isFound
    }

    /// Page by page.
    fileprivate func names(
        _ database: DatabaseSnapshot, _ zone: RecordZone.ID
    ) throws(StoreError) -> [String] {
        let query = Query(
            recordType: type, predicate: try Query.Predicate(text),
            sortDescriptors: sorted.map { [.init(key: $0.key, ascending: $0.ascending)] } ?? [])
        // Each page of what is sorted without an index reads all of it again.
        let limit = sorted == nil ? 53 : 499
        var found: [Record] = []
        var cursor: QueryPage.Cursor?
        repeat {
            let page = try database.records(
                matching: query, inZoneWith: zone, resultsLimit: limit, from: cursor)
            found += page.records
            cursor = page.cursor
        } while cursor != nil
        if let sorted {
            let isSorted = zip(found, found.dropFirst()).allSatisfy {
                sorted.ascending ? $0.integer <= $1.integer : $0.integer >= $1.integer
            }
            if !isSorted { return ["out of order"] }
        }
        return found.map(\.recordID.recordName).sorted()
    }
}

extension Record {
    fileprivate var integer: Int64 { self["number"]?.int64Value ?? 0 }
    fileprivate var textLength: Int { self["text"]?.stringValue?.utf8.count ?? 0 }
}
