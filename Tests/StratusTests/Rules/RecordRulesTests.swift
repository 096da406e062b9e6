import Stratus
import StratusFiles
import StratusJournal
import Support
import Synchronization
import Testing

/// Validators and triggers of the host.
@Suite struct RecordRulesTests {
    /// A refusal of the rules of these tests.
    private static func refusal(_ code: Int = 7) -> RuleRefusal {
        RuleRefusal(domain: "tests", code: code, description: "not here")
    }

    /// Alice's database of a new container in memory, with the zone `notes`.
    private static func database(
        _ rules: RecordRules, profile: Profile = .unlimited
    ) async throws -> Database {
        let container = try Container.inMemory(profile: profile, rules: rules)
        let database = container.privateDatabase(for: "alice")
        try await database.save(RecordZone(zoneID: notes))
        return database
    }

    /// The same with parts of 8 KiB, so that a batch of more than 64 items is longer than one.
    private static func databaseOfSmallParts(
        _ rules: RecordRules, profile: Profile = .unlimited
    ) async throws -> Database {
        var options = JournalOptions()
        options.groupLimit = 8 << 10
        let container = try Container(
            writing: MemoryStorage(), creating: true, durability: .none, profile: profile,
            rules: rules, options: options, steppedByCaller: true)
        let database = container.privateDatabase(for: "alice")
        try await database.save(RecordZone(zoneID: notes))
        return database
    }

    /// Refuses notes whose field `bad` is 1.
    private static var refusingBad: RecordRules {
        var rules = RecordRules()
        rules.validate("Note", named: "good") { change, _ throws(RuleRefusal) in
            if change.new?["bad"] == 1 { throw Self.refusal() }
        }
        return rules
    }

    /// Counts the notes of the zone in the record `counter`.
    private static var counting: RecordRules {
        var rules = RecordRules()
        rules.trigger("Note", named: "count") { change, reader throws(RuleRefusal) in
            if change.kind == .update { return [] }
            let id = Record.ID(recordName: "counter", zoneID: change.recordID.zoneID)
            var counter = try reader.record(for: id) ?? Record(recordType: "Count", recordID: id)
            let step: Int64 = change.kind == .creation ? 1 : -1
            counter["count"] = .int64((counter["count"]?.int64Value ?? 0) + step)
            return [.save(counter)]
        }
        return rules
    }

    /// Saves a log record with each note that has a field `log`.
    private static var logging: RecordRules {
        var rules = RecordRules()
        rules.trigger("Note", named: "log") { change, _ throws(RuleRefusal) in
            guard let text = change.new?["log"] else { return [] }
            let name = "log-" + change.recordID.recordName
            var log = Record(
                recordType: "Log",
                recordID: Record.ID(recordName: name, zoneID: change.recordID.zoneID))
            log["text"] = text
            return [.save(log)]
        }
        return rules
    }

    /// Each step saves the next one, until the one whose number is in the field `last`.
    private static var stepping: RecordRules {
        var rules = RecordRules()
        rules.trigger("Step", named: "next") { change, _ throws(RuleRefusal) in
            guard let new = change.new, let number = new["number"]?.int64Value,
                let last = new["last"]?.int64Value, number < last
            else { return [] }
            return [.save(Self.step(number + 1, last: last))]
        }
        return rules
    }

    private static func step(_ number: Int64, last: Int64) -> Record {
        note("s\(number)", ["number": .int64(number), "last": .int64(last)], type: "Step")
    }
}

// Validators.
extension RecordRulesTests {
    // C138.
    @Test func `a refusal has the code, the name of the validator, and the words of the host`()
        async throws
    {
        let database = try await Self.database(Self.refusingBad)
        let error = await failure { try await database.save(note("a", ["bad": 1])) }
        #expect(error.code == .serverRejectedRequest && error.code.rawValue == 15)
        #expect(error.cause == .validator(name: "good", Self.refusal()))
        #expect(error.recordID == noteID("a"))
        #expect(error.remedy == .giveUp)
        #expect(try await database.names() == [])
        try await database.save(note("a", ["bad": 0]))
        #expect(try await database.names() == ["a"])
    }

