import Stratus

/// What a store should hold: dictionaries, and a number for every change.
struct StoreModel {
    struct Zone {
        /// Which of the zones of its name.
        var instance: Int
        var records: [String: Record] = [:]
        /// The last change of every record that there is or was.
        var changes: [String: (sequence: Int, type: String)] = [:]
        var lastActivity: Int
        var lastDeletion = 0
    }

    struct Database {
        var zones: [String: Zone] = [:]
        /// The names of zones that were deleted, and when last.
        var deleted: [String: Int] = [:]
    }

    static let defaultZone = RecordZone.ID.default.zoneName

    var databases = StoreAnswers.users.map { _ in Database() }
    private(set) var sequence = 0
    /// Whether the store may forget deletions.
    var mayForget = false

    init() {
        // They are there before anything was saved in them.
        for index in databases.indices { makeZone(Self.defaultZone, in: index) }
    }

    private mutating func next() -> Int {
        sequence += 1
        return sequence
    }

    mutating func makeZone(_ name: String, in database: Int) {
        let sequence = next()
        databases[database].zones[name] = Zone(instance: sequence, lastActivity: sequence)
    }

    mutating func deleteZone(_ name: String, in database: Int) {
        databases[database].zones[name] = nil
        databases[database].deleted[name] = next()
    }

    mutating func save(_ record: Record, in zone: String, of database: Int) {
        let sequence = next()
        let name = record.recordID.recordName
        databases[database].zones[zone]?.records[name] = record
        databases[database].zones[zone]?.changes[name] = (sequence, record.recordType)
        databases[database].zones[zone]?.lastActivity = sequence
    }

    mutating func delete(_ name: String, in zone: String, of database: Int) {
        // That it is not there is no change.
        guard let old = databases[database].zones[zone]?.records.removeValue(forKey: name)
        else { return }
        let sequence = next()
        databases[database].zones[zone]?.changes[name] = (sequence, old.recordType)
        databases[database].zones[zone]?.lastActivity = sequence
        databases[database].zones[zone]?.lastDeletion = sequence
    }
}

extension StoreModel.Zone {
    /// What goes when records are deleted, in order: those that are there, then their dependents; nil
    /// where a parent of what stays would go.
    func deletion(of names: [String]) -> [String]? {
        let named = names.filter { records[$0] != nil }
        var gone = Set(named)
        var next = gone
        while !next.isEmpty {
            let dependents = records.filter { name, record in
                guard let target = record["target"]?.referenceValue else { return false }
                return !gone.contains(name) && next.contains(target.recordID.recordName)
            }
            next = Set(dependents.keys)
            gone.formUnion(next)
        }
        let isParent = records.contains { name, record in
            !gone.contains(name)
                && record.parent.map { gone.contains($0.recordID.recordName) } ?? false
        }
        if isParent { return nil }
        let along = gone.subtracting(named)
        return named
            + along.sorted { (changes[$0]?.sequence ?? 0) < (changes[$1]?.sequence ?? 0) }
    }

    /// Everything of it that changed, in order.
    var orderedChanges: [(sequence: Int, name: String, type: String)] {
        changes.map { ($1.sequence, $0, $1.type) }.sorted { $0.0 < $1.0 }
    }

    fileprivate var answers: StoreAnswers.Zone {
        let sorted = records.sorted { $0.key < $1.key }.map(\.value)
        return StoreAnswers.Zone(
            records: sorted,
            byType: StoreAnswers.types.map { type in sorted.filter { $0.recordType == type } },
            feed: feed(since: 0).filter { !$0.hasPrefix("-") },
            found: StoreQuery.all.map { query in
                sorted.filter { $0.recordType == query.type && query.isFound($0) }
                    .map(\.recordID.recordName)
            })
    }

    fileprivate func feed(since sequence: Int, floor: Int = 0) -> [String] {
        let changes = orderedChanges.filter { $0.sequence > sequence }
        let gone = changes.filter { records[$0.name] == nil && $0.sequence > floor }
        return changes.compactMap { records[$0.name]?.nameAndTag }
            + gone.map { "-\($0.name) \($0.type)" }
    }
}

extension StoreModel.Database {
    fileprivate func feed(since sequence: Int?) -> [String] {
        let changed = zones.filter {
            $0.key != StoreModel.defaultZone && $0.value.lastActivity > sequence ?? 0
        }
        .sorted { $0.value.lastActivity < $1.value.lastActivity }.map(\.key)
        guard let sequence else { return changed }
        let gone = deleted.filter { zones[$0.key] == nil && $0.value > sequence }
        return changed + gone.keys.map { "-" + $0 }.sorted()
    }
}

extension StoreAnswers {
    /// As the model gives them.
    init(_ model: StoreModel, _ tokens: [Token]) {
        for database in model.databases {
            var answers = Database(feed: database.feed(since: nil))
            for (name, zone) in database.zones {
                answers.zones[name] = zone.answers
                if name == StoreModel.defaultZone { answers.zones[name]?.feed = [] }
            }
            databases.append(answers)
        }
        if model.mayForget { forgetting = Forgetting(model, tokens) }
        for token in tokens {
            let database = model.databases[token.database]
            guard let name = token.zone else {
                since.append(database.feed(since: token.sequence))
                continue
            }
            guard let zone = database.zones[name] else {
                since.append(["error \(StoreError.Code.zoneNotFound.rawValue)"])
                continue
            }
            since.append(
                zone.instance == token.instance
                    ? zone.feed(since: token.sequence, floor: token.floor)
                    : ["error \(StoreError.Code.changeTokenExpired.rawValue)"])
        }
    }
}

extension StoreAnswers.Forgetting {
    fileprivate init(_ model: StoreModel, _ tokens: [StoreAnswers.Token]) {
        zones = model.databases.map { database in
            Set(database.zones.filter { $0.value.lastDeletion > 0 }.keys)
        }
        self.tokens = tokens.map { token in
            guard let name = token.zone, let zone = model.databases[token.database].zones[name],
                zone.instance == token.instance
            else { return false }
            return zone.lastDeletion > max(token.sequence, token.floor)
        }
    }
}
