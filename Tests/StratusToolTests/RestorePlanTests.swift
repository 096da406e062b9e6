import FoundationEssentials
import Stratus
import StratusTool
import Testing

/// What `restore` says it would do, and what it refuses to. Alice shares the record `n1` with Bob, and
/// Carol has a role.
@Suite struct RestorePlanTests {
    private let place: Place

    init() async throws {
        place = try Place()
        let container = try await Container.open(at: place.path + "/store", creating: true)
        try await container.importSchema(
            "DEFINE SCHEMA CREATE ROLE Editor; RECORD TYPE Note (n INT64);")
        // From here on the host's name for him is known.
        try await container.setUserProfile(
            UserProfile(emailAddresses: ["bob@example.com"]), for: "bob")
        let database = container.privateDatabase(for: "alice")
        let notes = try await database.save(RecordZone(zoneName: "notes")).zoneID
        let root = Record(
            recordType: "Note", recordID: Record.ID(recordName: "n1", zoneID: notes))
        var share = Share(
            rootRecord: root, shareID: Record.ID(recordName: "Share-1", zoneID: notes))
        try share.addParticipant(
            Share.Participant(
                UserIdentity.LookupInfo(userRecordID: container.userRecordID(for: "bob"))))
        _ = try await database.modifyRecords(saving: [root, share.record])
        try await container.setRoles(["Editor"], of: "carol")
        try await container.close()
        #expect(try await place.run("backup @/store -o @/full.archive").code == .ok)
    }

    private func results(_ line: String, json: Bool = false) async throws -> String {
        let run = try await place.run(line, json: json)
        #expect(run.code == .ok, "\(line): \(run.messages)")
        return run.results
    }

    @Test(arguments: ["", "--clone", "--clone --with-access"])
    func `a plan says what the restore then does`(options: String) async throws {
        let line = "restore @/full.archive @/restored \(options)"
        let plan = try await results(line + " --dry-run")
        #expect(!FileManager.default.fileExists(atPath: place.path + "/restored"))
        let done = try await results(line)
        // Up to the offset both say the same.
        let made = try #require(done.split(separator: "\n").last)
        let what = made.prefix { $0 != ";" }.replacing(" in ", with: "|").split(separator: "|")
        let summary = try #require(plan.split(separator: "\n").last)
        #expect(summary.hasPrefix("would make \(what[0]) in "), "\(summary)\n\(made)")
        let offset = try #require(made.prefix { $0 != ";" }.split(separator: " ").last)
        #expect(summary.contains("as of offset \(offset); "), "\(summary)\n\(made)")
        // So it does of what comes back of access.
        func access(_ text: String) -> [Substring] {
            text.split(separator: "\n").filter { $0.hasPrefix("share") || $0.hasPrefix("roles") }
        }
        #expect(access(plan) == access(done))
        #expect(access(plan).count == (options == "--clone" ? 0 : 2))
    }

    @Test func `a plan lists zones, users and access, and what a clone ends`() async throws {
        let line = "restore @/full.archive @/restored --dry-run"
        let plan = try await results(line).split(separator: "\n")
        #expect(plan.contains("zone  2 records  notes  alice"), "\(plan)")
        for user in ["alice", "bob", "carol"] {
            #expect(plan.contains { $0.hasPrefix("user  ") && $0.hasSuffix(user) }, "\(plan)")
        }
        #expect(plan.contains { $0.hasPrefix("share  notes  Share-1  alice  ") }, "\(plan)")
        #expect(plan.contains("roles  carol  Editor"), "\(plan)")
        #expect(plan.last?.hasSuffix("tokens from up to there stay good") == true)
        let clone = try await results(line + " --clone").split(separator: "\n")
        // The share is a record.
        #expect(clone.contains("zone  1 record  notes  alice"), "\(clone)")
        #expect(clone.contains { $0.hasPrefix("ended: share  notes  Share-1") }, "\(clone)")
        #expect(clone.contains("ended: roles  carol  Editor"), "\(clone)")
        #expect(clone.last?.hasSuffix("shares are ended and roles taken back") == true)
        let json = try await results(line + " --clone", json: true)
        #expect(json.contains(#"{"type":"zone","zoneName":"notes","database":"private","#))
        #expect(json.contains(#"{"type":"endedAccess","#) && !json.contains(#""storeID""#))
        #expect(json.contains(#""dryRun":true,"clone":true"#))
    }

    @Test(arguments: [
        ("restore @/full.archive @/tree", 19), ("restore @/full.archive @/store", 19),
        ("restore @/full.archive @/no/where", 14), ("restore @/full.archive @/store/in", 17),
        ("restore @/full.archive @/new --at 3", 15),
        ("restore @/full.archive @/new --at mark:none", 14),
        ("restore @/full.archive @/new --with-access", 2),
    ])
    func `what a restore refuses its plan refuses`(line: String, code: UInt8) async throws {
        for option in ["", " --dry-run"] {
            let run = try await place.run(line + option)
            #expect(run.code.number == Int32(code), "\(line + option): \(run.messages)")
        }
        let names = try FileManager.default.contentsOfDirectory(atPath: place.path)
        #expect(names.sorted() == ["full.archive", "store", "tree"])
    }

    @Test(arguments: ["restore @/full.archive", "revert"])
    func `a share comes back with its zone where that is asked for`(command: String) async throws {
        #expect(try await place.run("mark @/store before").code == .ok)
        let gone =
            #"{"type":"record","database":"private","as":"alice","record":"#
            + #"{"recordName":"n1","recordType":"Note","zoneID":{"zoneName":"notes"},"deleted":true}}"#
        try Data((gone + "\n").utf8).write(to: URL(filePath: place.path + "/gone"))
        #expect(try await place.run("load @/store @/gone").code == .ok)
        let line =
            "\(command) @/store --zone notes --as alice"
            + (command == "revert" ? " --at mark:before" : "")
        let without = try await results(line + " --dry-run")
        #expect(!without.contains("share"), "\(without)")
        let plan = try await results(line + " --with-access --dry-run")
        let shared = "share  notes  Share-1  alice  bob\n"
        #expect(plan.contains(shared), "\(plan)")
        #expect(try await results(line + " --with-access").contains(shared))
        let shares = try await results("shares @/store")
        #expect(shares.contains("alice  notes  n1  1 participant"), "\(shares)")
        let again = try await results(line + " --with-access", json: true)
        #expect(again.contains(#""shares":0"#), "\(again)")
    }

    @Test(arguments: [
        "--rehearse --with-access", "--zone notes --as alice --record n1 --fields n --with-access",
    ])
    func `access that cannot come back is refused`(options: String) async throws {
        let run = try await place.run("restore @/full.archive @/store \(options)")
        #expect(run.code == .usage, "\(options): \(run.messages)")
        #expect(run.messages.contains("--with-access"), "\(run.messages)")
    }
}
