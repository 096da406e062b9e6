import FoundationEssentials
import Stratus
import Support
import Testing

/// Unique indexes: no two records of a zone have the same values.
@Suite struct UniqueIndexTests {
    private static let other = RecordZone.ID(zoneName: "other")

    /// A store in which the fields `mail` and, together, `first` and `last` are unique.
    private static func makeUsers() async throws -> (container: Container, database: Database) {
        let (container, database) = try await makeDatabase()
        try await database.save(RecordZone(zoneID: other))
        try await database.save(user("ann", "Ann@x.org", name: ["Ann", "Fox"]))
        try await container.addUniqueIndex(on: ["mail"], of: "User")
        try await container.addUniqueIndex(on: ["first", "last"], of: "User")
        return (container, database)
    }

    private static func user(
        _ record: String, _ mail: String?, name: [String] = [], in zone: RecordZone.ID = notes
    ) -> Record {
        var user = note(record, type: "User", in: zone)
        user["mail"] = mail.map { .string($0) }
        if let first = name.first { user["first"] = .string(first) }
        if name.count > 1 { user["last"] = .string(name[1]) }
        return user
    }

    private static func mails(_ database: Database) async throws -> [String: String] {
        var mails: [String: String] = [:]
        for record in try await database.allRecords(in: notes, type: "User") {
            mails[record.recordID.recordName] = record["mail"]?.stringValue ?? ""
        }
        return mails
    }

    @Test func `what another record has is refused, and the error names it`() async throws {
        let (container, database) = try await Self.makeUsers()
        #expect(try await container.indexes().map(\.isUnique) == [true, true])
        for mail in ["Ann@x.org", "ANN@X.ORG"] {
            let error = await failure { try await database.save(Self.user("bob", mail)) }
            #expect(error.code == .constraintViolation && error.recordID == noteID("bob"))
            #expect(error.cause == .duplicate(fields: ["mail"], of: noteID("ann")))
            #expect(error.reason == "record 'ann' has the same value in 'mail'")
        }
        let name = await failure {
            try await database.save(Self.user("bob", "bob@x.org", name: ["ann", "FOX"]))
        }
        #expect(name.cause == .duplicate(fields: ["first", "last"], of: noteID("ann")))
        #expect(name.reason == "record 'ann' has the same values in 'first', 'last'")
        #expect(try await Self.mails(database) == ["ann": "Ann@x.org"])
    }

    @Test func `other zones and types, and records without a value, are free`() async throws {
        let (_, database) = try await Self.makeUsers()
        try await database.save(Self.user("bob", "ann@x.org", in: Self.other))
        try await database.save(note("note", ["mail": "ann@x.org"]))
        try await database.saveAll([Self.user("c", nil), Self.user("d", nil)])
        try await database.save(Self.user("e", "e@x.org", name: ["Ann"]))
        try await database.save(Self.user("f", "f@x.org", name: ["Ann"]))
        // "a" and "bc" are not "ab" and "c".
        try await database.save(Self.user("g", nil, name: ["a", "bc"]))
        try await database.save(Self.user("h", nil, name: ["ab", "c"]))
        try await database.save(Self.user("i", nil, name: ["a\u{1}b", "c"]))
        try await database.save(Self.user("j", nil, name: ["a", "b\u{1}c"]))
        // The record itself may be saved again, also as it is spelt otherwise.
        var ann = try await database.record(for: noteID("ann"))
        ann["mail"] = "ANN@x.org"
        ann = try await database.save(ann)
        ann["first"] = "Anna"
        try await database.save(ann)
        #expect(try await Self.mails(database)["ann"] == "ANN@x.org")
    }