    // C138.
    @Test func `the rest of an atomic batch is told so, and nothing is stored`() async throws {
        let database = try await Self.database(Self.refusingBad)
        let errors = try await database.outcome(
            saving: [note("a"), note("b", ["bad": 1]), note("c"), note("d", ["bad": 1])])
        #expect(
            codes(errors) == [
                "a": .batchRequestFailed, "b": .serverRejectedRequest, "c": .batchRequestFailed,
                "d": .serverRejectedRequest,
            ])
        #expect(errors["d"]?.cause == .validator(name: "good", Self.refusal()))
        #expect(errors["a"]?.cause == nil)
        #expect(try await database.names() == [])
    }

    @Test func `of another batch only the item fails that is refused`() async throws {
        let database = try await Self.database(Self.refusingBad)
        let errors = try await database.outcome(
            saving: [note("a"), note("b", ["bad": 1]), note("c")], atomically: false)
        #expect(codes(errors) == ["b": .serverRejectedRequest])
        #expect(errors["b"]?.cause == .validator(name: "good", Self.refusal()))
        #expect(try await database.names() == ["a", "c"])
    }

    @Test func `a validator gets the record as it is and as it will be`() async throws {
        let seen = Mutex<[String]>([])
        var rules = RecordRules()
        rules.validate("Note", named: "watch") { change, _ throws(RuleRefusal) in
            let old = change.old.map { "\($0["n"]?.int64Value ?? -1)" } ?? "none"
            let new = change.new.map { "\($0["n"]?.int64Value ?? -1)" } ?? "none"
            seen.withLock {
                $0.append(
                    "\(change.kind) \(change.recordID.recordName) \(old) \(new) "
                        + change.changedKeys.joined(separator: ","))
            }
        }
        let database = try await Self.database(rules)
        // New names are assigned by the committer, which runs the rules once more.
        try await database.save(note("first", ["n": 0, "kept": 1]))
        seen.withLock { $0 = [] }
        try await database.save(note("a", ["n": 1, "kept": 1]))
        try await database.save(note("a", ["n": 2]), savePolicy: .changedKeys)
        try await database.deleteRecord(withID: noteID("a"))
        let changes = seen.withLock { $0 }
        #expect(
            changes == [
                "creation a none 1 kept,n", "update a 1 2 n", "deletion a 2 none kept,n",
            ])
    }

    @Test func `rules of one type are not asked about another`() async throws {
        let count = Atomic(0)
        var rules = RecordRules()
        rules.validate("Other", named: "other") { _, _ throws(RuleRefusal) in
            count.add(1, ordering: .relaxed)
        }
        rules.trigger("Other", named: "other") { _, _ throws(RuleRefusal) in
            count.add(1, ordering: .relaxed)
            return []
        }
        let database = try await Self.database(rules)
        try await database.saveAll([note("a"), note("b")])
        try await database.deleteRecord(withID: noteID("a"))
        #expect(count.load(ordering: .relaxed) == 0)
        try await database.save(note("o", type: "Other"))
        #expect(count.load(ordering: .relaxed) >= 2)
    }

    @Test func `what fails its own checks is not asked about`() async throws {
        let count = Atomic(0)
        var rules = RecordRules()
        rules.validate("Note", named: "count") { _, _ throws(RuleRefusal) in
            count.add(1, ordering: .relaxed)
        }
        let database = try await Self.database(rules)
        let stale = try await database.save(note("a", ["n": 1]))
        try await database.save(stale)
        let before = count.load(ordering: .relaxed)
        let conflict = await failure { try await database.save(stale) }
        #expect(conflict.code == .serverRecordChanged)
        let mismatch = await failure { try await database.save(note("b", ["n": "text"])) }
        #expect(mismatch.code == .invalidArguments)
        #expect(count.load(ordering: .relaxed) == before)
    }

    @Test func `rules that are registered wrongly are refused when the store is opened`() {
        var nameless = RecordRules()
        nameless.validate("Note", named: "") { _, _ throws(RuleRefusal) in }
        var twice = Self.refusingBad
        twice.validate("Note", named: "good") { _, _ throws(RuleRefusal) in }
        var ofShares = RecordRules()
        ofShares.trigger(Record.shareType, named: "share") { _, _ throws(RuleRefusal) in [] }
        for rules in [nameless, twice, ofShares] {
            #expect(throws: StoreError.self) { try Container.inMemory(rules: rules) }
        }
    }
}

