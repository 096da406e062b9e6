import Stratus
import Support
import Testing

/// The power goes while the schema is changed and indexes are built, dropped and replaced: no record is
/// lost, and what is left of the indexes, once they are built, finds what a look at all records finds.
struct SchemaCrashTests {
    /// What records hold, by their names.
    private typealias Content = [String: [String: RecordValue]]

    private struct Work {
        /// What was acknowledged after each step, and how many calls of the disk were made by then.
        var states: [(call: Int, content: Content)] = []
        var points: [CrashPoint] = []

        /// What may be there after a crash at a call: what was acknowledged, or one commit more.
        func possible(at call: Int) -> [Content] {
            let count = states.count { $0.call <= call }
            return states[(count - 1)...].prefix(2).map(\.content)
        }
    }

    private static let zone = RecordZone.ID(zoneName: "notes")
    private static let count = 450
    private static let texts = ["", "Oslo", "oslo", "OSLO", "Bergen", "b", "Straße", "strasse"]

    private static let early = """
        DEFINE SCHEMA
        RECORD TYPE Note (
            "___createTime" TIMESTAMP SORTABLE,
            code STRING,
            n INT64 QUERYABLE,
            tags LIST<STRING>,
            text STRING QUERYABLE SORTABLE SEARCHABLE
        );
        // stratus: INDEX both ON Note (text, n)
        // stratus: UNIQUE codes ON Note (code)
        """
    private static let late = """
        DEFINE SCHEMA
        RECORD TYPE Note (
            code STRING QUERYABLE,
            n INT64 SORTABLE,
            tags LIST<STRING> QUERYABLE,
            text STRING QUERYABLE SORTABLE
        );
        // stratus: COLLATION BINARY ON Note (text, tags)
        // stratus: INDEX both ON Note (n, text)
        """

    private static func store(on disk: SimulatedDisk) -> SmallStore {
        SmallStore(on: disk, seed: Campaign.seed)
    }

    private static func record(_ number: Int, _ round: Int) -> Record {
        var record = Record(
            recordType: "Note",
            recordID: Record.ID(recordName: "r\(number)", zoneID: zone))
        let text = texts[(number + round) % texts.count]
        record["n"] = .int64(Int64((number * 7 + round) % 50))
        record["code"] = .string("code \(number)")
        record["text"] = .string(text)
        record["tags"] = .list([.string(text), .string("tag \(number % 3)")])
        return record
    }

    private static func records(_ container: Container) async throws -> [Record] {
        let database = container.privateDatabase(for: "alice")
        var found: [Record] = []
        var cursor: RecordPage.Cursor?
        repeat {
            let page = try await database.records(
                inZoneWith: zone, resultsLimit: 1000, from: cursor)
            found += page.records
            cursor = page.cursor
        } while cursor != nil
        return found
    }

    /// A field that a migration gives another name counts under its first one.
    private static func content(of records: [Record]) -> Content {
        var content: Content = [:]
        for record in records {
            var fields: [String: RecordValue] = [:]
            for key in record.allKeys { fields[key == "number" ? "n" : key] = record[key] }
            content[record.recordID.recordName] = fields
        }
        return content
    }
}

// The work.
extension SchemaCrashTests {
    /// Saves and deletions between the steps that change the schema.
    private static func save(_ container: Container, _ round: Int) async throws {
        let database = container.privateDatabase(for: "alice")
        let result = try await database.modifyRecords(
            saving: (0..<30).map { record(($0 * 11 + round * 5) % count, round) },
            deleting: [Record.ID(recordName: "r\(count - round)", zoneID: zone)],
            savePolicy: .allKeys)
        if let failure = result.partialFailure { throw failure }
    }

    private static func change(_ container: Container, _ number: Int) async throws {
        switch number {
        case 0: try await container.importSchema(early)
        case 1: try await container.addIndex(on: "tags", of: "Note", .searchable)
        case 2: try await container.importSchema(late)
        case 3: try await container.addUniqueIndex(on: ["code", "n"], of: "Note")
        case 4: try await container.setCollation(.folded, of: "text", ofRecordType: "Note")
        case 5:
            // Values of another kind would be other records: those of the past stay as they are.
            try await container.migrate(
                "Note", [.rename("n", to: "number")], asHost: "host")
        case 6:
            for index in try await container.indexes() where index.options == [.sortable] {
                try await container.removeIndex(index)
            }
        case 7: try await container.checkpoint()
        default: try await container.maintenance.compact()
        }
    }

    private static let changes = 9

    private static func work() async throws -> Work {
        let disk = SimulatedDisk()
        let store = store(on: disk)
        let first = try store.open()
        let database = first.privateDatabase(for: "alice")
        try await database.save(RecordZone(zoneID: zone))
        let result = try await database.modifyRecords(saving: (0..<count).map { record($0, 0) })
        if let failure = result.partialFailure { throw failure }
        try await first.close()
        disk.killProcesses()
        disk.keepsCrashPoints = true
        let container = try store.open()
        var work = Work()
        work.states.append((0, content(of: try await records(container))))
        for number in 0..<changes {
            if number > 0, number < 6 { try await save(container, number) }
            // Reading makes no call that changes the disk.
            work.states.append((disk.callCount, content(of: try await records(container))))
            try await change(container, number)
        }
        work.points = disk.crashPoints
        try await container.close()
        return work
    }
}