    @Test func `a value that a record leaves is free for others`() async throws {
        let (_, database) = try await Self.makeUsers()
        var ann = try await database.record(for: noteID("ann"))
        ann["mail"] = "new@x.org"
        ann = try await database.save(ann)
        try await database.save(Self.user("bob", "ann@x.org"))
        let back = await failure {
            ann["mail"] = "ann@x.org"
            return try await database.save(ann)
        }
        #expect(back.cause == .duplicate(fields: ["mail"], of: noteID("bob")))
        try await database.deleteRecord(withID: noteID("bob"))
        ann["mail"] = "ann@x.org"
        try await database.save(ann)
        var carl = try await database.save(Self.user("carl", "carl@x.org"))
        carl["mail"] = nil
        try await database.save(carl)
        try await database.save(Self.user("dora", "CARL@x.org"))
    }

    @Test(arguments: [true, false])
    func `a batch is judged by what it leaves behind`(isAtomic: Bool) async throws {
        let (_, database) = try await Self.makeUsers()
        var ann = try await database.record(for: noteID("ann"))
        var bob = try await database.save(Self.user("bob", "bob@x.org"))
        (ann["mail"], bob["mail"]) = (bob["mail"], ann["mail"])
        let swap = try await database.modifyRecords(saving: [ann, bob], atomically: isAtomic)
        #expect(swap.saveResults.values.allSatisfy { $0.code == nil })
        #expect(try await Self.mails(database) == ["ann": "bob@x.org", "bob": "Ann@x.org"])
        let replaced = try await database.modifyRecords(
            saving: [Self.user("carl", "ANN@x.org")], deleting: [noteID("bob")],
            atomically: isAtomic)
        #expect(replaced.saveResults.values.allSatisfy { $0.code == nil })
        #expect(try await Self.mails(database) == ["ann": "bob@x.org", "carl": "ANN@x.org"])
    }