// Moves.
extension RecordRulesTests {
    @Test func `a record of a type with rules is not moved past them`() async throws {
        let database = try await Self.database(Self.counting)
        let other = RecordZone.ID(zoneName: "other")
        try await database.save(RecordZone(zoneID: other))
        try await database.save(note("a"))
        let error = await failure { try await database.moveRecords([noteID("a")], to: other) }
        #expect(error.code == .serverRejectedRequest)
        let there = try await database.record(for: noteID("a"))
        #expect(there.recordID.zoneID == notes)
    }
}

// Triggers.
extension RecordRulesTests {
    @Test func `what a trigger adds is part of the same commit`() async throws {
        let database = try await Self.database(Self.counting)
        try await database.save(note("a"))
        let token = try await FollowedChanges(of: database).token
        let isDone = Atomic(false)
        let writing = Task {
            defer { isDone.store(true, ordering: .releasing) }
            for number in 0..<200 { try await database.save(note("n\(number)")) }
        }
        let ids = (0..<200).map { noteID("n\($0)") } + [noteID("a")]
        while !isDone.load(ordering: .acquiring) {
            // All of one state.
            let found = try await database.records(for: ids + [noteID("counter")])
            let counter = try found[noteID("counter")]?.get()
            let count = ids.count { found[$0]?.code == nil }
            #expect(counter?["count"]?.int64Value == Int64(count))
            // No thread is kept from others.
            await Task.yield()
        }
        try await writing.value
        let page = try await database.recordZoneChanges(inZoneWith: notes, since: token)
        #expect(page.modifiedNames.count == 201 && page.modifiedNames.contains("counter"))
    }

    @Test func `triggers see what others of the call have added`() async throws {
        let database = try await Self.database(Self.counting)
        for isAtomic in [true, false] {
            let names = (0..<10).map { "\(isAtomic)\($0)" }
            let errors = try await database.outcome(
                saving: names.map { note($0) }, atomically: isAtomic)
            #expect(errors == [:])
        }
        let counter = try await database.record(for: noteID("counter"))
        #expect(counter["count"] == 20)
        #expect(try await database.outcome(saving: [note("x")], deleting: ["true0"]) == [:])
        #expect(try await database.record(for: noteID("counter"))["count"] == 20)
    }

    @Test func `a trigger may add to the record itself, and runs until nothing changes`()
        async throws
    {
        var rules = RecordRules()
        rules.trigger("Note", named: "double") { change, _ throws(RuleRefusal) in
            guard var new = change.new, let number = new["n"]?.int64Value else { return [] }
            new["double"] = .int64(number * 2)
            return [.save(new)]
        }
        rules.validate("Note", named: "doubled") { change, _ throws(RuleRefusal) in
            guard let new = change.new, let number = new["n"]?.int64Value else { return }
            guard new["double"]?.int64Value == number * 2 else { throw Self.refusal() }
        }
        let database = try await Self.database(rules)
        var saved = try await database.save(note("a", ["n": 4]))
        #expect(saved["double"] == 8)
        saved["n"] = 5
        let stale = saved
        saved = try await database.save(saved)
        #expect(saved["double"] == 10)
        // The caller's tag is compared all the same.
        let conflict = await failure { try await database.save(stale) }
        #expect(conflict.code == .serverRecordChanged)
        let changed = try await database.modifyRecords(
            saving: [note("a", ["n": 6])], savePolicy: .changedKeys)
        #expect(try changed.saveResults[noteID("a")]?.get()["double"] == 12)
    }

