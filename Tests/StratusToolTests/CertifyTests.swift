import FoundationEssentials
import Stratus
import StratusGateway
import StratusTool
import Testing

/// Certificates of a store, and what `verify --against` says of them, as an operator has it.
@Suite struct CertifyTests {
    private static func results(_ line: String, in place: Place) async throws -> String {
        let run = try await place.run(line)
        #expect(run.code == .ok, "\(line): \(run.messages)")
        return run.results
    }

    private static let verify = "verify @/store --against @/certificate"

    /// A store with a zone of four records, and a certificate of it.
    private static func certified() async throws -> Place {
        let place = try Place()
        try await place.importTree()
        _ = try await results("certify @/store -o @/certificate", in: place)
        return place
    }

    private static func change(_ place: Place, _ store: String = "store") async throws {
        try place.write("changed", "tree/a.txt")
        _ = try await results("import @/tree @/\(store) --zone files", in: place)
    }

    private static func copy(_ name: String, to other: String, in place: Place) throws {
        try FileManager.default.copyItem(
            atPath: place.path + "/" + name, toPath: place.path + "/" + other)
    }

    private static func offset(_ place: Place, of name: String = "certificate") throws -> UInt64 {
        let bytes = try Data(contentsOf: URL(filePath: place.path + "/" + name))
        return try Certificate(json: Array(bytes)).offset
    }

    /// The findings of a comparison that finds some.
    private static func findings(_ line: String, in place: Place) async throws -> [String] {
        let run = try await place.run(line)
        #expect(run.code == .differences, "\(line): \(run.results)\(run.messages)")
        let lines = run.results.split(separator: "\n").map(String.init)
        // The last two say what is proved, and what was read.
        try #require(lines.count > 2)
        return lines
    }

