import FoundationEssentials
import Stratus
import StratusTool
import Testing

/// Records made, changed, deleted, counted and found by hand.
@Suite struct EditTests {
    /// With the zone `files` of the user `local`, and a declared type in it.
    private static func imported() async throws -> Place {
        let place = try Place()
        try place.write(
            """
            DEFINE SCHEMA
                RECORD TYPE Note (
                    title STRING, size INT64, weight DOUBLE, due TIMESTAMP, data BYTES,
                    place LOCATION, next REFERENCE, file ASSET, tags LIST<STRING>,
                    numbers LIST<INT64>,
                    secret ENCRYPTED STRING, secrets LIST<ENCRYPTED INT64>, count NUMBER
                );
            """, "schema.ckdb")
        // Of an empty store a schema can be anything.
        try FileManager.default.createDirectory(
            atPath: place.path + "/empty", withIntermediateDirectories: true)
        #expect(try await place.run("import @/empty @/store --zone files").code == .ok)
        #expect(try await place.run("schema import @/store @/schema.ckdb").code == .ok)
        try await place.importTree()
        return place
    }

    private static func put(_ rest: String, in place: Place) async throws -> ExitCode {
        try await place.run("put @/store \(rest) --zone files").code
    }

    /// The same of one field of a record, whose value may have spaces.
    private static func put(value text: String, in place: Place) async -> ExitCode {
        await Tool.stratus.run(
            [
                "put", place.path + "/store", "n1", text, "--zone", "files", "--type", "Note", "-o",
                "/dev/null",
            ], Surroundings())
    }

    private static func shown(_ name: String, in place: Place) async throws -> String {
        try await place.run("show @/store \(name) --zone files", json: true).results
    }

    @Test func `a record is made with values of the types that the schema has`() async throws {
        let place = try await Self.imported()
        let put = try await place.run(
            """
            put @/store n1 title=5 size=5 weight=5 due=2026-01-31T12:00:00Z data=aGk= place=1.5,-2 \
            next=n2 file=@/tree/a.txt tags=red tags=blue numbers=1 extra=7 more:int64=7 \
            secret=s secrets=1 secrets=2 count=1.5 \
            --zone files --type Note
            """, json: true)
        #expect(put.code == .ok, "\(put.messages)")
        let shown = try await Self.shown("n1", in: place)
        #expect(shown == put.results)
        for part in [
            #""title":{"value":"5","type":"STRING"}"#, #""size":{"value":5,"type":"INT64"}"#,
            #""weight":{"value":5.0,"type":"DOUBLE"}"#,
            #""due":{"value":1769860800000,"type":"TIMESTAMP"}"#,
            #""data":{"value":"aGk=","type":"BYTES"}"#, #""place":{"value":{"latitude":1.5,"#,
            #""next":{"value":{"recordName":"n2","action":"NONE""#, #""size":3},"type":"ASSETID"}"#,
            #""tags":{"value":["red","blue"],"type":"STRING_LIST"}"#,
            #""numbers":{"value":[1],"type":"INT64_LIST"}"#,
            #""secret":{"value":"s","type":"STRING","isEncrypted":true}"#,
            #""secrets":{"value":[1,2],"type":"INT64_LIST","isEncrypted":true}"#,
            #""count":{"value":1.5,"type":"DOUBLE"}"#,
            #""extra":{"value":"7","type":"STRING"}"#, #""more":{"value":7,"type":"INT64"}"#,
        ] {
            #expect(shown.contains(part), "\(part) in \(shown)")
        }
    }

