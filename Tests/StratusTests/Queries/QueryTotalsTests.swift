import FoundationEssentials
import Stratus
import Support
import Testing

/// Totals are the same from the rows of an index and from the records.
@Suite struct QueryTotalsTests {
    private static let other = RecordZone.ID(zoneName: "other")

    /// Records with numbers of each kind, some without, some deleted, and names that another type took.
    private static func makeStore() async throws -> (container: Container, database: Database) {
        let (container, database) = try await makeDatabase()
        try await database.save(RecordZone(zoneID: other))
        var random = SeededGenerator(seed: 77)
        for zone in [notes, other] {
            try await database.saveAll(
                (0..<400).map { number in
                    var record = note("r\(number)", in: zone)
                    if !random.oneIn(5) {
                        record["n"] = .int64(
                            random.oneIn(9)
                                ? [.min, .max, 0][random.below(3)] : Int64(random.below(50)) - 25)
                    }
                    if !random.oneIn(5) {
                        record["x"] = .double(
                            [-1.5, -0.0, 0, 2.25, .infinity, -.infinity, 1e300][random.below(7)])
                    }
                    if !random.oneIn(5) {
                        record["day"] = .date(
                            Date(timeIntervalSinceReferenceDate: Double(random.below(9)) - 4))
                    }
                    return record
                })
            try await database.save(
                note(
                    "nan",
                    [
                        "x": .double(.nan), "n": 1,
                        "day": .date(Date(timeIntervalSinceReferenceDate: .nan)),
                    ], in: zone))
            for number in stride(from: 0, to: 400, by: 7) {
                try await database.deleteRecord(withID: noteID("r\(number)", in: zone))
            }
            try await database.save(note("r0", ["n": 3], type: "Task", in: zone))
        }
        return (container, database)
    }

    @Test func `with an index and without, of one zone and of all`() async throws {
        let (container, database) = try await Self.makeStore()
        var asked: [(text: String, field: String?)] = [("TRUEPREDICATE", nil)]
        for field in ["n", "x", "day"] { asked.append(("TRUEPREDICATE", field)) }
        for text in [
            "n = 3", "n < 0", "n <= 0", "n > 0", "n >= 0", "n != 0", "n BETWEEN {-3, 3}",
            "n BETWEEN {3, -3}", "n > -10 AND n < 10", "n > 2.5", "n < 3.0",
            "n >= 3 AND n <= 3 AND TRUEPREDICATE", "n > 9 AND n < 3",
            "n > -9223372036854775808", "n >= 9223372036854775807", "n = nil", "n IN {1, 2}",
        ] {
            asked += [(text, nil), (text, "n"), (text, "x")]
        }
        for text in ["x < 0", "x <= 0", "x > 0", "x >= 0", "x = 0", "x > 2", "x != 0", "x = nil"] {
            asked += [(text, nil), (text, "x")]
        }
        var expected: [QueryTotals] = []
        for indexed in [false, true] {
            if indexed {
                for field in ["n", "x", "day"] {
                    try await container.addIndex(on: field, of: "Note", .sortable)
                }
            }
            var found: [QueryTotals] = []
            for (text, field) in asked {
                let query = Query(recordType: "Note", predicate: try .init(text))
                for zone in [nil, notes] {
                    found.append(
                        try await database.totals(of: field, matching: query, inZoneWith: zone))
                    let records = try await database.allRecords(matching: query, in: zone)
                    #expect(found.last?.count == records.count, "\(text)")
                    let values = field.map { field in records.compactMap { $0[field] } } ?? []
                    #expect(found.last?.valueCount == values.count, "\(text)")
                }
            }
            if indexed {
                for (place, (left, right)) in zip(expected, found).enumerated() {
                    let (text, field) = asked[place / 2]
                    #expect(left.count == right.count && left.minimum == right.minimum, "\(text)")
                    #expect(left.maximum == right.maximum, "\(text) \(field ?? "")")
                    #expect(Self.areClose(left.sum, right.sum), "\(text) \(field ?? "")")
                }
            }
            expected = found
        }
        let snapshot = container.snapshot().privateDatabase(for: "alice")
        let query = Query(recordType: "Note", predicate: try .init("n > 0"))
        let before = try snapshot.totals(of: "n", matching: query)
        try await database.save(note("late", ["n": 7]))
        #expect(try snapshot.totals(of: "n", matching: query) == before)
        #expect(
            try await database.totals(matching: query, inZoneWith: nil).count == before.count + 1)
    }

    /// Sums of the same numbers in another order may differ in their last digits.
    private static func areClose(_ left: RecordValue?, _ right: RecordValue?) -> Bool {
        guard let left = left?.doubleValue, let right = right?.doubleValue else {
            return left == right
        }
        return left.isNaN && right.isNaN || left == right
            || (left - right).magnitude <= 1e-9 * left.magnitude
    }

    @Test func `of what a caller does not see nothing is counted`() async throws {
        let (fixture, _) = try await SharingFixture.shared()
        try await fixture.container.addIndex(on: "n", of: "Note", .queryable)
        let all = Query(recordType: "Note", predicate: try .init("n >= 0"))
        let totals = try await fixture.bob.totals(of: "n", matching: all, inZoneWith: fixture.zone)
        #expect(totals.count == 4 && totals.sum == 10)
        let own = try await fixture.alice.totals(of: "n", matching: all, inZoneWith: notes)
        #expect(own.count == 7 && own.sum == 21)
    }
}