// After a crash.
extension SchemaCrashTests {
    /// A query, and whether a record satisfies it where case counts in the field or does not.
    private struct Question: Sendable {
        let text: String
        let holds: @Sendable ([String: RecordValue], Bool) -> Bool

        init(_ text: String, _ holds: @escaping @Sendable ([String: RecordValue], Bool) -> Bool) {
            self.text = text
            self.holds = holds
        }
    }

    private static let questions = [
        Question("text = 'Oslo'") { equal($0["text"], "Oslo", $1) },
        Question("text = 'STRASSE'") { equal($0["text"], "STRASSE", $1) },
        Question("number < 20") { fields, _ in number(fields) < 20 },
        Question("text = 'oslo' AND number BETWEEN {5, 30}") { fields, seesCase in
            equal(fields["text"], "oslo", seesCase) && 5...30 ~= number(fields)
        },
        Question("code = 'Code 7'") { fields, _ in fields["code"] == .string("code 7") },
        Question("tags CONTAINS 'OSLO'") { fields, seesCase in
            fields["tags"]?.listValue?.contains { equal($0, "OSLO", seesCase) } == true
        },
        Question("self CONTAINS 'bergen'") { fields, _ in equal(fields["text"], "bergen", false) },
    ]

    private static func number(_ fields: [String: RecordValue]) -> Int64 {
        fields["n"]?.int64Value ?? .max
    }

    private static func equal(_ value: RecordValue?, _ text: String, _ seesCase: Bool) -> Bool {
        guard let found = value?.stringValue else { return false }
        if seesCase { return found == text }
        func folded(_ text: String) -> String { text.lowercased().replacing("ß", with: "ss") }
        return folded(found) == folded(text)
    }

    /// Opens the store after a crash at `point` and looks at it. Returns what is wrong.
    private static func problem(
        after point: CrashPoint, seed: UInt64, of work: Work, isThorough: Bool
    ) async throws -> String? {
        let store = store(on: point.crashed(seed: seed))
        let container = try store.open()
        let found = content(of: try await records(container))
        guard work.possible(at: point.call).contains(found) else { return "other records" }
        // What was declared is built; that of records amid a migration, too.
        try await container.buildIndexes()
        guard try await container.indexes().allSatisfy({ $0.state == .complete }) else {
            return "an index is not complete"
        }
        try await container.migrate("Note", [.rename("n", to: "number")], asHost: "host")
        if let problem = try await problem(in: found, container) { return problem }
        guard isThorough else { return nil }
        try await container.close()
        let findings = try store.verification().findings.filter { $0.severity == .damage }
        if !findings.isEmpty { return "\(findings)" }
        // Made anew of the journal, they find the same.
        try store.loseIndex()
        let rebuilt = try store.open()
        let problem = try await problem(in: found, rebuilt)
        try await rebuilt.close()
        return problem.map { "\($0), with an index made anew" }
    }

    private static func problem(
        in content: Content, _ container: Container
    ) async throws -> String? {
        let database = container.privateDatabase(for: "alice")
        let type = try await container.recordTypes().first { $0.name == "Note" }
        for question in questions {
            let text = question.text
            let predicate = try Query.Predicate(text)
            let field = text.hasPrefix("tags") ? "tags" : "text"
            let seesCase = type?.fields.first { $0.name == field }?.collation == .binary
            let expected = content.filter { question.holds($0.value, seesCase) }.keys
            var names: [String] = []
            var cursor: QueryPage.Cursor?
            repeat {
                let page = try await database.records(
                    matching: Query(recordType: "Note", predicate: predicate), inZoneWith: zone,
                    from: cursor)
                names += page.records.map(\.recordID.recordName)
                cursor = page.cursor
            } while cursor != nil
            if names.sorted() != expected.sorted() {
                return "\(text) finds \(names.count), not \(expected.count)"
            }
        }
        return nil
    }

    @Test(arguments: 0..<2)
    func `after a crash at any call indexes are built and find what there is`(
        part: Int
    ) async throws {
        let work = try await Self.work()
        #expect(work.points.count > 50)
        var problems: [String] = []
        var random = SeededGenerator(seed: Campaign.seed &+ UInt64(part))
        for number in 0..<Campaign.schemaCrashes / 2 where problems.count < 5 {
            let point = work.points[random.below(work.points.count)]
            let seed = random.next()
            do {
                let problem = try await Self.problem(
                    after: point, seed: seed, of: work, isThorough: number % 10 == 0)
                if let problem { problems.append("call \(point.call), seed \(seed): \(problem)") }
            } catch {
                problems.append("call \(point.call), seed \(seed): \(error)")
            }
        }
        #expect(problems == [])
    }
}