    @Test func `triggers call each other eight deep and no deeper`() async throws {
        let database = try await Self.database(Self.stepping)
        let errors = try await database.outcome(saving: [Self.step(0, last: 9), note("other")])
        #expect(codes(errors) == ["s0": .serverRejectedRequest, "other": .batchRequestFailed])
        #expect(errors["s0"]?.cause == .triggerDepth(name: "next", noteID("s9")))
        #expect(try await database.names() == [])
        try await database.save(Self.step(0, last: 8))
        #expect(try await database.names() == (0...8).map { "s\($0)" })
    }

    @Test func `a circle of triggers is refused, and its error names trigger and record`()
        async throws
    {
        var rules = RecordRules()
        for (type, name, other) in [("Ping", "ping", "Pong"), ("Pong", "pong", "Ping")] {
            rules.trigger(type, named: name) { change, reader throws(RuleRefusal) in
                let id = Record.ID(recordName: other, zoneID: change.recordID.zoneID)
                var record = try reader.record(for: id) ?? Record(recordType: other, recordID: id)
                record["n"] = .int64((record["n"]?.int64Value ?? 0) + 1)
                return [.save(record)]
            }
        }
        let database = try await Self.database(rules)
        let error = await failure {
            try await database.save(note("Ping", ["n": 1], type: "Ping"))
        }
        #expect(error.code == .serverRejectedRequest)
        // The eighth write was that of Ping, whose trigger would write Pong.
        #expect(error.cause == .triggerDepth(name: "ping", noteID("Pong")))
        #expect(try await database.names() == [])
    }

    @Test func `what a trigger adds is checked, and fails the item that caused it`()
        async throws
    {
        let database = try await Self.database(Self.logging)
        try await database.save(note("kind", ["text": 1], type: "Log"))
        let bad = note("b", ["log": "text"])
        for isAtomic in [true, false] {
            let errors = try await database.outcome(
                saving: [note("a"), bad, note("c")], atomically: isAtomic)
            let expected: [String: StoreError.Code] =
                isAtomic ? ["a": .batchRequestFailed, "c": .batchRequestFailed] : [:]
            #expect(codes(errors).filter { $0.key != "b" } == expected)
            let error = try #require(errors["b"])
            #expect(error.code == .serverRejectedRequest)
            #expect(error.cause == .triggerEffect(name: "log"))
            #expect(error.recordID == noteID("b"))
            let nested = error.partialErrors[.record(noteID("log-b"))]
            #expect(nested?.code == .invalidArguments)
        }
        #expect(try await database.names() == ["a", "c", "kind"])
    }

    @Test func `what is refused of the added records fails the item that caused them`()
        async throws
    {
        var rules = Self.logging
        rules.validate("Log", named: "short") { change, _ throws(RuleRefusal) in
            if change.new?["text"]?.stringValue?.isEmpty == true { throw Self.refusal(3) }
        }
        let database = try await Self.database(rules)
        let errors = try await database.outcome(
            saving: [note("a", ["log": ""]), note("b", ["log": "text"])], atomically: false)
        #expect(codes(errors) == ["a": .serverRejectedRequest])
        #expect(errors["a"]?.cause == .triggerEffect(name: "log"))
        let nested = errors["a"]?.partialErrors[.record(noteID("log-a"))]
        #expect(nested?.cause == .validator(name: "short", Self.refusal(3)))
        #expect(try await database.names() == ["b", "log-b"])
    }

    @Test func `a trigger may refuse, too`() async throws {
        var rules = RecordRules()
        rules.trigger("Note", named: "never") { change, _ throws(RuleRefusal) in
            if change.new?["bad"] == 1 { throw Self.refusal() }
            return []
        }
        let database = try await Self.database(rules)
        let error = await failure { try await database.save(note("a", ["bad": 1])) }
        #expect(error.code == .serverRejectedRequest)
        #expect(error.cause == .trigger(name: "never", Self.refusal()))
    }

