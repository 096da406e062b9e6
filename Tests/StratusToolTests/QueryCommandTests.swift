import Stratus
import StratusTool
import Testing

/// Finding records by the values of their fields.
@Suite struct QueryCommandTests {
    /// With three files of 3, 3 and 6 bytes in the zone `files`.
    private static func imported() async throws -> Place {
        let place = try Place()
        try place.write("three!", "tree/c.txt")
        try await place.importTree()
        return place
    }

    /// The lines that a query writes, each without the name, the type and the tag of the record.
    private static func lines(_ rest: String, in place: Place) async throws -> [String] {
        let run = try await place.run("query @/store \(rest)")
        #expect(run.code == .ok, "\(rest): \(run.messages)")
        return run.results.split(separator: "\n").map { line in
            let words = line.split(separator: " ")
            return words.dropFirst(3).joined(separator: " ")
        }
    }

    @Test func `records are listed in the order asked for, with the fields asked for`()
        async throws
    {
        let place = try await Self.imported()
        let shown = "File --zone files --fields name,size"
        let all = try await Self.lines(shown, in: place)
        #expect(all.sorted() == ["a.txt 3", "b.txt 3", "c.txt 6"])
        let named = try await Self.lines("\(shown) --sort name:desc", in: place)
        #expect(named == ["c.txt 6", "b.txt 3", "a.txt 3"])
        let sized = try await Self.lines("\(shown) --sort size:desc --sort name", in: place)
        #expect(sized == ["c.txt 6", "a.txt 3", "b.txt 3"])
        let limited = try await Self.lines("\(shown) --sort name:asc --limit 2", in: place)
        #expect(limited == ["a.txt 3", "b.txt 3"])
        let missing = try await Self.lines("Link --zone files --fields name,size,target", in: place)
        #expect(missing == ["link - a.txt"])
        // As `records` lists them.
        let listed = try await place.run("records @/store --zone files --type File")
        #expect(try await place.run("query @/store File --zone files").results == listed.results)
    }

    @Test func `the last record comes first with --reverse`() async throws {
        let place = try await Self.imported()
        let shown = "File --zone files --fields name,size"
        let all = try await Self.lines(shown, in: place)
        #expect(try await Self.lines("\(shown) --reverse", in: place) == all.reversed())
        #expect(try await Self.lines("\(shown) --reverse -n 1", in: place) == [all[2]])
        let sized = try await Self.lines(
            "\(shown) --sort size:desc --sort name --reverse", in: place)
        #expect(sized == ["b.txt 3", "a.txt 3", "c.txt 6"])
        let last = try await Self.lines("\(shown) --sort name --reverse -n 1", in: place)
        #expect(last == ["c.txt 6"])
        #expect(try await place.run("query @/store File --count --reverse").code == .usage)
    }

    @Test func `pages of records are turned around as a whole`() async throws {
        let place = try Place()
        let container = try await Container.open(
            at: place.path + "/store", creating: true, durability: .none)
        let database = container.privateDatabase(for: Invocation.defaultUser)
        let zone = try await database.save(RecordZone(zoneName: "notes")).zoneID
        let records = (0..<2_100).map {
            Record(recordType: "Note", recordID: Record.ID(recordName: "n\($0)", zoneID: zone))
        }
        let saved = try await database.modifyRecords(saving: records)
        #expect(saved.partialFailure == nil)
        try await container.close()
        let all = try await place.run("query @/store Note").results.split(separator: "\n")
        #expect(all.count == 2_100)
        let reversed = try await place.run("query @/store Note --reverse")
        #expect(reversed.results.split(separator: "\n") == all.reversed())
        let few = try await place.run("query @/store Note --reverse -n 150")
        #expect(few.results.split(separator: "\n") == all.suffix(150).reversed())
    }

    @Test(arguments: [
        ("size>3", ["c.txt"]), ("size=3", ["a.txt", "b.txt"]), ("name='A.TXT'", ["a.txt"]),
        ("size>2&&name!='a.txt'", ["b.txt", "c.txt"]), ("NOT(size=6)", ["a.txt", "b.txt"]),
        ("name='a.txt'||size>3", ["a.txt", "c.txt"]), ("creationDate<now()", nil),
        ("missing=1", []), ("missing=nil", ["a.txt", "b.txt", "c.txt"]),
    ])
    func `a predicate says which records are found`(
        predicate: String, names: [String]?
    ) async throws {
        let place = try await Self.imported()
        let found = try await Self.lines(
            "File \(predicate) --zone files --fields name --sort name", in: place)
        #expect(found == names ?? ["a.txt", "b.txt", "c.txt"])
    }

