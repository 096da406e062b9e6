/// Makes up calls that get in each other's way: few names, few zones, few users, old copies.
package struct ModelGenerator: Sendable {
    /// What is the same in all of a run, and differs between runs.
    package struct Character: Sendable {
        var names: Int
        var zones: Int
        var users: Int
        /// One in so many saves sets a parent, or a reference.
        package var parents: Int
        package var references: Int
        var itemsPerBatch: Int
        /// Whether the web types of save are used, and deletes with a tag.
        package var isWeb = false
        /// Whether clients keep the system fields of records only.
        package var keepsSystemFields = false
        /// Whether calls have names and are repeated.
        package var repeatsCalls = false
        /// Whether records move between zones.
        package var movesRecords = false
        init(_ random: inout SeededGenerator) {
            names = [3, 6, 12, 40][random.below(4)]
            zones = 2 + random.below(3)
            users = 1 + random.below(3)
            parents = 2 + random.below(6)
            references = 2 + random.below(6)
            itemsPerBatch = [1, 3, 8, 20][random.below(4)]
        }
    }

    var random: SeededGenerator
    package var character: Character
    /// Calls that may be repeated.
    private var named: [ModelCall] = []
    private var count = 0

    package init(seed: UInt64) {
        random = SeededGenerator(seed: seed)
        character = Character(&random)
    }

    package mutating func below(_ limit: Int) -> Int { random.below(limit) }
    package mutating func oneIn(_ count: Int) -> Bool { random.oneIn(count) }

    mutating func pick<Element>(_ choices: [Element]) -> Element {
        choices[random.below(choices.count)]
    }

    /// The next call. `tokens` are those that the run holds, `known` the copies of its clients.
    package mutating func call(
        model: RecordModel, known: [ModelDatabaseID: [ModelCopy]], tokens: [ModelToken]
    ) -> ModelCall {
        let user = random.below(character.users)
        let isPublic = random.oneIn(8)
        let database = isPublic ? ModelDatabaseID.everybodys : .own(user: user)
        let caller = isPublic && random.oneIn(12) ? nil : user
        let kind: ModelCall.Kind
        switch random.below(100) {
        case 55..<58 where character.movesRecords:
            kind = move(model.database(database), database)
        case 0..<58:
            let held = known[database] ?? []
            kind = .batch(batch(model.database(database), held, database))
        case 66..<70 where !character.isWeb:
            kind = .list(zone: zone(database), type: random.oneIn(2) ? pick(types) : nil)
        case 58..<70: kind = .fetch(ids(), keys: random.oneIn(3) ? keys() : nil)
        case 70..<84: return changes(database, caller, tokens)
        case 84..<90: return databaseChanges(database, caller, tokens)
        case 90..<92: kind = .zoneNames
        case 98 where !character.isWeb && random.oneIn(6): kind = .purge(user: user)
        case 92..<99: kind = zones(model.database(database))
        default: kind = .reopen
        }
        let call = ModelCall(kind, in: database, by: caller)
        return character.repeatsCalls ? repeated(call) : call
    }

    /// Names a call now and then, and makes one again that had a name, or nearly that one.
    private mutating func repeated(_ call: ModelCall) -> ModelCall {
        guard case .batch(var batch) = call.kind, call.caller != nil else { return call }
        if !named.isEmpty, random.oneIn(10) {
            var again = pick(named)
            guard random.oneIn(4), case .batch(var other) = again.kind else { return again }
            other.isAtomic.toggle()
            again.kind = .batch(other)
            return again
        }
        guard random.oneIn(5) else { return call }
        count += 1
        batch.operationID = "operation \(count)"
        var call = call
        call.kind = .batch(batch)
        if named.count < 8 { named.append(call) } else { named[random.below(8)] = call }
        return call
    }

    private let types = ["Note", "Page"]

    mutating func name() -> String {
        random.oneIn(60) ? "_bad" : "r\(random.below(character.names))"
    }

    mutating func zone(_ database: ModelDatabaseID) -> String {
        if database == .everybodys, !random.oneIn(10) { return ModelZone.defaultName }
        return random.oneIn(5) ? ModelZone.defaultName : "z\(random.below(character.zones))"
    }

    private mutating func ids() -> [ModelID] {
        let zone = zone(.own(user: 0))
        let elsewhere = self.zone(.own(user: 0))
        let ids = (0...random.below(4)).map { _ in
            ModelID(zone: random.oneIn(4) ? elsewhere : zone, name: name())
        }
        return Set(ids).sorted()
    }

    private mutating func keys() -> Set<String> {
        Set((0..<random.below(4)).map { _ in pick(Self.keys) })
    }

    private mutating func zones(_ database: ModelDatabase) -> ModelCall.Kind {
        var saving: [String] = []
        var deleting: [String] = []
        for number in 0..<character.zones where random.oneIn(character.zones) {
            let name = "z\(number)"
            // What is there stays longer than what is not.
            if database.zones[name] != nil, !random.oneIn(3) { continue }
            if database.zones[name] == nil ? random.oneIn(10) : !random.oneIn(10) {
                deleting.append(name)
            } else {
                saving.append(name)
            }
        }
        // The wire has no word for a zone without a name.
        if random.oneIn(20) { saving.append(pick(["_bad", character.isWeb ? "_worse" : ""])) }
        if random.oneIn(20) {
            if random.oneIn(2) {
                saving.append(ModelZone.defaultName)
            } else {
                deleting.append(ModelZone.defaultName)
            }
        }
        if saving.isEmpty, deleting.isEmpty { saving.append("z0") }
        let reason: ModelDatabase.Reason = random.oneIn(4) ? .purged : .deleted
        return .zones(saving: saving, deleting: deleting, reason: reason)
    }

    private mutating func move(
        _ database: ModelDatabase, _ id: ModelDatabaseID
    ) -> ModelCall.Kind {
        let source = zone(id)
        let there = (database.zones[source]?.records.keys).map { $0.sorted() } ?? []
        let names = (0...random.below(3)).map { _ in
            there.isEmpty || random.oneIn(10) ? name() : pick(there)
        }
        let ids = Set(names).sorted().map { ModelID(zone: source, name: $0) }
        return .move(ids, to: zone(id))
    }

    private mutating func limit() -> Int? { pick([nil, nil, 1, 2, 3, 10, 200]) }

    /// A token of the zone or database mostly, now and then any other.
    private mutating func token(
        of zone: String?, _ database: ModelDatabaseID, _ tokens: [ModelToken]
    ) -> Int? {
        let fitting = tokens.indices.filter {
            tokens[$0].database == database && tokens[$0].zone == zone
        }
        if random.oneIn(25), !tokens.isEmpty { return random.below(tokens.count) }
        return fitting.isEmpty || random.oneIn(12) ? nil : pick(fitting)
    }

    private mutating func changes(
        _ database: ModelDatabaseID, _ caller: Int?, _ tokens: [ModelToken]
    ) -> ModelCall {
        let zone = random.oneIn(30) ? ModelZone.defaultName : "z\(random.below(character.zones))"
        let kind = ModelCall.Kind.changes(
            zone: zone, token: token(of: zone, database, tokens), limit: limit())
        return ModelCall(kind, in: database, by: caller)
    }

    private mutating func databaseChanges(
        _ database: ModelDatabaseID, _ caller: Int?, _ tokens: [ModelToken]
    ) -> ModelCall {
        let kind = ModelCall.Kind.databaseChanges(
            token: token(of: nil, database, tokens), limit: limit())
        return ModelCall(kind, in: database, by: caller)
    }
}
