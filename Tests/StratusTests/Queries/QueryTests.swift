import FoundationEssentials
import Stratus
import Support
import Testing

extension FieldKeys {
    fileprivate var name: FieldKey<String> { FieldKey("name") }
    fileprivate var berths: FieldKey<Int> { FieldKey("berths") }
    fileprivate var draught: FieldKey<Double> { FieldKey("draught") }
    fileprivate var launched: FieldKey<Date> { FieldKey("launched") }
    fileprivate var mooring: FieldKey<Location> { FieldKey("mooring") }
    fileprivate var tags: FieldKey<[String]> { FieldKey("tags") }
    fileprivate var harbour: FieldKey<Reference> { FieldKey("harbour") }
}

@Suite struct QueryTests {
    private static func makeBoats() async throws -> (container: Container, database: Database) {
        let (container, database) = try await makeDatabase()
        func boat(_ name: String, _ fields: [String: RecordValue]) -> Record {
            note(name, fields, type: "Boat")
        }
        try await database.saveAll([
            boat("oslo", ["name": "Oslo", "berths": 4, "draught": 1.5, "tags": ["red", "old"]]),
            boat("bergen", ["name": "bergen", "berths": 6, "tags": ["blue"]]),
            boat(
                "bodo",
                [
                    "name": "Bodø Star", "berths": 2,
                    "mooring": .location(Location(latitude: 67.28, longitude: 14.4)),
                    "launched": .date(Date(timeIntervalSinceReferenceDate: 1000)),
                ]),
            boat(
                "tromso",
                [
                    "name": "Tromsø", "draught": 2.0,
                    "mooring": .location(Location(latitude: 69.65, longitude: 18.96)),
                    "harbour": .reference(Reference(recordID: noteID("quay"))),
                ]),
            note("quay", ["name": "Quay"], type: "Harbour"),
        ])
        return (container, database)
    }

    private static func names(
        _ predicate: Query.Predicate, sort: [Query.SortDescriptor] = [],
        in database: Database
    ) async throws -> [String] {
        let query = Query(recordType: "Boat", predicate: predicate, sortDescriptors: sort)
        let names = try await database.allRecords(matching: query, in: notes)
            .map(\.recordID.recordName)
        return sort.isEmpty ? names.sorted() : names
    }