    @Test func `of a batch that wants a value twice the first save gets it`() async throws {
        let (_, database) = try await Self.makeUsers()
        let both = [Self.user("b", "b@x.org"), Self.user("c", "B@x.org"), Self.user("d", nil)]
        let atomic = try await database.modifyRecords(saving: both, atomically: true)
        #expect(
            both.map { atomic.saveResults[$0.recordID]?.code } == [
                .batchRequestFailed, .constraintViolation, .batchRequestFailed,
            ])
        #expect(try await Self.mails(database).count == 1)
        let each = try await database.modifyRecords(saving: both, atomically: false)
        #expect(
            both.map { each.saveResults[$0.recordID]?.code } == [nil, .constraintViolation, nil])
        guard case .failure(let error)? = each.saveResults[noteID("c")] else { return }
        #expect(error.cause == .duplicate(fields: ["mail"], of: noteID("b")))
    }

    @Test func `an item that fails takes no value, and gives none up`() async throws {
        let (_, database) = try await Self.makeUsers()
        // `b` wants what `ann` has, so that `c` may have the rest of it.
        let first = [
            Self.user("b", "ann@x.org", name: ["Bob", "Roe"]),
            Self.user("c", "c@x.org", name: ["Bob", "Roe"]),
        ]
        let result = try await database.modifyRecords(saving: first, atomically: false)
        #expect(
            first.map { result.saveResults[$0.recordID]?.code } == [.constraintViolation, nil])
        // A save of `ann` over an old version fails, and `d` does not get what it would have left.
        let old = try await database.record(for: noteID("ann"))
        var ann = old
        ann["note"] = "newer"
        try await database.save(ann)
        var late = old
        late["mail"] = "late@x.org"
        for isAtomic in [true, false] {
            let second = [late, Self.user("d", "ann@x.org")]
            let result = try await database.modifyRecords(saving: second, atomically: isAtomic)
            #expect(
                second.map { result.saveResults[$0.recordID]?.code } == [
                    .serverRecordChanged, isAtomic ? .batchRequestFailed : .constraintViolation,
                ])
        }
    }

    @Test(arguments: [1, 30_000])
    func `what goes along with a deletion leaves its values`(count: Int) async throws {
        let (_, database) = try await Self.makeUsers()
        try await database.save(note("root", type: "Root"))
        let link = RecordValue.reference(
            Reference(recordID: noteID("root"), action: .deleteSelf))
        for start in stride(from: 0, to: count, by: 1000) {
            try await database.saveAll(
                (start..<min(start + 1000, count)).map {
                    var user = Self.user("u\($0)", "u\($0)@x.org")
                    user["root"] = link
                    return user
                })
        }
        let taker = Self.user("taker", "U0@x.org")
        let refused = await failure { try await database.save(taker) }
        #expect(refused.cause == .duplicate(fields: ["mail"], of: noteID("u0")))
        let result = try await database.modifyRecords(
            saving: [taker], deleting: [noteID("root")])
        #expect(result.saveResults[taker.recordID]?.code == nil)
        #expect(try await Self.mails(database) == ["ann": "Ann@x.org", "taker": "U0@x.org"])
    }

    @Test(arguments: 0..<12)
    func `batches at random leave no value twice, and fail for no other reason`(
        seed: Int
    ) async throws {
        var random = SeededGenerator(seed: UInt64(seed) + 4000)
        let (container, database) = try await makeDatabase()
        if seed % 2 == 0 {
            try await database.save(Self.user("r0", "0@x.org"))
            try await container.addUniqueIndex(on: ["mail"], of: "User")
        } else {
            try await container.importSchema(
                "DEFINE SCHEMA RECORD TYPE User (mail STRING // stratus: UNIQUE\n);")
        }
        var held = try await Self.mails(database)
        for _ in 0..<60 {
            var saved: [Record] = []
            var deleted: [Record.ID] = []
            let changed = Set((0...random.below(6)).map { _ in "r\(random.below(12))" })
            for name in changed {
                if held[name] != nil, random.oneIn(4) {
                    deleted.append(noteID(name))
                } else {
                    let mail = "\(random.below(14))@\(random.oneIn(2) ? "x" : "X").org"
                    saved.append(Self.user(name, random.oneIn(8) ? nil : mail))
                }
            }
            var wanted = held
            for id in deleted { wanted[id.recordName] = nil }
            for user in saved {
                // What is not sent stays.
                let name = user.recordID.recordName
                wanted[name] = user["mail"]?.stringValue ?? held[name] ?? ""
            }
            let isAtomic = random.oneIn(2)
            let result = try await database.modifyRecords(
                saving: saved, deleting: deleted, savePolicy: .allKeys, atomically: isAtomic)
            let failed = saved.filter { result.saveResults[$0.recordID]?.code != nil }
            held = try await Self.mails(database)
            #expect(Self.areUnique(held))
            if Self.areUnique(wanted) {
                #expect(failed.isEmpty && held == wanted)
            } else {
                #expect(!failed.isEmpty)
            }
            for user in failed where !isAtomic {
                #expect(result.saveResults[user.recordID]?.code == .constraintViolation)
                var tried = held
                tried[user.recordID.recordName] = user["mail"]?.stringValue ?? ""
                #expect(!Self.areUnique(tried))
            }
        }
    }

    private static func areUnique(_ mails: [String: String]) -> Bool {
        let all = mails.values.filter { !$0.isEmpty }.map { $0.lowercased() }
        return Set(all).count == all.count
    }

    @Test func `of callers who want a value at once one gets it`() async throws {
        let (_, database) = try await Self.makeUsers()
        for round in 0..<20 {
            let codes = await withTaskGroup(of: StoreError.Code?.self) { group in
                for number in 0..<8 {
                    group.addTask {
                        let user = Self.user("r\(round)-\(number)", "same\(round)@x.org")
                        do throws(StoreError) {
                            try await database.save(user)
                            return nil
                        } catch {
                            return error.code
                        }
                    }
                }
                var codes: [StoreError.Code?] = []
                for await code in group { codes.append(code) }
                return codes
            }
            #expect(codes.count { $0 == nil } == 1)
            #expect(codes.count { $0 == .constraintViolation } == 7)
        }
    }

    @Test func `a long batch is judged like a short one`() async throws {
        let (_, database) = try await Self.makeUsers()
        let text = RecordValue.string(String(repeating: "x", count: 2000))
        var users = (0..<3000).map { number in
            var user = Self.user("u\(number)", "u\(number)@x.org")
            user["text"] = text
            return user
        }
        users.append(Self.user("last", "U17@x.org"))
        let failed = try await database.modifyRecords(saving: users, atomically: false)
        #expect(failed.saveResults[noteID("last")]?.code == .constraintViolation)
        #expect(failed.saveResults.values.count { $0.code != nil } == 1)
        #expect(try await Self.mails(database).count == 3001)
        users = try await database.allRecords(in: notes, type: "User").filter {
            $0.recordID.recordName != "ann"
        }
        let mails = users.map { $0["mail"] }
        for place in users.indices { users[place]["mail"] = mails[(place + 1) % mails.count] }
        let result = try await database.modifyRecords(saving: users)
        #expect(result.saveResults.values.allSatisfy { $0.code == nil })
        let first = try await database.record(for: users[0].recordID)
        #expect(first["mail"] == mails[1])
    }

    @Test func `an index over records that are not unique is not built, and says which they are`()
        async throws
    {
        let (container, database) = try await makeDatabase()
        try await database.saveAll(
            (0..<1000).map { Self.user("u\($0)", "\($0 < 998 ? $0 : $0 - 900)@x.org") })
        let error = await failure {
            try await container.addUniqueIndex(on: ["mail"], of: "User")
        }
        #expect(error.code == .constraintViolation)
        #expect(error.reason.hasPrefix("'mail' cannot be unique, 2 records have what another"))
        let pairs = Set(
            error.partialErrors.values.map { error -> Set<Record.ID> in
                guard case .duplicate(["mail"], let other?) = error.cause else { return [] }
                return Set(
                    [error.recordID, other].compactMap { $0?.recordName }.map { noteID($0) })
            })
        #expect(
            pairs == [[noteID("u98"), noteID("u998")], [noteID("u99"), noteID("u999")]])
        #expect(try await container.indexes().isEmpty)
        try await database.save(Self.user("more", "5@x.org"))
        for name in ["u998", "u99", "more"] {
            try await database.deleteRecord(withID: noteID(name))
        }
        let index = try await container.addUniqueIndex(on: ["mail"], of: "User")
        #expect(index.state == .complete && index.isUnique && index.fields == ["mail"])
        let again = try await container.addUniqueIndex(on: ["mail"], of: "User")
        #expect(again == index)
        try await container.removeIndex(index)
        try await database.save(Self.user("more", "5@x.org"))
    }

    @Test func `an index that is built on is not unique either`() async throws {
        let (container, database) = try await makeDatabase()
        try await database.saveAll(
            (0..<3000).map { Self.user("u\($0)", "\($0 < 2000 ? $0 : $0 - 2000)@x.org") })
        // Some of the rows are there then, or all.
        let first = try await interruptedIndex(of: container, pause: 20) {
            try await container.addUniqueIndex(on: ["mail"], of: "User")
        }
        guard case .failure(let error as StoreError) = first else { return #expect(Bool(false)) }
        // Two build it at once.
        let both = await withTaskGroup(of: StoreError?.self) { group in
            for _ in 0..<2 {
                group.addTask {
                    do throws(StoreError) {
                        try await container.addUniqueIndex(on: ["mail"], of: "User")
                        return nil
                    } catch {
                        return error
                    }
                }
            }
            return await group.reduce(into: [StoreError?]()) { $0.append($1) }
        }
        #expect(both.allSatisfy { $0 != nil })
        let reasons = both.compactMap { $0?.reason } + [error.reason]
        #expect(reasons.contains { $0.hasPrefix("'mail' cannot be unique, 1000 records") })
        #expect(try await container.indexes().isEmpty)
    }

    @Test func `of two unique indexes a save that fails under one takes nothing of the other`()
        async throws
    {
        let (_, database) = try await Self.makeUsers()
        // `x` wants the mail of `b`, and the name that `y` gets.
        let users = [
            Self.user("y", nil, name: ["Yan", "Roe"]),
            Self.user("x", "m@x.org", name: ["yan", "roe"]), Self.user("b", "M@x.org"),
        ]
        let result = try await database.modifyRecords(saving: users, atomically: false)
        #expect(
            users.map { result.saveResults[$0.recordID]?.code } == [nil, .constraintViolation, nil])
    }

    @Test func `where a long chain of saves cannot move up none does`() async throws {
        let (_, database) = try await Self.makeUsers()
        try await database.saveAll((0..<5000).map { Self.user("u\($0)", "u\($0)@x.org") })
        // Each wants what the next one has, and the last what `ann` has.
        let moved = (0..<5000).map { number in
            Self.user("u\(number)", number == 4999 ? "ann@x.org" : "u\(number + 1)@x.org")
        }
        let result = try await database.modifyRecords(
            saving: moved, savePolicy: .allKeys, atomically: false)
        #expect(result.saveResults.values.allSatisfy { $0.code == .constraintViolation })
        let last = result.saveResults[noteID("u4998")]
        guard case .failure(let error)? = last else { return }
        #expect(error.cause == .duplicate(fields: ["mail"], of: noteID("u4999")))
    }

    @Test func `what comes in while an index is built is judged, too`() async throws {
        let store = DiskStore()
        let container = try store.open()
        let database = container.privateDatabase(for: "alice")
        try await database.save(RecordZone(zoneID: notes))
        try await database.saveAll((0..<1000).map { Self.user("u\($0)", "\($0)@x.org") })
        _ = try await interruptedIndex(of: container, stop: store.disk.killProcesses) {
            try await container.addUniqueIndex(on: ["mail"], of: "User")
        }
        // Saved while the records of before have no rows yet.
        let second = try store.open()
        let reopened = second.privateDatabase(for: "alice")
        #expect(try await second.indexes().map(\.state) == [.building])
        try await reopened.save(Self.user("new", "x@x.org"))
        let error = await failure { try await reopened.save(Self.user("other", "X@x.org")) }
        #expect(error.cause == .duplicate(fields: ["mail"], of: noteID("new")))
        let taken = (0..<1000).map { Self.user("copy\($0)", "\($0)@x.org") }
        let copies = try await reopened.modifyRecords(saving: taken, atomically: false)
        let copied = copies.saveResults.values.count { $0.code == nil }
        if copied > 0 {
            let error = await failure { try await second.buildIndexes() }
            #expect(error.reason.hasPrefix("'mail' cannot be unique, \(copied) records"))
            #expect(error.partialErrors.count == min(copied, 100))
            #expect(try await second.indexes().isEmpty)
        } else {
            try await second.buildIndexes()
            #expect(try await second.indexes().map(\.state) == [.complete])
        }
        try await second.close()
    }

    @Test func `it holds after another opening, and with an index that was made anew`()
        async throws
    {
        let store = DiskStore()
        let container = try store.open()
        let database = container.privateDatabase(for: "alice")
        try await database.save(RecordZone(zoneID: notes))
        try await database.save(Self.user("a", "a@x.org"))
        try await container.addUniqueIndex(on: ["mail"], of: "User")
        try await database.save(Self.user("b", "b@x.org"))
        try await container.close()
        for round in 0..<2 {
            if round == 1 { try store.deleteIndex() }
            let again = try store.open()
            let reopened = again.privateDatabase(for: "alice")
            for name in ["a", "b"] {
                let error = await failure {
                    try await reopened.save(Self.user("c", "\(name.uppercased())@x.org"))
                }
                #expect(error.cause == .duplicate(fields: ["mail"], of: noteID(name)))
            }
            try await again.close()
        }
    }

    @Test func `a record does not move to where another one has its value`() async throws {
        let (_, database) = try await Self.makeUsers()
        try await database.save(Self.user("bob", "ann@x.org", in: Self.other))
        let error = await failure {
            try await database.moveRecords([noteID("bob", in: Self.other)], to: notes)
        }
        #expect(error.code == .constraintViolation)
        #expect(error.recordID == noteID("bob", in: Self.other))
        #expect(error.cause == .duplicate(fields: ["mail"], of: noteID("ann")))
        try await database.deleteRecord(withID: noteID("ann"))
        try await database.moveRecords([noteID("bob", in: Self.other)], to: notes)
        let late = await failure { try await database.save(Self.user("c", "ANN@x.org")) }
        #expect(late.cause == .duplicate(fields: ["mail"], of: noteID("bob")))
    }

    @Test func `a record that a caller may not read is not named`() async throws {
        let (fixture, _) = try await SharingFixture.shared()
        try await fixture.container.addUniqueIndex(on: ["n"], of: "Note")
        var a = try await fixture.bob.record(for: Record.ID(recordName: "a", zoneID: fixture.zone))
        a["n"] = 5
        let hidden = await failure { try await fixture.bob.save(a) }
        #expect(hidden.cause == .duplicate(fields: ["n"], of: nil))
        #expect(hidden.reason == "another record has the same value in 'n'")
        a["n"] = 4
        let seen = await failure { try await fixture.bob.save(a) }
        #expect(
            seen.cause
                == .duplicate(
                    fields: ["n"], of: Record.ID(recordName: "b", zoneID: fixture.zone)))
    }

    @Test func `values of each kind are told apart`() async throws {
        let (container, database) = try await makeDatabase()
        func thing(_ name: String, _ fields: [String: RecordValue]) -> Record {
            note(name, fields, type: "Thing")
        }
        let target = RecordValue.reference(Reference(recordID: noteID("t")))
        let values: [String: [RecordValue]] = [
            "number": [1, -1, 0, .int64(.max)], "size": [1.5, -0.5, 0.0, .double(.infinity)],
            "day": [.date(Date(timeIntervalSinceReferenceDate: 1)), .date(.distantPast)],
            "data": [.bytes(Data()), .bytes(Data([0])), .bytes(Data([0, 0]))],
            "link": [target, .reference(Reference(recordID: noteID("u")))],
            "text": ["", "a", "b", .string(String(repeating: "long ", count: 100))],
        ]
        for (field, all) in values {
            try await database.save(thing("first-\(field)", [field: all[0]]))
            try await container.addUniqueIndex(on: [field], of: "Thing")
            for (number, value) in all.enumerated().dropFirst() {
                try await database.save(thing("\(field)\(number)", [field: value]))
            }
            for value in all {
                let error = await failure {
                    try await database.save(thing("late", [field: value]))
                }
                #expect(error.code == .constraintViolation, "\(field)")
            }
        }
        // NaN equals no value, so two records may have it; both zeros are equal.
        try await database.save(thing("n1", ["size": .double(.nan)]))
        try await database.save(thing("n2", ["size": .double(.nan)]))
        let zero = await failure { try await database.save(thing("z", ["size": -0.0])) }
        #expect(zero.code == .constraintViolation)
        let list = await failure {
            try await database.save(thing("l", ["tags": ["a"]]))
            return try await container.addUniqueIndex(on: ["tags"], of: "Thing")
        }
        #expect(list.code == .invalidArguments)
    }

    @Test func `a query for all columns reads the rows of the values`() async throws {
        let (container, database) = try await Self.makeUsers()
        try await database.save(Self.user("bob", "bob@x.org", name: ["Ann", "Roe"]))
        let indexes = try await container.indexes()
        for (text, index, names) in [
            ("mail = 'ANN@x.org'", 0, ["ann"]),
            ("mail IN {'bob@x.org', 'ann@x.org'}", 0, ["ann", "bob"]),
            ("first = 'ann' AND last = 'roe'", 1, ["bob"]),
            ("last IN {'Roe', 'Fox'} AND first = 'ann'", 1, ["ann", "bob"]),
        ] {
            let query = Query(recordType: "User", predicate: try .init(text))
            #expect(try await database.explanation(of: query).index == indexes[index], "\(text)")
            let found = try await database.allRecords(matching: query, in: notes)
            #expect(found.map(\.recordID.recordName).sorted() == names, "\(text)")
        }
        for text in ["first = 'ann'", "mail != 'x'", "mail = nil", "mail BEGINSWITH 'a'"] {
            let query = Query(recordType: "User", predicate: try .init(text))
            #expect(try await database.explanation(of: query).index == nil, "\(text)")
        }
    }
}