    @Test func `no commit saves a record and deletes it`() async throws {
        var rules = RecordRules()
        rules.trigger("Note", named: "delete") { change, _ throws(RuleRefusal) in
            guard let name = change.new?["delete"]?.stringValue else { return [] }
            return [
                .delete(Record.ID(recordName: name, zoneID: change.recordID.zoneID))
            ]
        }
        let database = try await Self.database(rules)
        try await database.saveAll([note("old"), note("x")])
        let error = await failure { try await database.save(note("a", ["delete": "a"])) }
        #expect(error.cause == .triggerEffect(name: "delete"))
        #expect(error.partialErrors[.record(noteID("a"))]?.code == .invalidArguments)
        try await database.save(note("a", ["delete": "old"]))
        try await database.save(note("b", ["delete": "missing"]))
        let errors = try await database.outcome(
            saving: [note("c", ["delete": "x"])], deleting: ["x"])
        #expect(errors == [:])
        #expect(try await database.names() == ["a", "b", "c"])
    }

    @Test func `a trigger writes in its own zone only`() async throws {
        var rules = RecordRules()
        rules.trigger("Note", named: "away") { _, _ throws(RuleRefusal) in
            [.save(note("elsewhere", type: "Log", in: .default))]
        }
        let database = try await Self.database(rules)
        let error = await failure { try await database.save(note("a")) }
        #expect(error.cause == .triggerEffect(name: "away"))
        #expect(error.partialErrors.values.first?.code == .invalidArguments)
    }

    @Test func `what a trigger adds is the host's own, whoever made the record`() async throws {
        let container = try Container.inMemory(rules: Self.counting)
        for (number, user) in ["alice", "bob", "carol"].enumerated() {
            let database = container.publicDatabase(as: user)
            try await database.save(note("by \(user)", in: .default))
            let counter = try await database.record(for: noteID("counter", in: .default))
            #expect(counter["count"]?.int64Value == Int64(number + 1))
            let foreign = await failure {
                var changed = counter
                changed["count"] = 100
                return try await container.publicDatabase(as: "dave").save(changed)
            }
            #expect(foreign.code == .permissionFailure)
        }
    }

    @Test func `a quota counts what triggers add`() async throws {
        let database = try await Self.database(Self.logging, profile: Profile(userQuota: 2000))
        try await database.save(note("b", ["log": "short"]))
        // There is room for the note, and none for the log record as well.
        let text = RecordValue.string(String(repeating: "x", count: 1200))
        let error = await failure { try await database.save(note("a", ["log": text])) }
        #expect(error.code == .quotaExceeded && error.remedy == .makeRoom)
        #expect(error.recordID == noteID("a"))
        #expect(error.cause == .triggerEffect(name: "log"))
        #expect(error.partialErrors[.record(noteID("log-a"))]?.code == .quotaExceeded)
        #expect(try await database.names() == ["b", "log-b"])
    }

    @Test func `an operation that is repeated runs no rule again`() async throws {
        let count = Atomic(0)
        var rules = Self.counting
        rules.validate("Note", named: "calls") { _, _ throws(RuleRefusal) in
            count.add(1, ordering: .relaxed)
        }
        let database = try await Self.database(rules)
        let first = try await database.modifyRecords(
            saving: [note("a"), note("b")], operationID: "once")
        let calls = count.load(ordering: .relaxed)
        let token = try await FollowedChanges(of: database).token
        let second = try await database.modifyRecords(
            saving: [note("a"), note("b")], operationID: "once")
        #expect(count.load(ordering: .relaxed) == calls)
        #expect(first.saveResults.count == 2 && second.saveResults.count == 2)
        for (id, saved) in first.saveResults {
            #expect(try second.saveResults[id]?.get() == saved.get())
        }
        #expect(try await FollowedChanges(of: database, since: token).modified == [])
        #expect(try await database.record(for: noteID("counter"))["count"] == 2)
    }
}

// Deletions and long batches.
extension RecordRulesTests {
    private static func source(_ name: String, of target: String) -> Record {
        note(name, ["target": link(target, .deleteSelf)])
    }

