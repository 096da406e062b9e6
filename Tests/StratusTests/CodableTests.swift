import FoundationEssentials
import Stratus
import Testing

@Suite struct CodableTests {
    enum Color: String, Codable { case red, green }
    enum Level: Int, Codable { case low = 1, high }

    struct Everything: Codable, Equatable {
        var text = "Zürich"
        var int = -1
        var int8 = Int8.min
        var int16 = Int16.max
        var int32 = Int32.min
        var int64 = Int64.max
        var uint = UInt(1)
        var uint8 = UInt8.max
        var uint16 = UInt16.max
        var uint32 = UInt32.max
        var uint64 = UInt64(Int64.max)
        var yes = true
        var no = false
        var double = 0.1
        var float = Float(0.1)
        var date = Date(timeIntervalSinceReferenceDate: 1.25)
        var data = Data(0...255)
        var uuid = UUID()
        var url = URL(string: "https://example.org/a?b=c")
        var link = Reference(recordID: noteID("other"), action: .deleteSelf)
        var place = Location(latitude: 1, longitude: 2, altitude: 3)
        var value = RecordValue.list([1, 2])
        var color = Color.green
        var level = Level.high
        var some: String? = "some"
        var none: Int?
        var noValue: RecordValue?
        var texts = ["a", ""]
        var numbers = [1.5, -0.0]
        var flags = [true, false]
        var dates = [Date.distantPast]
        var blobs = [Data(), Data([1])]
        var links = [Reference(recordID: noteID("other"))]
        var colors = [Color.red, .green]
        var uuids = [UUID()]
        var empty: [Int] = []
        var set: Set<Int> = [3]
        var maybe: [Int]? = [1]
    }

    @Test func `a value of every supported kind of property comes back from the store`()
        async throws
    {
        let (_, database) = try await makeDatabase()
        let value = Everything()
        let record = try Record(encoding: value, recordType: "All", recordID: noteID("a"))
        #expect(record.recordType == "All" && record.recordID == noteID("a"))
        #expect(try record.decode(Everything.self) == value)
        try await database.save(record)
        let fetched = try await database.record(for: noteID("a"))
        #expect(try fetched.decode(Everything.self) == value)
        #expect(fetched["none"] == nil && fetched["noValue"] == nil)
    }

    @Test func `properties lie in the record as the values they are`() throws {
        let value = Everything()
        let record = try Record(encoding: value, recordType: "All")
        #expect(record["yes"] == 1)
        #expect(record["float"] == .double(Double(Float(0.1))))
        #expect(record["uuid"] == .string(value.uuid.uuidString))
        #expect(record["url"] == "https://example.org/a?b=c")
        #expect(record["color"] == "green")
        #expect(record["level"] == 2)
        #expect(record["value"] == [1, 2])
        #expect(record["flags"] == [true, false])
        #expect(record["empty"] == [])
        #expect(record["data"] == .bytes(value.data))
        #expect(record["date"] == .date(value.date))
        #expect(record["link"] == .reference(value.link))
        #expect(record["place"] == .location(value.place))
    }

    @Test func `encoding what the record has changes no key`() async throws {
        let (_, database) = try await makeDatabase()
        var value = Everything()
        let record = try Record(encoding: value, recordType: "All", recordID: noteID("a"))
        var saved = try await database.save(record)
        try saved.encode(value)
        #expect(saved.changedKeys == [])
        value.int = 5
        value.some = nil
        value.texts = ["a", "b"]
        value.none = 1
        try saved.encode(value)
        #expect(saved.changedKeys == ["int", "none", "some", "texts"])
        let again = try await database.save(saved)
        #expect(again["some"] == nil && again["int"] == 5)
        #expect(try again.decode(Everything.self) == value)
    }

    struct Number: Codable { var value: Double }
    struct Text: Codable { var value: String }

    @Test func `values that are equal and not the same are changes`() async throws {
        let (_, database) = try await makeDatabase()
        var number = try await database.save(
            Record(encoding: Number(value: 0), recordType: "Number", recordID: noteID("n")))
        try number.encode(Number(value: -0.0))
        #expect(number.changedKeys == ["value"])
        number["value"] = .double(.nan)
        number = try await database.save(number)
        try number.encode(Number(value: .nan))
        #expect(number.changedKeys == [])
        var text = try await database.save(
            Record(encoding: Text(value: "e\u{301}"), recordType: "Text", recordID: noteID("t")))
        try text.encode(Text(value: "e\u{301}"))
        #expect(text.changedKeys == [])
        try text.encode(Text(value: "\u{e9}"))
        #expect(text.changedKeys == ["value"])
    }

    @Test func `nil removes no field that a partial fetch left in the store`() async throws {
        struct Both: Codable {
            var first: Int?
            var second: Int?
        }
        let (_, database) = try await makeDatabase()
        try await database.save(note("a", ["first": 1, "second": 2, "unknown": 3]))
        var partial = try await database.record(for: noteID("a"), desiredKeys: ["first"])
        var both = try partial.decode(Both.self)
        #expect(both.first == 1 && both.second == nil)
        both.first = nil
        try partial.encode(both)
        #expect(partial.changedKeys == ["first"])
        #expect(try await database.save(partial).allKeys == ["second", "unknown"])
    }