    @Test func `as JSON a record has the fields that are asked for`() async throws {
        let place = try await Self.imported()
        let run = try await place.run(
            "query @/store File size=6 --zone files --fields name,size", json: true)
        #expect(run.code == .ok)
        let output = try await place.run("query @/store File size=6 --zone files", json: true)
        let lines = output.results.split(separator: "\n")
        #expect(lines.count == 1 && lines[0].hasPrefix(#"{"type":"record","recordName":""#))
        #expect(lines[0].contains(#""sha256":{"value":"#))
        #expect(
            run.results.contains(
                #""fields":{"name":{"value":"c.txt","type":"STRING"},"#
                    + #""size":{"value":6,"type":"INT64"}},"#), "\(run.results)")
    }

    @Test func `without a zone all of the database are asked, and each record says its own`()
        async throws
    {
        let place = try await Self.imported()
        #expect(try await place.run("import @/tree @/store --zone again").code == .ok)
        let found = try await Self.lines("File size=6 --fields name", in: place)
        #expect(found.sorted() == ["again c.txt", "files c.txt"])
        let again = try await Self.lines("File size=6 --zone again --fields name", in: place)
        #expect(again == ["c.txt"])
        #expect(try await place.run("query @/store File --zone none").code == .notFound)
        #expect(try await Self.lines("Unknown", in: place) == [])
        #expect(try await Self.lines("File --database public", in: place) == [])
    }

    @Test func `more records than a page has are all listed`() async throws {
        let place = try Place()
        for number in 0..<1100 { try place.write("x", "tree/n\(number)") }
        try await place.importTree()
        let found = try await place.run("query @/store File size=1 --sort name")
        #expect(found.results.split(separator: "\n").count == 1100)
        let limited = try await place.run("query @/store File size=1 --limit 1050")
        #expect(limited.results.split(separator: "\n").count == 1050)
    }

    @Test func `more records than a page has come in the order asked for, in all zones`()
        async throws
    {
        let place = try Place()
        for number in 0..<700 {
            try place.write(String(repeating: "x", count: 1 + number % 3), "tree/n\(number)")
        }
        try await place.importTree()
        #expect(try await place.run("import @/tree @/store --zone again").code == .ok)
        // The tree has two files of its own.
        let expected = ((0..<700).map { ($0 % 3 + 1, "n\($0)") } + [(3, "a.txt"), (3, "b.txt")])
            .sorted { ($1.0, $0.1) < ($0.0, $1.1) }.map { "\($0.1) \($0.0)" }
        let found = try await Self.lines(
            "File --fields name,size --sort size:desc --sort name", in: place)
        #expect(found.count == 1404)
        // Of equal ones that comes first whose zone was made first.
        #expect(found == expected.flatMap { ["files \($0)", "again \($0)"] })
        let limited = try await Self.lines(
            "File --fields name,size --sort size:desc --sort name --limit 1100", in: place)
        #expect(limited == Array(found.prefix(1100)))
        let zone = try await Self.lines(
            "File size>1 --zone again --fields name,size --sort size:desc --sort name", in: place)
        #expect(zone == expected.filter { !$0.hasSuffix(" 1") })
        let page = try await Self.lines("File --sort size:desc --sort name --limit 3", in: place)
        #expect(page == ["files", "again", "files"])
    }

    @Test func `records are counted and their values added up`() async throws {
        let place = try await Self.imported()
        #expect(try await place.run("query @/store File --count").results == "3\n")
        #expect(try await place.run("query @/store File size=3 --count").results == "2\n")
        let json = try await place.run("query @/store File --count --zone files", json: true)
        #expect(json.results == #"{"type":"count","count":3}"# + "\n")
        let total = try await place.run("query @/store File --total size", json: true)
        #expect(
            total.results
                == #"{"type":"totals","field":"size","count":3,"valueCount":3,"#
                + #""sum":{"value":12,"type":"INT64"},"minimum":{"value":3,"type":"INT64"},"#
                + #""maximum":{"value":6,"type":"INT64"}}"# + "\n")
        let text = try await place.run("query @/store File --total name").results
        #expect(
            text.split(separator: "\n").map { $0.split(separator: " ").joined(separator: " ") }
                == ["records 3", "values 3", "sum none", "minimum a.txt", "maximum c.txt"])
        let none = try await place.run("query @/store File size>9 --total size", json: true)
        #expect(none.results.hasSuffix(#""count":0,"valueCount":0}"# + "\n"))
    }

    @Test(arguments: [
        ("File size>>3", "line 1, column 6: "), ("File size>%@", "line 1, column 6: "),
        ("File size>'a'", "Field 'size' has a value type of INT64"),
        ("Users", "records of the type Users cannot be queried"),
        ("File --sort size:up", "--sort takes"), ("File --sort :desc", "--sort takes"),
        ("File --sort a:b:desc", "--sort takes"), ("File --sort contents", "not marked sortable"),
        ("File --fields name,", "--fields takes"), ("File --limit 0", "--limit takes"),
        ("File --count --limit 1", "--limit does not go with them"),
        ("File --total size --sort size", "--sort does not go with them"),
        ("File size>3 extra", "unexpected argument"),
    ])
    func `a query that cannot be asked is a wrong command line`(
        rest: String, message: String
    ) async throws {
        let place = try await Self.imported()
        do {
            let run = try await place.run("query @/store \(rest)")
            #expect(run.code == .usage && run.results.isEmpty)
            #expect(run.messages.contains(message), "\(run.messages)")
        } catch let error as ToolError {
            // Of what the parser of the command line refuses.
            #expect(error.code == .usage && error.message.contains(message))
        }
    }

    @Test func `the past is queried as the present is`() async throws {
        let place = try await Self.imported()
        #expect(try await place.run("mark @/store before").code == .ok)
        try place.write("changed", "tree/c.txt")
        #expect(try await place.run("import @/tree @/store --zone files").code == .ok)
        let now = try await Self.lines("File size>6 --fields name --zone files", in: place)
        #expect(now == ["c.txt"])
        #expect(try await Self.lines("File size>6 --at mark:before", in: place) == [])
        let before = try await place.run("query @/store File --total size --at mark:before")
        #expect(before.results.contains("12\n"))
    }
}