    @Test func `what goes along with a deletion has its rules`() async throws {
        let database = try await Self.database(Self.counting)
        try await database.saveAll([
            note("root", type: "Root"), Self.source("a", of: "root"), Self.source("b", of: "a"),
            note("stays"),
        ])
        #expect(try await database.record(for: noteID("counter"))["count"] == 3)
        try await database.deleteRecord(withID: noteID("root"))
        #expect(try await database.record(for: noteID("counter"))["count"] == 1)
        #expect(try await database.names() == ["counter", "stays"])
    }

    @Test func `a validator keeps a record from going along`() async throws {
        var rules = RecordRules()
        rules.validate("Note", named: "locked") { change, _ throws(RuleRefusal) in
            if change.kind == .deletion, change.old?["locked"] == 1 { throw Self.refusal() }
        }
        let database = try await Self.database(rules)
        var locked = Self.source("b", of: "a")
        locked["locked"] = 1
        try await database.saveAll([
            note("root", type: "Root"), Self.source("a", of: "root"), locked, note("free"),
        ])
        let errors = try await database.outcome(deleting: ["root", "free"], atomically: false)
        #expect(codes(errors) == ["root": .serverRejectedRequest])
        #expect(errors["root"]?.cause == .validator(name: "locked", Self.refusal()))
        #expect(
            errors["root"]?.partialErrors[.record(noteID("b"))]?.cause
                == .validator(name: "locked", Self.refusal()))
        #expect(try await database.names() == ["a", "b", "root"])
    }

    @Test func `a trigger may save a record from going along`() async throws {
        var rules = RecordRules()
        rules.trigger("Root", named: "let go") { change, reader throws(RuleRefusal) in
            guard change.kind == .deletion else { return [] }
            let id = Record.ID(recordName: "a", zoneID: change.recordID.zoneID)
            guard var source = try reader.record(for: id) else { return [] }
            source["target"] = nil
            return [.save(source)]
        }
        let database = try await Self.database(rules)
        try await database.saveAll([
            note("root", type: "Root"), Self.source("a", of: "root"), Self.source("b", of: "a"),
            Self.source("c", of: "root"),
        ])
        try await database.deleteRecord(withID: noteID("root"))
        #expect(try await database.names() == ["a", "b"])
    }

    @Test func `a cascade longer than a part is refused where its zone has records with rules`()
        async throws
    {
        let database = try await Self.databaseOfSmallParts(Self.refusingBad)
        try await database.save(note("root", type: "Root"))
        for number in 0..<100 {
            try await database.save(
                note(
                    "s\(number)", ["target": link("root", .deleteSelf)], type: "Source"))
        }
        try await database.save(note("ruled"))
        let error = await failure { try await database.deleteRecord(withID: noteID("root")) }
        #expect(error.code == .limitExceeded && error.recordID == noteID("root"))
        #expect(try await database.recordCount(inZoneWith: notes) == 102)
        let other = RecordZone.ID(zoneName: "other")
        try await database.save(RecordZone(zoneID: other))
        try await database.save(note("root", type: "Root", in: other))
        for number in 0..<100 {
            let target = Reference(
                recordID: noteID("root", in: other), action: .deleteSelf)
            try await database.save(
                note("s\(number)", ["target": .reference(target)], type: "Source", in: other))
        }
        try await database.deleteRecord(withID: noteID("root", in: other))
        #expect(try await database.recordCount(inZoneWith: other) == 0)
    }

    @Test(arguments: [true, false])
    func `a batch of several parts has its rules`(isAtomic: Bool) async throws {
        var rules = Self.refusingBad
        rules.trigger("Note", named: "log") { change, _ throws(RuleRefusal) in
            guard let text = change.new?["log"] else { return [] }
            let name = "log-" + change.recordID.recordName
            return [.save(note(name, ["text": text, "copy": text], type: "Log"))]
        }
        let database = try await Self.databaseOfSmallParts(
            rules, profile: Profile(bytesPerRecord: 500))
        var records = (0..<300).map { note("n\($0)", ["log": "text"]) }
        #expect(try await database.outcome(saving: records, atomically: isAtomic) == [:])
        #expect(try await database.recordCount(inZoneWith: notes) == 600)
        records = (0..<300).map { note("m\($0)", ["log": "text"]) }
        records[200]["bad"] = 1
        // The log record is too long, which shows behind the parts that were written before it.
        records[250]["log"] = .string(String(repeating: "x", count: 300))
        let errors = try await database.outcome(saving: records, atomically: isAtomic)
        #expect(errors["m200"]?.cause == .validator(name: "good", Self.refusal()))
        let late = errors["m250"]
        #expect(late?.code == (isAtomic ? .batchRequestFailed : .serverRejectedRequest))
        if !isAtomic {
            let nested = late?.partialErrors[.record(noteID("log-m250"))]
            #expect(nested?.code == .limitExceeded)
        }
        #expect(errors.count == (isAtomic ? 300 : 2))
        let count = try await database.recordCount(inZoneWith: notes)
        #expect(count == (isAtomic ? 600 : 600 + 298 * 2))
    }
}