    @Test func `typed fields and text say the same`() async throws {
        let (container, database) = try await Self.makeBoats()
        let center = Location(latitude: 67, longitude: 14)
        let quay = Reference(recordID: noteID("quay"))
        let alice = container.userRecordID(for: "alice")
        let cases: [(typed: Query.Predicate, text: Query.Predicate, names: [String])] = [
            (.all, try Query.Predicate("TRUEPREDICATE"), ["bergen", "bodo", "oslo", "tromso"]),
            (.none, try Query.Predicate("FALSEPREDICATE"), []),
            (.init { $0.name == "OSLO" }, try .init("name = 'oslo'"), ["oslo"]),
            (
                .init { $0.name != "oslo" }, try .init("name != %@", "oslo"),
                ["bergen", "bodo", "tromso"]
            ),
            (
                .init { $0.berths > 2 && $0.berths < 6 }, try .init("berths > 2 AND berths < 6"),
                ["oslo"]
            ),
            (
                .init { $0.berths <= 2 || $0.berths >= 6 }, try .init("berths <= 2 OR berths >= 6"),
                ["bergen", "bodo"]
            ),
            (.init { $0.berths.isIn([2, 4]) }, try .init("berths IN {2, 4}"), ["bodo", "oslo"]),
            (
                .init { $0.draught.isBetween(1, 1.5) }, try .init("draught BETWEEN {1, 1.5}"),
                ["oslo"]
            ),
            (.init { !($0.draught > 1.6) }, try .init("NOT draught > 1.6"), ["oslo"]),
            (.init { $0.draught.isMissing }, try .init("draught = nil"), ["bergen", "bodo"]),
            (.init { $0.name.hasPrefix("b") }, try .init("name BEGINSWITH 'b'"), ["bergen"]),
            (.init { $0.name.hasSuffix("ø") }, try .init("name ENDSWITH 'ø'"), ["tromso"]),
            (
                .init { $0.name.contains("o") }, try .init("name CONTAINS 'o'"),
                ["bodo", "oslo", "tromso"]
            ),
            (.init { $0.name.isLike("?s*") }, try .init("name LIKE '?s*'"), ["oslo"]),
            (.init { $0.tags.contains("RED") }, try .init("tags CONTAINS 'red'"), ["oslo"]),
            (
                .init { $0.tags.containsAny(of: ["blue", "old"]) },
                try .init("ANY tags IN {'blue', 'old'}"), ["bergen", "oslo"]
            ),
            (
                .init { $0.tags.containsAll(of: ["red", "old"]) },
                try .init("tags CONTAINS 'red' AND tags CONTAINS 'old'"), ["oslo"]
            ),
            (
                .init { $0.tags.containsPrefix("bl") }, try .init("ANY tags BEGINSWITH 'bl'"),
                ["bergen"]
            ),
            (
                .init { $0.mooring.isWithin(kilometres: 100, of: center) },
                try .init("distanceToLocation:fromLocation:(mooring, %@) < 100", center), ["bodo"]
            ),
            (
                .init { $0.search("star oslo") }, try .init("self CONTAINS 'star oslo'"),
                ["bodo", "oslo"]
            ),
            (
                .init { $0.search("old oslo", needsAll: true) },
                try .init("self CONTAINS 'old' AND self CONTAINS 'oslo'"), ["oslo"]
            ),
            (.init { $0.harbour == quay }, try .init("harbour = %@", quay), ["tromso"]),
            (
                .init { $0.recordID == noteID("oslo") }, try .init("recordID = %@", noteID("oslo")),
                ["oslo"]
            ),
            (
                .init { $0.launched <= Date(timeIntervalSinceReferenceDate: 1000) },
                try .init("launched < now()"), ["bodo"]
            ),
            (
                .init { $0.creatorUserRecordID == alice },
                try .init("creatorUserRecordID = %@ AND creationDate <= now()", alice),
                ["bergen", "bodo", "oslo", "tromso"]
            ),
        ]
        for (typed, text, names) in cases {
            #expect(try await Self.names(typed, in: database) == names, "\(typed)")
            #expect(try await Self.names(text, in: database) == names, "\(text)")
        }
    }
    @Test func `records are sorted, missing values first, and those alike in one order`()
        async throws
    {
        let (_, database) = try await Self.makeBoats()
        func sorted(_ sort: Query.SortDescriptor...) async throws -> [String] {
            try await Self.names(.all, sort: sort, in: database)
        }
        #expect(
            try await sorted(.init(key: "name")) == ["bergen", "bodo", "oslo", "tromso"])
        #expect(
            try await sorted(.init(key: "berths")) == ["tromso", "bodo", "oslo", "bergen"])
        #expect(
            try await sorted(.init(key: "berths", ascending: false))
                == ["bergen", "oslo", "bodo", "tromso"])
        let north = Location(latitude: 90, longitude: 0)
        let far = try await sorted(.init(key: "mooring", relativeLocation: north))
        #expect(far.suffix(2) == ["tromso", "bodo"])
        let alike = try await sorted(.init(key: "mooring", relativeLocation: north))
        #expect(alike == far)
        #expect(
            try await sorted(.init(key: "recordID", ascending: false))
                == ["tromso", "oslo", "bodo", "bergen"])
    }

    @Test func `what cannot be asked is refused by name`() async throws {
        let (_, database) = try await Self.makeBoats()
        var secret = note("secret", type: "Boat")
        secret.encryptedValues["code"] = "1234"
        secret["data"] = .bytes(Data([1]))
        try await database.save(secret)
        func reason(
            _ predicate: Query.Predicate = .all, sort: String? = nil, type: String = "Boat"
        ) async -> String {
            let query = Query(
                recordType: type, predicate: predicate,
                sortDescriptors: sort.map { [.init(key: $0)] } ?? [])
            let error = await failure { try await database.records(matching: query) }
            #expect(error.code == .invalidArguments)
            return error.reason
        }
        #expect(await reason(type: "") == "a query needs a record type")
        #expect(await reason(type: "Users") == "records of the type Users cannot be queried")
        #expect(
            await reason(
                .init { $0.berths == 1 } && .init { _ in FieldKey<String>("harbour") == "x" })
                == "Field 'harbour' has a value type of REFERENCE and cannot be queried using "
                + "filter value type STRING")
        let code = try Query.Predicate("code = 'x'")
        #expect(
            await reason(code)
                == "Field 'code' is encrypted and cannot be queried (at byte 0 of the predicate)")
        for field in ["tags", "data", "mooring", "harbour", "code"] {
            #expect(await reason(sort: field) == "Field '\(field)' is not marked sortable")
        }
        let error = #expect(throws: StoreError.self) { try Query.Predicate("berths >") }
        #expect(error?.code == .invalidArguments)
        #expect(error?.reason.contains("line 1, column") == true)
        let missing = await failure {
            try await database.records(
                matching: Query(recordType: "Boat"), inZoneWith: .init(zoneName: "missing"))
        }
        #expect(missing.code == .zoneNotFound)
    }

    @Test func `the service's profile answers what the service answers`() async throws {
        let container = try Container.inMemory(profile: .cloudKit)
        let database = container.privateDatabase(for: "alice")
        try await database.save(note("a", ["name": "A"], in: .default))
        let forms = [
            "name = 'a' OR name = 'b'", "name CONTAINS 'a'", "name LIKE 'a*'", "name = nil",
            "NOT (name = 'a' AND name = 'b')", "name ENDSWITH 'a'",
        ]
        for form in forms {
            let query = Query(recordType: "Note", predicate: try Query.Predicate(form))
            let error = await failure { try await database.records(matching: query) }
            #expect(error.code == .invalidArguments, "\(form)")
            #expect(error.reason.contains("is not supported by CloudKit"), "\(form)")
        }
        let query = Query(recordType: "Note", predicate: try Query.Predicate("name = 'a'"))
        #expect(try await database.records(matching: query).records.count == 1)
    }

    @Test func `a type that a store of production does not have is an error`() async throws {
        let query = Query(recordType: "Ship")
        for environment in [Container.Environment.development, .production] {
            let container = try Container.inMemory(environment: environment)
            let database = container.privateDatabase(for: "alice")
            if environment == .development {
                #expect(try await database.records(matching: query).records.isEmpty)
            } else {
                let error = await failure { try await database.records(matching: query) }
                #expect(error.code == .unknownItem)
                #expect(error.reason == "Did not find record type: Ship")
            }
        }
    }

    @Test func `a cursor is good for its query, its caller and its store`() async throws {
        let (container, database) = try await Self.makeBoats()
        let query = Query(recordType: "Boat", sortDescriptors: [.init(key: "name")])
        let page = try await database.records(
            matching: query, inZoneWith: notes, resultsLimit: 1)
        let cursor = try #require(page.cursor)
        #expect(try QueryPage.Cursor(data: cursor.data) == cursor)
        #expect(QueryPage.Cursor(cursor.description) == cursor)
        var other = query
        other.predicate = try Query.Predicate("berths > 1")
        let stranger = container.privateDatabase(for: "bob")
        try await stranger.save(RecordZone(zoneID: notes))
        let elsewhere = try await Self.makeBoats().database
        let calls: [(Database, Query, RecordZone.ID?)] = [
            (database, other, notes), (database, query, nil), (stranger, query, notes),
            (elsewhere, query, notes),
        ]
        for (database, query, zone) in calls {
            let error = await failure {
                try await database.records(matching: query, inZoneWith: zone, from: cursor)
            }
            #expect(error.code == .invalidArguments)
        }
        for place in cursor.data.indices {
            var data = cursor.data
            data[place] ^= 0x10
            let error = #expect(throws: StoreError.self) { try QueryPage.Cursor(data: data) }
            #expect(error?.place?.kind.hasPrefix("cursor.") == true)
            _ = #expect(throws: StoreError.self) {
                try QueryPage.Cursor(data: cursor.data.prefix(place))
            }
        }
    }

    @Test func `a snapshot pages through what was there`() async throws {
        let (container, database) = try await Self.makeBoats()
        let query = Query(
            recordType: "Boat", sortDescriptors: [.init(key: "berths", ascending: false)])
        let before = try await database.allRecords(matching: query)
        let snapshot = container.snapshot()
        let past = snapshot.privateDatabase(for: "alice")
        var found: [Record] = []
        var cursor: QueryPage.Cursor?
        repeat {
            let page = try past.records(
                matching: query, inZoneWith: notes, resultsLimit: 1, from: cursor)
            found += page.records
            cursor = page.cursor
            for record in found { try await database.deleteRecord(withID: record.recordID) }
        } while cursor != nil
        #expect(found == before)
        #expect(try past.totals(matching: query).count == 4)
        #expect(try await database.allRecords(matching: query) == [])
    }

    @Test func `totals are those of the records that a query finds`() async throws {
        let (_, database) = try await Self.makeBoats()
        let all = Query(recordType: "Boat")
        let berths = try await database.totals(of: "berths", matching: all)
        #expect(berths.count == 4)
        #expect(berths.valueCount == 3)
        #expect(berths.sum == 12)
        #expect(berths.minimum == 2)
        #expect(berths.maximum == 6)
        let names = try await database.totals(of: "name", matching: all)
        #expect(names.sum == nil)
        #expect(names.minimum == "bergen")
        #expect(names.maximum == "Tromsø")
        let large = note("large", ["berths": .int64(.max)], type: "Boat")
        try await database.save(large)
        let sum = try await database.totals(of: "berths", matching: all).sum
        #expect(sum == .double(Double(Int64.max) + 12))
    }

    @Test func `a page ends before it grows beyond what is good to hold`() async throws {
        let (_, database) = try await makeDatabase()
        let text = RecordValue.string(String(repeating: "x", count: 1 << 20))
        for number in 0..<20 {
            try await database.save(note("r\(number)", ["text": text, "n": .int64(Int64(number))]))
        }
        for sort in [[], [Query.SortDescriptor(key: "n", ascending: false)]] {
            let query = Query(recordType: "Note", sortDescriptors: sort)
            let page = try await database.records(matching: query)
            #expect(page.records.count == 7)
            #expect(try await database.allRecords(matching: query).count == 20)
        }
    }

    @Test func `desired keys are all that a page shows`() async throws {
        let (_, database) = try await Self.makeBoats()
        let query = Query(recordType: "Boat", predicate: .init { $0.name == "oslo" })
        let record = try await database.records(matching: query, desiredKeys: ["berths"])
            .records[0]
        #expect(record.allKeys == ["berths"])
    }
}