    // C119.
    @Test func `numbers are read as whatever number the property is`() throws {
        struct Whole: Codable, Equatable { var one, two, three: Int }
        struct Broken: Codable, Equatable { var one, two, three: Double }
        struct Small: Codable, Equatable { var one, two, three: UInt8 }
        struct Truth: Codable, Equatable { var one: Bool }
        var record = note("a", ["one": 1, "two": 2.0, "three": .int64(300)])
        #expect(try record.decode(Whole.self) == Whole(one: 1, two: 2, three: 300))
        #expect(try record.decode(Broken.self) == Broken(one: 1, two: 2, three: 300))
        #expect(try record.decode(Truth.self) == Truth(one: true))
        try record.encode(Broken(one: 1, two: 2, three: 300))
        #expect(record["one"] == 1, "the same number stays what it is")
        record["two"] = 2.5
        record["one"] = 2
        #expect(throws: StoreError.self) { try record.decode(Whole.self) }
        #expect(throws: StoreError.self) { try record.decode(Small.self) }
        #expect(throws: StoreError.self) { try record.decode(Truth.self) }
        record["one"] = 0.0
        #expect(try record.decode(Truth.self) == Truth(one: false))
    }

    struct Inner: Codable { var name = "x" }
    struct Nested: Codable { var deep = Inner() }
    struct NestedList: Codable { var deep = [Inner()] }
    struct NestedDictionary: Codable { var deep = ["a": 1] }
    struct ListOfLists: Codable { var deep = [[1]] }
    struct ListWithNil: Codable { var deep: [Int?] = [1, nil] }
    struct TooLarge: Codable { var deep = UInt64.max }
    struct TooSmall: Codable { var deep = Int128.min }
    struct LargeInList: Codable { var deep: [UInt64] = [0, .max] }
    struct Empty: Codable {}
    struct EmptyInside: Codable { var deep = Empty() }

    @Test(
        arguments: [
            Nested(), NestedList(), NestedDictionary(), ListOfLists(), ListWithNil(), TooLarge(),
            TooSmall(), LargeInList(), EmptyInside(),
        ] as [any Encodable & Sendable])
    func `a property that cannot be a field is named, and nothing is set`(
        value: any Encodable & Sendable
    ) async {
        var record = note("a", ["deep": "old"])
        let error = await failure { try record.encode(value) }
        #expect(error.code == .invalidArguments)
        #expect(error.reason.hasPrefix("deep: "))
        #expect(record["deep"] == "old")
    }

    @Test func `only a value with properties can be a record`() async {
        for value in [1, "text", [1], Color.red] as [any Encodable] {
            let error = await failure { try Record(encoding: value, recordType: "Note") }
            #expect(error.code == .invalidArguments)
            #expect(error.reason.hasPrefix("the value: "))
        }
        let record = note("a", ["field": 1])
        #expect(throws: StoreError.self) { try record.decode(Int.self) }
        #expect(throws: StoreError.self) { try record.decode([Int].self) }
    }

    @Test func `a field that is missing or of another kind is named`() async {
        let record = note("a", ["value": "text"])
        let kind = await failure { try record.decode(Number.self) }
        #expect(kind.code == .invalidArguments)
        #expect(kind.reason == "value: this STRING cannot be read as Double")
        #expect(kind.recordID == noteID("a"))
        let missing = await failure { try note("b").decode(Number.self) }
        #expect(missing.code == .invalidArguments)
        #expect(missing.reason == "value: the record has no such field")
        let nested = await failure { try note("c", ["deep": "x"]).decode(Nested.self) }
        #expect(nested.reason.hasPrefix("deep: "))
        struct List: Decodable { var value: [Int] }
        let list = await failure { try record.decode(List.self) }
        #expect(list.reason.hasPrefix("value: "))
        struct Shade: Decodable { var value: Color }
        let shade = await failure { try record.decode(Shade.self) }
        #expect(shade.code == .invalidArguments)
    }

    @Test func `identities and values are Codable elsewhere too`() throws {
        struct Kept: Codable, Equatable {
            var record = noteID("a", in: RecordZone.ID(zoneName: "z", ownerName: "_o"))
            var zone = notes
            var link = Reference(recordID: noteID("b"), action: .validate)
            var place = Location(latitude: 1, longitude: 2)
            var values: [RecordValue] = [
                "a", 1, 1.5, .date(.distantPast), .bytes(Data([1])), [1, 2], [],
                .location(Location(latitude: 1, longitude: 2)),
                .reference(Reference(recordID: noteID("b"))),
            ]
        }
        let data = try JSONEncoder().encode(Kept())
        #expect(try JSONDecoder().decode(Kept.self, from: data) == Kept())
    }
}