    @Test func `a new field is a list where its type says so, or it is given again`() async throws {
        let place = try await Self.imported()
        #expect(
            try await Self.put("n1 new=a new=b one:int64[]=7 --type Note", in: place) == .ok)
        let shown = try await Self.shown("n1", in: place)
        #expect(shown.contains(#""new":{"value":["a","b"],"type":"STRING_LIST"}"#), "\(shown)")
        #expect(shown.contains(#""one":{"value":[7],"type":"INT64_LIST"}"#), "\(shown)")
        #expect(try await Self.put("n1 new=c", in: place) == .ok)
        #expect(try await Self.shown("n1", in: place).contains(#""new":{"value":["c"],"#))
        #expect(try await Self.put("n1 title=a title=b", in: place) == .usage)
        for wrong in ["more:list=1", "more:int64[=1", "more:=1", ":int64=1"] {
            let run = try await place.run("put @/store n1 \(wrong) --zone files")
            #expect(
                run.code == .usage && run.messages.contains("one of the types string, int64"),
                "\(run)")
        }
    }

    @Test func `a value that could only stand for another one is refused`() async throws {
        let place = try await Self.imported()
        for wrong in [
            "due=2026-02-30T00:00:00Z", "due=2026-01-01T25:30:00Z", "due=2026-01-01T00:60:00Z",
            "due=2026-13-01T00:00:00Z", "due=today", "due=1e400 s", "due=nan s", "weight=1e400",
            "weight=1e-400", "place=91,0", "place=0,-180.5", "place=nan,0",
        ] {
            #expect(await Self.put(value: wrong, in: place) == .usage, "\(wrong)")
        }
        for right in [
            "due=2024-02-29T23:59:59.5Z", "due=2026-01-01T00:30:00+01:00",
            "due=2026-01-01T00:30:00+01", "due=1890-01-01T00:00:00+00:19:32",
            "due=2026-01-01T00:30:00-0130", "due=2026-01-01T00:30:00z", "due=1795444200.5 s",
            "weight=inf", "weight=-0.0", "weight=0e-400", "place=-90,180",
        ] {
            #expect(await Self.put(value: right, in: place) == .ok, "\(right)")
        }
    }

    /// Times that a text with milliseconds does not hold.
    @Test(arguments: [1_769_860_800.123_456_7, -62_135_769_600, 1e300, 0.1])
    func `what is got of a time is that time when it is put`(seconds: Double) async throws {
        let place = try await Self.imported()
        #expect(await Self.put(value: "due=\(seconds) s", in: place) == .ok)
        let got = try await place.run("get @/store n1 due --zone files").results.dropLast()
        let shown = try await Self.shown("n1", in: place)
        #expect(await Self.put(value: "due=2026-01-01T00:00:00Z", in: place) == .ok)
        #expect(await Self.put(value: "due=\(got)", in: place) == .ok)
        func field(_ shown: String) -> Substring? {
            shown.split(separator: #""due":"#).last?.prefix { $0 != "}" }
        }
        #expect(field(try await Self.shown("n1", in: place)) == field(shown), "\(got)")
    }

    @Test func `a user, a type or a field that no one has is named`() async throws {
        let place = try await Self.imported()
        for line in ["zones", "hash", "types", "dump", "info", "query Note", "log", "changes"] {
            let words = line.split(separator: " ")
            let rest = words.dropFirst().joined(separator: " ")
            let run = try await place.run("\(words[0]) @/store \(rest) --as lcoal")
            #expect(
                run.code == .notFound && run.messages.contains("the store has no user lcoal"),
                "\(line): \(run)")
        }
        // The public database may be read by users whom the store does not know.
        #expect(try await place.run("zones @/store --database public --as lcoal").code == .ok)
        let type = try await place.run("query @/store Nope")
        #expect(type.code == .ok && type.messages.contains("no record type Nope"), "\(type)")
        let field = try await place.run(
            "query @/store Note titel==1 --zone files --sort sise --sort modificationDate")
        #expect(field.messages.contains("the record type Note has no field titel"), "\(field)")
        #expect(field.messages.contains("the record type Note has no field sise"))
        #expect(!field.messages.contains("modificationDate"))
        #expect(try await place.run("query @/store Note size>1 --zone files").messages.isEmpty)
    }

    @Test func `what is put can be got, and put again as it was written`() async throws {
        let place = try await Self.imported()
        let values = [
            ("title", "';_rm'"), ("size", "-5"), ("weight", "1.5"),
            ("due", "2026-01-31T12:00:00.000Z"), ("data", "aGk="), ("place", "1.5,-2.0"),
            ("next", "n2"),
        ]
        func put(_ name: String, _ values: [(String, String)]) async throws -> ExitCode {
            let fields = values.map { "\($0)=\($1)" }
            let line = "\(name) \(fields.joined(separator: " ")) --type Note"
            return try await Self.put(line, in: place)
        }
        #expect(try await put("n1", values + [("tags", "red"), ("tags", "blue")]) == .ok)
        var again: [(String, String)] = []
        for (field, value) in values {
            let run = try await place.run("get @/store n1 \(field) --zone files")
            #expect(run.code == .ok && run.results == value + "\n")
            again.append((field, String(run.results.dropLast())))
        }
        let tags = try await place.run("get @/store n1 tags --zone files")
        #expect(tags.code == .ok && tags.results == "red\nblue\n")
        #expect(try await put("n3", again + [("tags", "red"), ("tags", "blue")]) == .ok)
        #expect(
            try await Self.shown("n3", in: place).contains(
                #""due":{"value":1769860800000,"type":"TIMESTAMP"}"#))
        let json = try await place.run("get @/store n1 size --zone files", json: true)
        #expect(
            json.results
                == #"{"type":"field","fieldName":"size","field":{"value":-5,"type":"INT64"}}"#
                + "\n"
        )
    }

    @Test func `a value that is not there, and one that is no text, are named`() async throws {
        let place = try await Self.imported()
        #expect(try await Self.put("n1 title=x file=@/tree/a.txt --type Note", in: place) == .ok)
        let missing = try await place.run("get @/store n1 size --zone files")
        #expect(missing.code == .notFound && missing.messages.contains("size"))
        let nowhere = try await place.run("get @/store n9 title --zone files")
        #expect(nowhere.code == .notFound)
        let asset = try await place.run("get @/store n1 file --zone files")
        #expect(asset.code == .usage && asset.messages.contains("stratus asset"))
        #expect(missing.results + nowhere.results + asset.results == "")
    }

    @Test func `of a record that is there only the named fields change`() async throws {
        let place = try await Self.imported()
        #expect(try await Self.put("n1 title=one size=1 weight=1 --type Note", in: place) == .ok)
        #expect(try await Self.put("n2 --type Note", in: place) == .ok)
        #expect(
            try await Self.put("n1 size=2 title= --unset weight --parent n2", in: place) == .ok)
        let shown = try await Self.shown("n1", in: place)
        #expect(shown.contains(#""title":{"value":"","type":"STRING"}"#))
        #expect(shown.contains(#""size":{"value":2,"type":"INT64"}"#))
        #expect(!shown.contains("weight"))
        #expect(shown.contains(#""parent":{"recordName":"n2"}"#))
    }

    @Test(arguments: [
        ("n1 --type Other size=1", ExitCode.usage), ("n1", .usage), ("n1 size=x", .usage),
        ("n1 size", .usage), ("n1 =x", .usage), ("n1 size=1 size=2", .usage),
        ("n1 due=yesterday", .usage), ("n1 place=1", .usage), ("n1 next=", .usage),
        ("n1 title:rubbish=1", .usage), ("new title=x", .notFound), ("n1 --parent none", .usage),
        ("n1 file=@/none", .notFound), ("n1 size:string=1", .usage), ("n1 more=1", .ok),
        ("n1 size=1 --unset size", .usage), ("n1 --unset title", .notFound),
    ])
    func `what cannot be put is refused, and nothing changes`(
        rest: String, code: ExitCode
    ) async throws {
        let place = try await Self.imported()
        #expect(try await Self.put("n1 size=1 --type Note", in: place) == .ok)
        let before = try await Self.shown("n1", in: place)
        #expect(try await Self.put(rest, in: place) == code)
        #expect((try await Self.shown("n1", in: place) == before) == (code != .ok))
    }

    @Test func `records are deleted together, or none where one is not there`() async throws {
        let place = try await Self.imported()
        for name in ["n1", "n2", "n3"] {
            #expect(try await Self.put("\(name) --type Note", in: place) == .ok)
        }
        let none = try await place.run("delete @/store n1 n4 n2 --zone files")
        #expect(none.code == .notFound && none.messages.contains("n4"))
        let two = try await place.run("delete @/store n1 n2 --zone files")
        #expect(two.code == .ok && two.results == "- n1\n- n2\n")
        // None of which one must stay.
        #expect(try await Self.put("n4 --parent n3 --type Note", in: place) == .ok)
        #expect(try await Self.put("n5 --type Note", in: place) == .ok)
        let parent = try await place.run("delete @/store n5 n3 --zone files")
        #expect(parent.code == .usage && parent.results.isEmpty, "\(parent.messages)")
        #expect(try await place.run("delete @/store n4 n5 --zone files").code == .ok)
        let left = try await place.run("records @/store --zone files --type Note")
        #expect(left.results.hasPrefix("n3  Note  ") && left.results.utf8.count < 30)
    }

    @Test func `in a default zone those are deleted that may be, and the others named`()
        async throws
    {
        let place = try await Self.imported()
        for line in ["n1", "n2", "n3 --parent n2"] {
            let put = "put @/store \(line) --zone _defaultZone --type Note"
            #expect(try await place.run(put).code == .ok)
        }
        let run = try await place.run("delete @/store n1 n2 --zone _defaultZone")
        #expect(run.code == .usage && run.results == "- n1\n" && run.messages.contains("n2"))
        #expect(try await place.run("records @/store --zone _defaultZone --count").results == "2\n")
    }

    @Test func `a store that a service has open is left alone`() async throws {
        let place = try await Self.imported()
        let container = try await Container.open(at: place.path + "/store")
        #expect(try await Self.put("n1 --type Note", in: place) == .locked)
        #expect(try await place.run("delete @/store n1 --zone files").code == .locked)
        try await container.close()
    }

    @Test func `types are listed with their fields and the number of their records`()
        async throws
    {
        let place = try await Self.imported()
        for name in ["n1", "n2", "n3"] {
            #expect(try await Self.put("\(name) --type Note", in: place) == .ok)
        }
        #expect(try await place.run("delete @/store n2 --zone files").code == .ok)
        #expect(
            try await place.run("put @/store n4 text=x --zone _defaultZone --type Note").code == .ok
        )
        // The name that a record of another type had.
        #expect(try await Self.put("n2 --type Other", in: place) == .ok)
        let lines = try await place.run("types @/store").results.split(separator: "\n")
        #expect(lines.contains { $0.hasPrefix("3  Note  ") && $0.contains("tags LIST<STRING>") })
        #expect(lines.contains("1  Other  "))
        #expect(lines.contains { $0.hasPrefix("2  File  ") })
        let json = try await place.run("types @/store --database public", json: true)
        #expect(json.results.contains(#""recordType":"Note","records":0,"fields":[{"fieldName":"#))
    }

    /// Options, and the names of the records that they find.
    private static let searches: [(options: String, names: String)] = [
        ("--name n?", "n1 n2"), ("--name *2*", "n2 x2"), ("--name N1", ""),
        ("--where title=one", "n1 x2"), ("--where title=One", ""),
        ("--where title=one --where size=1", "n1"), ("--where size=01", "n1"),
        ("--where tags=blue", "n2"), ("--where due=2026-01-31T13:00:00+01:00", "n2"),
        ("--where next=n1", "x2"), ("--where data=aGk=", "x2"), ("--where place=1.50,2", "n1"),
        ("--where missing=", ""), ("--name x*", "x2"), ("--name \\*2", ""),
        ("--where weight=0.5", "x2"),
    ]

    @Test(arguments: searches)
    func `records are found by their names and by values as they are typed`(
        options: String, names: String
    ) async throws {
        let place = try await Self.imported()
        for line in [
            "n1 title=one size=1 place=1.5,2",
            "n2 title=two tags=red tags=blue due=2026-01-31T12:00:00Z",
            "x2 title=one size=2 next=n1 data=aGk= weight=0.5",
        ] {
            #expect(try await Self.put("\(line) --type Note", in: place) == .ok)
        }
        let command = "records @/store --zone files --type Note \(options)"
        let listed = try await place.run(command)
        let found = listed.results.split(separator: "\n").compactMap {
            $0.split(separator: " ").first.map(String.init)
        }
        #expect(found.sorted().joined(separator: " ") == names)
        #expect(try await place.run("\(command) --count").results == "\(found.count)\n")
        let lines = listed.results.split(separator: "\n")
        let reversed = try await place.run("\(command) --reverse").results
        #expect(reversed.split(separator: "\n") == lines.reversed())
        let last = try await place.run("\(command) --reverse --limit 1").results
        #expect(last.split(separator: "\n") == Array(lines.suffix(1)))
    }

    @Test func `the log is cut to a zone, a record, a stretch and a number`() async throws {
        let place = try await Self.imported()
        #expect(try await place.run("mark @/store before").code == .ok)
        #expect(try await Self.put("n1 title=one --type Note", in: place) == .ok)
        #expect(
            try await place.run("put @/store n1 text=x --zone _defaultZone --type Note").code == .ok
        )
        #expect(try await place.run("delete @/store n1 --zone files").code == .ok)
        func kinds(_ options: String) async throws -> [String] {
            try await place.run("log @/store \(options)").results.split(separator: "\n").map {
                $0.split(separator: " ").dropFirst(2).first.map(String.init) ?? ""
            }
        }
        #expect(try await kinds("--record n1") == ["record", "record", "tombstone"])
        #expect(try await kinds("--record n1 --zone files") == ["record", "tombstone"])
        #expect(try await kinds("--record n1 --limit 1") == ["record"])
        // Zones of one name of two users are told apart.
        let others = try await kinds("--record n1 --database public")
        #expect(others.isEmpty)
        #expect(
            try await place.run(
                "put @/store n1 text=y --zone _defaultZone --type Note --as bob"
            ).code == .ok)
        #expect(try await kinds("--record n1 --as bob") == ["record"])
        #expect(try await kinds("--record n1 --as local").count == 3)
        let ofBob = try await place.run("log @/store --record n1 --as bob").results
        #expect(ofBob.contains("  bob/_defaultZone  n1  "))
        let json = try await place.run("log @/store --record n1 --as bob", json: true).results
        #expect(json.contains(#""zone":"_defaultZone","database":"private","user":"_"#))
        #expect(json.contains(#""userName":"bob""#))
        #expect(try await place.run("log @/store --database shared --as bob").code == .usage)
        #expect(try await kinds("--zone files --since mark:before") == ["record", "tombstone"])
        let all = try await kinds("")
        let before = try await kinds("--until mark:before")
        let after = try await kinds("--since mark:before")
        #expect(before + after == all && before.count > 3 && after.count >= 3)
        // Of what is not kept there are entries all the same.
        let changes = try await place.run("changes @/store --all").results
        let token = try #require(changes.split(separator: " ").last).dropLast()
        let time = "2026-01-01T00:00:00Z"
        #expect(try await kinds("--since \(time)") == all)
        #expect(try await kinds("--until \(time)") == [])
        #expect(try await kinds("--until \(token)") == all)
        #expect(try await place.run("delete @/store n1 --zone _defaultZone").code == .ok)
        #expect(try await kinds("--since \(token)") == ["tombstone"])
        #expect(try await place.run("log @/store --follow --until \(token)").code == .usage)
    }
}
