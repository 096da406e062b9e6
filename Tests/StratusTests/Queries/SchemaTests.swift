import Stratus
import Testing

/// The schema of a store as text, and what an import makes of it.
@Suite struct SchemaTests {
    private static let text = """
        DEFINE SCHEMA
            CREATE ROLE Curator;
            RECORD TYPE Boat (
                "___createTime" TIMESTAMP QUERYABLE SORTABLE,
                name STRING QUERYABLE SORTABLE SEARCHABLE,
                berths INT64 QUERYABLE,
                draught NUMBER SORTABLE,
                length NUMBER PREFERRED AS DOUBLE,
                mooring LOCATION QUERYABLE,
                tags LIST<STRING> QUERYABLE,
                key ENCRYPTED BYTES,
                GRANT WRITE TO "_creator",
                GRANT CREATE TO "_icloud",
                GRANT READ TO "_world",
                GRANT READ, CREATE, WRITE TO Curator
            );
        """

    private static func boat(_ name: String, _ fields: [String: RecordValue]) -> Record {
        note(name, fields, type: "Boat")
    }

    @Test func `a schema that was imported is exported as it was`() async throws {
        let (container, _) = try await makeDatabase()
        let changes = try await container.importSchema(Self.text)
        #expect(changes.contains("add record type 'Boat'"))
        let exported = try await container.schema()
        #expect(try await container.importSchema(exported) == [])
        for words in [
            "CREATE ROLE Curator", "STRING QUERYABLE SEARCHABLE SORTABLE", "INT64 QUERYABLE",
            "NUMBER SORTABLE", "NUMBER PREFERRED AS DOUBLE", "LOCATION QUERYABLE",
            "LIST<STRING> QUERYABLE", "ENCRYPTED BYTES", "TIMESTAMP QUERYABLE SORTABLE",
        ] {
            #expect(exported.contains(words), "\(words)")
        }
        #expect(try await container.schema() == exported)
    }

    @Test func `types and fields are those of the schema, also in production`() async throws {
        for environment in [Container.Environment.development, .production] {
            let container = try Container.inMemory(environment: environment)
            let database = container.privateDatabase(for: "alice")
            if environment == .production {
                let error = await failure { try await container.importSchema(Self.text) }
                #expect(error.code == .invalidArguments)
                #expect(try await container.indexes().isEmpty)
            }
            try await container.deploySchema(Self.text)
            try await database.save(RecordZone(zoneID: notes))
            try await database.save(Self.boat("a", ["name": "A", "berths": 4, "length": 1.5]))
            let wrong = await failure {
                try await database.save(Self.boat("b", ["length": 2, "name": "B"]))
            }
            #expect(wrong.code == .invalidArguments)
            let query = Query(recordType: "Boat", predicate: try .init("name = 'a'"))
            #expect(try await database.allRecords(matching: query).count == 1)
            #expect(try await database.explanation(of: query).index?.fields == ["name"])
            guard environment == .production else { continue }
            let unknown = await failure {
                try await database.save(Self.boat("c", ["colour": "red"]))
            }
            #expect(unknown.code == .invalidArguments)
            // What no import said of the kind of numbers, production does not decide.
            let open = await failure { try await database.save(Self.boat("d", ["draught": 1])) }
            #expect(open.code == .invalidArguments)
        }
    }