// Commits at once.
extension RecordRulesTests {
    /// Of two doctors one is always on call.
    private static var onCall: RecordRules {
        var rules = RecordRules()
        rules.validate("Doctor", named: "on call") { change, reader throws(RuleRefusal) in
            guard let new = change.new, new["on"] == 0 else { return }
            let other = change.recordID.recordName == "a" ? "b" : "a"
            let id = Record.ID(recordName: other, zoneID: change.recordID.zoneID)
            guard try reader.record(for: id)?["on"] == 1 else { throw Self.refusal() }
        }
        return rules
    }

    private static func doctor(_ name: String, on: Bool) -> Record {
        note(name, ["on": on ? 1 : 0], type: "Doctor")
    }

    @Test func `two changes that rules let pass one by one never pass together`() async throws {
        let database = try await Self.database(Self.onCall)
        for _ in 0..<200 {
            try await database.saveAll(
                [Self.doctor("a", on: true), Self.doctor("b", on: true)], savePolicy: .allKeys)
            let refused = try await withThrowingTaskGroup(of: Bool.self) { group in
                for name in ["a", "b"] {
                    group.addTask {
                        let result = try await database.modifyRecords(
                            saving: [Self.doctor(name, on: false)], savePolicy: .allKeys)
                        return result.partialFailure != nil
                    }
                }
                var count = 0
                for try await isRefused in group where isRefused { count += 1 }
                return count
            }
            #expect(refused == 1)
        }
    }

    @Test func `what a rule has read is checked again when the commit comes`() async throws {
        let storage = GatedStorage()
        let container = try Container(
            writing: storage, creating: true, durability: .full, rules: Self.onCall,
            options: JournalOptions(), steppedByCaller: false)
        let database = container.privateDatabase(for: "alice")
        try await database.save(RecordZone(zoneID: notes))
        try await database.saveAll([
            Self.doctor("a", on: true), Self.doctor("b", on: true), note("blocking", ["n": 0]),
        ])
        storage.shut()
        let blocking = Task {
            try await database.save(note("blocking", ["n": 1]), savePolicy: .changedKeys)
        }
        while !storage.isWaiting { await Task.yield() }
        // Both are prepared against the same state, in which the other one is on call.
        var tasks: [Task<StoreError.Code?, any Error>] = []
        for name in ["a", "b"] {
            tasks.append(
                Task {
                    let result = try await database.modifyRecords(
                        saving: [Self.doctor(name, on: false)], savePolicy: .changedKeys)
                    return result.saveResults[noteID(name)]?.code
                })
            try await Task.sleep(for: .milliseconds(20))
        }
        storage.open()
        _ = try await blocking.value
        #expect(try await tasks[0].value == nil)
        #expect(try await tasks[1].value == .serverRejectedRequest)
        try await container.close()
    }

    /// Keeps the doctor of one zone on call while the one of the other zone is not.
    private static var onCallElsewhere: RecordRules {
        var rules = RecordRules()
        rules.validate("Doctor", named: "someone") { change, reader throws(RuleRefusal) in
            guard let new = change.new, new["on"] == 0 else { return }
            let name = change.recordID.zoneID.zoneName == "notes" ? "other" : "notes"
            let zone = RecordZone.ID(
                zoneName: name, ownerName: change.recordID.zoneID.ownerName)
            let id = Record.ID(recordName: "doctor", zoneID: zone)
            let other = try reader.record(for: id)
            let stored = try reader.storedRecord(for: id)
            if other?["on"] != 1 || stored?["on"] != 1 { throw Self.refusal() }
        }
        return rules
    }