    @Test func `a store is as certified, and what cannot be told any more is said`() async throws {
        let place = try await Self.certified()
        let offset = try Self.offset(place)
        let whole = try await Self.results(Self.verify, in: place)
        #expect(
            whole.hasPrefix(
                "at the certified offset \(offset) the chain is the certified one; 1 zone proved by "
                    + "content hashes\nno damage in"))
        // Twice the same, but for the time.
        let again = try await Self.results("certify @/store", in: place)
        #expect(again.hasPrefix(#"{"type":"certificate","version":1,"storeID":""#))
        #expect(again.contains(#""tool":"stratus \#(Tool.version)","zones":[{"zoneName":"files","#))
        _ = try await Self.results("copy @/store @/plain", in: place)
        _ = try await Self.results("mark @/store certified", in: place)
        try await Self.change(place)
        // The mark keeps the state.
        #expect(try await Self.results(Self.verify, in: place).contains("1 zone proved"))
        _ = try await Self.results("compact @/store --erase", in: place)
        let compacted = try await Self.results(Self.verify, in: place)
        #expect(
            compacted.contains("the chain is not known any more, since the journal was compacted"))
        #expect(compacted.contains("1 zone proved"))
        // In a copy nothing keeps it.
        let plain = "verify @/plain --against @/certificate"
        #expect(try await Self.results(plain, in: place).contains("1 zone proved"))
        try place.write("other", "tree/a.txt")
        try await Self.change(place, "plain")
        let copied = try await Self.results(plain, in: place)
        #expect(
            copied.contains("the chain is the certified one; what the zones held cannot be read"))
        _ = try await Self.results("compact @/plain --erase", in: place)
        let nothing = try await place.run(plain)
        #expect(nothing.code == .partial, "\(nothing)")
        #expect(nothing.results.contains("the chain is not known any more"))
    }

    @Test func `what is proved is said in JSON, too`() async throws {
        let place = try await Self.certified()
        try await Self.change(place)
        let lines = try await place.run(Self.verify, json: true).results.split(separator: "\n")
        #expect(lines.count == 2)
        #expect(lines[0].hasPrefix(#"{"type":"certificate","offset":""#))
        #expect(
            lines[0].hasSuffix(
                #""history":"proved","chain":"proved","zones":"notKept","differences":0}"#))
        #expect(lines[1].hasPrefix(#"{"type":"summary","findings":0,"#))
        #expect(lines[1].hasSuffix(#""differences":0}"#))
    }

    @Test func `a store that was restored is as certified up to its archive`() async throws {
        let place = try await Self.certified()
        _ = try await Self.results("backup @/store -o @/a.archive", in: place)
        try await Self.change(place)
        _ = try await Self.results("certify @/store -o @/later", in: place)
        _ = try await Self.results("restore @/a.archive @/restored", in: place)
        let restored = try await Self.results(
            "verify @/restored --against @/certificate", in: place)
        #expect(restored.contains("the chain is the certified one; 1 zone proved"))
        let found = try await Self.findings("verify @/restored --against @/later", in: place)
        #expect(
            found.prefix(2) == [
                "a copy of the store that went another way: behind offset "
                    + "\(try Self.offset(place)), before the certified offset "
                    + "\(try Self.offset(place, of: "later"))",
                "not the history that was certified at offset "
                    + "\(try Self.offset(place, of: "later"))",
            ])
        // Nor does the original come from the copy.
        _ = try await Self.results("certify @/restored -o @/own", in: place)
        #expect(
            try await Self.findings("verify @/store --against @/own", in: place).first
                == "a copy of the store that does not come from the certified one")
    }

    @Test func `another store, lost commits and another way are found and named`() async throws {
        let place = try await Self.certified()
        try Self.copy("store", to: "twin", in: place)
        try Self.copy("store", to: "earlier", in: place)
        try await Self.change(place)
        _ = try await Self.results("certify @/store -o @/certificate", in: place)
        let offset = try Self.offset(place)
        _ = try await Self.results("copy @/store @/clone --clone", in: place)
        let other = try await Self.findings("verify @/clone --against @/certificate", in: place)
        #expect(other[0].hasPrefix("another store: certified is "))
        let lost = try await Self.findings("verify @/earlier --against @/certificate", in: place)
        #expect(lost[0].hasPrefix("commits are lost: the history ends at offset "))
        #expect(lost[0].hasSuffix(", before the certified offset \(offset)"))
        try place.write("altered", "tree/a.txt")
        _ = try await Self.results("import @/tree @/twin --zone files", in: place)
        let line = "verify @/twin --against @/certificate"
        let twin = try await Self.findings(line, in: place)
        try #require(twin.count == 4)
        #expect(twin[0].hasPrefix("chain: at the certified offset \(offset) expected "))
        #expect(twin[1].hasPrefix("zone files of _") && twin[1].contains("4 records with the hash"))
        #expect(twin[2].hasSuffix("the chain is another one; zones held something else"))
        #expect(twin[3].hasPrefix("no damage in"))
        let json = try await place.run(line, json: true)
        #expect(json.code == .differences)
        for part in [
            #"{"type":"finding","severity":"difference","id":"certificate.chain","message":""#,
            #""id":"certificate.zone","#, #""zoneName":"files","user":"_"#,
            #""certified":{"zoneName":"files","#, #""found":{"zoneName":"files","#,
            #""history":"proved","chain":"differs","zones":"differs","differences":2}"#,
            #"{"type":"summary","findings":2,"damage":0,"#,
        ] {
            #expect(json.results.contains(part), "\(part)")
        }
    }

    @Test func `what is no certificate is refused with its file and what is wrong`() async throws {
        let place = try await Self.certified()
        let bytes = try Data(contentsOf: URL(filePath: place.path + "/certificate"))
        let text = String(decoding: bytes, as: UTF8.self)
        for (wrong, code, reason) in [
            (String(text.dropLast(20)), ExitCode.usage, "no JSON: "),
            ("", .usage, "no JSON: the text ends where a value is due, at byte 0"),
            (text.replacing("records", with: "count"), .usage, "zones[0].count is no key here"),
            (text.replacing(#""version":1"#, with: #""version":2"#), .newerFormat, "version 1"),
        ] {
            try place.write(wrong, "wrong")
            let run = try await place.run("verify @/store --against @/wrong")
            #expect(run.code == code, "\(reason)")
            #expect(run.results == "" && run.messages.contains(reason), "\(run.messages)")
            #expect(run.messages.contains("(file \(place.path)/wrong)"))
        }
        let none = try await place.run("verify @/store --against @/none")
        #expect(none.code == .notFound && none.messages.contains("cannot read the certificate"))
        #expect(try await place.run("verify @/store --against @/tree").code != .ok)
        #expect(try await place.run("certify @/none").code == .noStore)
    }

    @Test func `what is damaged is named, also where nothing can be compared any more`()
        async throws
    {
        let place = try await Self.certified()
        let journal = place.path + "/store/journal-0000000000000000"
        var bytes = try Data(contentsOf: URL(filePath: journal))
        bytes[4400] ^= 1
        try bytes.write(to: URL(filePath: journal))
        let run = try await place.run(Self.verify)
        #expect(run.code == .differences)
        #expect(run.results.hasPrefix("journal-0000000000000000, byte "))
        #expect(run.results.contains("1 finding in"))
        #expect(run.messages.contains("not compared with the certificate"), "\(run.messages)")
    }

    @Test func `a store is certified and compared beside a running writer`() async throws {
        let place = try await Self.certified()
        let container = try await Container.open(at: place.path + "/store")
        let database = container.privateDatabase(for: Invocation.defaultUser)
        let zone = RecordZone.ID(zoneName: "files")
        func save(_ number: Int) async throws {
            let id = Record.ID(recordName: "more-\(number)", zoneID: zone)
            try await database.save(Record(recordType: "Note", recordID: id))
        }
        let writing = Task { for number in 0..<100 { try await save(number) } }
        for number in 0..<5 {
            #expect(try await Self.results(Self.verify, in: place).contains("the certified one"))
            _ = try await Self.results("certify @/store -o @/beside-\(number)", in: place)
        }
        try await writing.value
        for number in 0..<5 {
            let line = "verify @/store --against @/beside-\(number)"
            #expect(try await Self.results(line, in: place).contains("the certified one"))
        }
        // A program asks the same of the store that it has open.
        let certificate = try await container.certificate()
        #expect(try await container.compare(with: certificate).zones == .proved)
        try await container.close()
        let last = try await Self.results("certify @/store", in: place)
        #expect(last.contains(certificate.zones[0].contentHash ?? "none"))
    }
}
