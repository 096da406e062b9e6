import FoundationEssentials
import Stratus
import Testing

/// Every type of value that a field may have: semantics 1.6.
@Suite struct ValueTests {
    struct Case: CustomTestStringConvertible, Sendable {
        var testDescription: String
        var value: RecordValue

        init(_ name: String, _ value: RecordValue) {
            testDescription = name
            self.value = value
        }
    }

    static let doubles: [Double] = [
        .nan, -.nan, .signalingNaN, .infinity, -.infinity, -0.0, 0, .leastNonzeroMagnitude,
        .greatestFiniteMagnitude, 0.1, 1e300,
    ]
    static let places = [
        Location(latitude: 90, longitude: -180),
        Location(
            latitude: -0.0, longitude: .nan, altitude: 8848.86, horizontalAccuracy: 5,
            verticalAccuracy: .infinity, course: 359.9, speed: 0.25,
            timestamp: Date(timeIntervalSinceReferenceDate: -1.5)),
    ]
    static let link = Reference(recordID: noteID("other"))

    static let single: [Case] =
        [
            Case("empty text", ""), Case("text", "Zürich, 東京, 👩‍👩‍👧, \u{0}, \r\n"),
            Case("decomposed text", "e\u{301}"), Case("composed text", "\u{e9}"),
            Case("1 MB of text", .string(String(repeating: "ab cd é", count: 131_072))),
            Case("no bytes", .bytes(Data())),
            Case("bytes of all values", .bytes(Data(0...255))),
            Case("300,000 bytes", .bytes(Data(repeating: 0xa5, count: 300_000))),
        ]
        + [Int64.min, Int64.min + 1, -64, -1, 0, 1, 63, 64, 1 << 32, .max].map {
            Case("integer \($0)", .int64($0))
        } + doubles.map { Case("number \($0)", .double($0)) }
        + (doubles + [-62_135_769_600, 252_423_993_599.999]).map {
            Case("date \($0)", .date(Date(timeIntervalSinceReferenceDate: $0)))
        } + places.map { Case("place \($0.latitude)", .location($0)) }
        + [Reference.Action.none, .deleteSelf, .validate].map {
            Case("reference \($0)", .reference(Reference(recordID: noteID("other"), action: $0)))
        }

    static let lists = [
        Case("empty list", []), Case("texts", ["", "a", "é"]), Case("integers", [1, -1]),
        Case("numbers", .list(doubles.map { .double($0) })),
        Case("dates", .list([.date(.distantPast), .date(.distantFuture)])),
        Case("byte strings", .list([.bytes(Data()), .bytes(Data([0, 255]))])),
        Case("places", .list(places.map { .location($0) })),
        Case("references", .list([.reference(link), .reference(link)])),
        Case("10,000 integers", .list((0..<10_000).map { .int64($0) })),
    ]

    @Test(arguments: single + lists)
    func `a value comes back to the bit, from memory, the feed and a reopened store`(
        of value: Case
    ) async throws {
        let store = DiskStore()
        let container = try store.open()
        let database = container.privateDatabase(for: "alice")
        try await database.save(RecordZone(zoneID: notes))
        try await database.save(note("other"))
        let saved = try await database.save(note("a", ["field": value.value]))
        #expect(areIdentical(saved["field"], value.value))
        #expect(saved.allKeys == ["field"])
        let fed = try await FollowedChanges(of: database).modified
        #expect(areIdentical(fed.last?["field"], value.value))
        try await container.close()
        let reopened = try store.open(creating: false).privateDatabase(for: "alice")
        let fetched = try await reopened.record(for: noteID("a"))
        #expect(areIdentical(fetched["field"], value.value))
    }