    @Test func `an import declares indexes, builds them, and removes what it does not name`()
        async throws
    {
        let (container, database) = try await makeDatabase()
        try await database.saveAll(
            (0..<600).map {
                Self.boat("r\($0)", ["name": .string("N\($0)"), "berths": .int64(Int64($0))])
            })
        let before = try await container.schema()
        #expect(before.contains("name") && !before.contains("QUERYABLE"))
        try await container.importSchema(Self.text)
        let indexes = try await container.indexes()
        #expect(
            Set(indexes.map { "\($0.fields[0]) \($0.options.map(\.rawValue).sorted())" }) == [
                #"name ["QUERYABLE"]"#, #"name ["SORTABLE"]"#,
                #"berths ["QUERYABLE", "SORTABLE"]"#, #"draught ["QUERYABLE", "SORTABLE"]"#,
                #"tags ["QUERYABLE"]"#, #"name ["SEARCHABLE"]"#, #"mooring ["QUERYABLE"]"#,
                #"___createTime ["QUERYABLE", "SORTABLE"]"#,
            ])
        #expect(indexes.allSatisfy { $0.state == .complete })
        let query = Query(recordType: "Boat", predicate: try .init("berths = 7"))
        #expect(try await database.explanation(of: query).index?.fields == ["berths"])
        #expect(try await database.allRecords(matching: query).count == 1)
        let less = Self.text.replacing("berths INT64 QUERYABLE", with: "berths INT64")
        let changes = try await container.importSchema(less)
        #expect(changes == ["make field 'Boat.berths' no longer QUERYABLE"])
        #expect(try await database.explanation(of: query).index == nil)
        #expect(try await database.allRecords(matching: query).count == 1)
    }

    private static let people = """
        DEFINE SCHEMA
            RECORD TYPE Person (
                mail STRING, // stratus: UNIQUE
                name STRING,
                born TIMESTAMP,
                GRANT WRITE TO "_creator"
            );
            // stratus: INDEX byName ON Person (name, born DESC)
        """

    @Test func `indexes on several fields and unique ones come with the text, and go with it`()
        async throws
    {
        let (container, database) = try await makeDatabase()
        let changes = try await container.importSchema(Self.people)
        #expect(changes.contains { $0.contains("unique index 'Person_mail'") })
        let indexes = try await container.indexes()
        #expect(indexes.map(\.fields) == [["mail"], ["name", "born"]])
        #expect(indexes.map(\.isUnique) == [true, false])
        let exported = try await container.schema()
        for line in [
            "// stratus: UNIQUE Person_mail ON Person (mail)",
            "// stratus: INDEX byName ON Person (name, born DESC)",
        ] {
            #expect(exported.contains(line))
        }
        #expect(try await container.importSchema(exported) == [])
        #expect(try await container.indexes() == indexes)
        try await database.save(note("a", ["mail": "a@x.org"], type: "Person"))
        let error = await failure {
            try await database.save(note("b", ["mail": "A@x.org"], type: "Person"))
        }
        #expect(error.cause == .duplicate(fields: ["mail"], of: noteID("a")))
        // One that no text has named gets a name of its own.
        try await container.addIndex(on: ["mail", "born"], of: "Person")
        let named = try await container.schema()
        #expect(named.contains("// stratus: INDEX index_2 ON Person (mail, born)"))
        #expect(try await container.importSchema(named) == [])
        let less = Self.people.replacing(" // stratus: UNIQUE", with: "")
        #expect(
            try await container.importSchema(less).sorted() == [
                "remove index 'index_2' on record type 'Person' (mail, born)",
                "remove unique index 'Person_mail' on record type 'Person' (mail)",
            ])
        try await database.save(note("b", ["mail": "A@x.org"], type: "Person"))
        let again = await failure { try await container.importSchema(Self.people) }
        #expect(again.code == .constraintViolation)
        #expect(again.reason.contains(/[ab]: record '[ab]' has the same value in 'mail'/))
        #expect(try await !container.schema().contains("UNIQUE"))
        #expect(try await container.indexes().map(\.fields) == [["name", "born"]])
    }

    @Test func `an import that would lose data changes nothing and says what`() async throws {
        let (container, database) = try await makeDatabase()
        try await container.importSchema(Self.text)
        try await database.save(Self.boat("a", ["colour": "red"]))
        let before = try await container.schema()
        #expect(before.contains("colour"))
        for (text, reason) in [
            (Self.text, "remove field 'Boat.colour': its data would be lost"),
            (
                before.replacing("berths", with: "beds"),
                "remove field 'Boat.berths': its data would be lost"
            ),
            (before.replacing("Boat", with: "Ship"), "remove record type 'Boat'"),
        ] {
            let error = await failure { try await container.importSchema(text) }
            #expect(error.code == .invalidArguments && error.reason.hasPrefix(reason))
            #expect(try await container.schema() == before)
        }
    }

    @Test func `what is no schema is refused with its place`() async throws {
        let (container, _) = try await makeDatabase()
        for text in [
            "DEFINE SCHEMA\n  RECORD TIPE A ();", "DEFINE SCHEMA\n  RECORD TYPE A (x FOO);",
        ] {
            let error = await failure { try await container.importSchema(text) }
            #expect(error.code == .invalidArguments && error.textPlace?.line == 2)
            _ = #expect(throws: StoreError.self) { try Container.validateSchema(text) }
        }
        try Container.validateSchema(Self.text)
    }
}