    private static func doctor(in zone: RecordZone.ID, on: Bool) -> Record {
        note("doctor", ["on": on ? 1 : 0], type: "Doctor", in: zone)
    }

    @Test func `a rule reads records of other zones, and two zones never pass together`()
        async throws
    {
        let database = try await Self.database(Self.onCallElsewhere)
        let other = RecordZone.ID(zoneName: "other")
        // Neither the zone nor the record is there.
        let alone = await failure { try await database.save(Self.doctor(in: notes, on: false)) }
        #expect(alone.code == .serverRejectedRequest)
        try await database.save(RecordZone(zoneID: other))
        for _ in 0..<200 {
            for zone in [notes, other] {
                try await database.save(Self.doctor(in: zone, on: true), savePolicy: .allKeys)
            }
            let refused = try await withThrowingTaskGroup(of: Bool.self) { group in
                for zone in [notes, other] {
                    group.addTask {
                        let result = try await database.modifyRecords(
                            saving: [Self.doctor(in: zone, on: false)], savePolicy: .allKeys)
                        return result.partialFailure != nil
                    }
                }
                var count = 0
                for try await isRefused in group where isRefused { count += 1 }
                return count
            }
            #expect(refused == 1)
        }
        // Of a zone that is gone nothing is read.
        try await database.save(Self.doctor(in: other, on: true), savePolicy: .allKeys)
        try await database.deleteRecordZone(withID: other)
        let gone = await failure {
            try await database.save(Self.doctor(in: notes, on: false), savePolicy: .allKeys)
        }
        #expect(gone.code == .serverRejectedRequest)
    }

    @Test func `a rule reads no other database`() async throws {
        var rules = RecordRules()
        rules.validate("Note", named: "abroad") { _, reader throws(RuleRefusal) in
            let zone = RecordZone.ID(zoneName: "notes", ownerName: "_0")
            _ = try reader.record(for: Record.ID(recordName: "a", zoneID: zone))
        }
        let database = try await Self.database(rules)
        let error = await failure { try await database.save(note("a")) }
        #expect(error.code == .invalidArguments)
    }

    @Test func `in a shared tree a rule reads the owner's other zones`() async throws {
        var rules = RecordRules()
        rules.validate("Note", named: "limit") { change, reader throws(RuleRefusal) in
            let zone = RecordZone.ID(
                zoneName: "other", ownerName: change.recordID.zoneID.ownerName)
            let limit = try reader.record(for: Record.ID(recordName: "limit", zoneID: zone))
            guard let most = limit?["n"]?.int64Value else { return }
            if (change.new?["n"]?.int64Value ?? 0) > most { throw Self.refusal() }
        }
        let fixture = try await SharingFixture.family(rules: rules)
        let share = try await fixture.share("root", with: ["bob"])
        try await fixture.accept(share, ["bob"])
        try await fixture.alice.save(RecordZone(zoneName: "other"))
        try await fixture.alice.save(
            note("limit", ["n": 10], type: "Limit", in: RecordZone.ID(zoneName: "other")))
        let error = await failure {
            try await fixture.bob.save(fixture.newNote("new", under: "a", ["n": 11]))
        }
        #expect(error.code == .serverRejectedRequest)
        try await fixture.bob.save(fixture.newNote("new", under: "a", ["n": 10]))
    }

    @Test func `counts of many tasks at once are right`() async throws {
        let database = try await Self.database(Self.counting)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for task in 0..<16 {
                group.addTask {
                    for number in 0..<25 { try await database.save(note("t\(task)-\(number)")) }
                }
            }
            try await group.waitForAll()
        }
        #expect(try await database.record(for: noteID("counter"))["count"] == 400)
    }
}