    @Test func `a record holds values of every kind at once, and none`() async throws {
        let (_, database) = try await makeDatabase()
        try await database.save(note("other"))
        var record = note("all")
        for (number, value) in (Self.single + Self.lists).enumerated() {
            record["field\(number)"] = value.value
        }
        try await database.save(record)
        let fetched = try await database.record(for: record.recordID)
        #expect(fetched.allKeys == record.allKeys)
        for key in record.allKeys { #expect(areIdentical(fetched[key], record[key]), "\(key)") }
        try await database.save(note("none"))
        #expect(try await database.record(for: noteID("none")).allKeys == [])
    }

    // Semantics 1.6: one element type, no nested lists.
    @Test(arguments: [
        Case("mixed list", ["a", 1]), Case("integer and number", .list([1, .double(1)])),
        Case("list of lists", [[1], [2]]), Case("list of empty lists", .list([[]])),
        Case(
            "reference to another zone",
            .reference(
                Reference(recordID: noteID("a", in: RecordZone.ID(zoneName: "other"))))),
        Case("list with a reference to another zone", [.reference(defaultLink)]),
    ])
    func `a value that no field can have is refused and nothing is saved`(
        of value: Case
    ) async throws {
        let (_, database) = try await makeDatabase()
        let error = await failure { try await database.save(note("a", ["f": value.value])) }
        #expect(error.code == .invalidArguments)
        #expect(error.recordID == noteID("a"))
        let missing = await failure { try await database.record(for: noteID("a")) }
        #expect(missing.code == .unknownItem)
    }

    static let defaultLink = Reference(recordID: noteID("a", in: .default))

    // C119.
    @Test func `a whole number reads as integer, number and truth`() {
        #expect(RecordValue.int64(1).doubleValue == 1)
        #expect(RecordValue.int64(1).boolValue == true)
        #expect(RecordValue.int64(0).boolValue == false)
        #expect(RecordValue.double(3).int64Value == 3)
        #expect(RecordValue.double(3.5).int64Value == nil)
        #expect(RecordValue.double(.nan).int64Value == nil)
        #expect(RecordValue.double(9.3e18).int64Value == nil)
        #expect(RecordValue.string("1").int64Value == nil)
        #expect(true == RecordValue.int64(1))
    }
}

/// The first save of a field fixes its type: semantics 1.6.
@Suite struct FieldTypeTests {
    static let kinds: [(String, RecordValue)] = [
        ("STRING", "a"), ("INT64", 1), ("DOUBLE", 1.5), ("TIMESTAMP", .date(Date.distantPast)),
        ("BYTES", .bytes(Data([1]))), ("LOCATION", .location(ValueTests.places[0])),
        ("REFERENCE", .reference(ValueTests.link)), ("STRING_LIST", ["a"]), ("INT64_LIST", [1]),
    ]

    @Test(arguments: kinds.indices)
    func `a field takes the type of its first save only, with both named in the error`(
        index: Int
    ) async throws {
        let (_, database) = try await makeDatabase()
        let (kind, first) = Self.kinds[index]
        try await database.save(note("first", ["field": first]))
        for (other, value) in Self.kinds where other != kind {
            let error = await failure {
                try await database.save(note("second", ["field": value]))
            }
            #expect(error.code == .invalidArguments)
            #expect(
                error.reason
                    == "invalid attempt to set value type \(other) for field 'field', "
                    + "defined to be: \(kind)")
        }
        try await database.save(note("second", ["field": first]))
        // Another type's field of the same name is another field.
        let (_, value) = Self.kinds[(index + 1) % Self.kinds.count]
        try await database.save(note("third", ["field": value], type: "Page"))
    }

    @Test func `one schema serves all databases of a store`() async throws {
        let (container, database) = try await makeDatabase()
        try await database.save(note("a", ["field": 1]))
        let error = await failure {
            try await container.publicDatabase(as: "bob").save(
                note("a", ["field": "text"], in: .default))
        }
        #expect(error.code == .invalidArguments)
    }

    // C121.
    @Test func `an empty list fixes no type, and any list may become empty`() async throws {
        let (_, database) = try await makeDatabase()
        try await database.save(note("a", ["field": []]))
        try await database.save(note("b", ["field": ["text"]]))
        try await database.save(note("c", ["field": []]))
        let error = await failure { try await database.save(note("d", ["field": [1]])) }
        #expect(error.code == .invalidArguments)
        try await database.save(note("e", ["single": 1]))
        let list = await failure { try await database.save(note("f", ["single": []])) }
        #expect(list.code == .invalidArguments)
    }

    @Test func `a save that fails fixes no type`() async throws {
        let (_, database) = try await makeDatabase()
        let result = try await database.modifyRecords(
            saving: [note("a", ["field": "text"]), note("_b", ["other": 1])])
        #expect(result.saveResults[noteID("a")]?.code == .batchRequestFailed)
        let single = await failure {
            try await database.save(note("c", ["field": "text", "mixed": ["a", 1]]))
        }
        #expect(single.code == .invalidArguments)
        try await database.save(note("a", ["field": 1, "other": "text"]))
    }

    @Test func `a batch that fails because two of its records disagree on a type fixes neither`()
        async throws
    {
        let (_, database) = try await makeDatabase()
        let result = try await database.modifyRecords(
            saving: [note("a", ["field": "text"]), note("b", ["field": 1])])
        #expect(result.saveResults[noteID("a")]?.code == .batchRequestFailed)
        #expect(result.saveResults[noteID("b")]?.code == .invalidArguments)
        try await database.save(note("b", ["field": 1]))
        #expect(try await database.allRecords().map(\.recordID) == [noteID("b")])
    }

    @Test func `the type holds after reopening`() async throws {
        let store = DiskStore()
        let container = try store.open()
        let database = container.privateDatabase(for: "alice")
        try await database.save(note("a", ["field": 1], in: .default))
        try await container.close()
        let reopened = try store.open(creating: false).privateDatabase(for: "alice")
        let error = await failure {
            try await reopened.save(note("b", ["field": "text"], in: .default))
        }
        #expect(error.code == .invalidArguments)
    }
}
