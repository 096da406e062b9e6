import FoundationEssentials
import Stratus
import StratusTool
import Testing

/// What is said of a path that leads to something else than what is expected there, and of a zone that
/// another user has.
@Suite struct NamedPathTests {
    private let place: Place

    init() async throws {
        place = try Place()
        #expect(try await place.run("import @/tree @/store --zone files --as alice").code == .ok)
        #expect(try await place.run("backup @/store -o @/full.archive").code == .ok)
        try place.write("no store", "plain")
    }

    @Test(arguments: [
        "info F", "verify F", "records F --zone files", "backup F -o @/x.archive", "copy F @/y",
        "put F r --zone files", "mark F x", "exec F", "repair F", "salvage F @/z", "compact F",
        "stats F", "dump F", "import @/tree F --zone files", "follow F --into @/q --once",
        "restore @/full.archive F --zone files --as alice",
        "revert F --zone files --at 0",
    ])
    func `a file in place of a store is told as that`(line: String) async throws {
        for (name, word) in [("plain", "the directory"), ("full.archive", "stratus restore")] {
            let path = "\(place.path)/\(name)"
            let run = try await place.run(line.replacing(" F", with: " " + path))
            #expect(run.code == .noStore, "\(line): \(run.messages)")
            #expect(run.messages.contains("not a store: \(path) is a file"), "\(run.messages)")
            #expect(run.messages.contains(word), "\(run.messages)")
        }
        let names = try FileManager.default.contentsOfDirectory(atPath: place.path)
        #expect(names.sorted() == ["full.archive", "plain", "store", "tree"])
    }

    @Test(arguments: [
        ("info @/plain/x", "no store"), ("backups show @/plain/x", "no archive"),
        ("backups show @", "is a directory"), ("restore @/tree @/x", "is a directory"),
        ("backups list @/plain", "is a file"),
        ("backups forget @/plain --keep-last 1", "is a file"),
        ("backups list @/none", "no directory"),
        ("follow @/store --into @/plain --once", "no store"),
        ("schema show @/plain", "no store"),
    ])
    func `a path of the wrong kind is no failure of the tool`(line: String, words: String)
        async throws
    {
        let run = try await place.run(line)
        #expect(run.code == .noStore, "\(line): \(run.messages)")
        #expect(run.messages.contains(words), "\(line): \(run.messages)")
    }

    @Test(arguments: ["backup @/store -o @/no/x.archive", "copy @/store @/no/x"])
    func `a directory that is missing is told as that`(line: String) async throws {
        let run = try await place.run(line)
        #expect(run.code == .notFound, "\(run.messages)")
        #expect(run.messages.contains("there is no directory for it: "), "\(run.messages)")
    }

    @Test func `a restore of a store does not take a file for one that is in its way`()
        async throws
    {
        #expect(try await place.run("restore @/full.archive @/plain").code == .exists)
        let none = try await place.run("restore @/none.archive @/plain")
        #expect(none.code == .noStore && none.messages.contains("no archive \(place.path)/none"))
    }

    @Test func `an archive may be named by a link, and its base lies beside the archive`()
        async throws
    {
        let files = FileManager.default
        try place.write("three", "tree/c.txt")
        for line in [
            "import @/tree @/store --zone files --as alice",
            "backup @/store -o @/later.archive --since @/full.archive",
        ] {
            #expect(try await place.run(line).code == .ok)
        }
        try files.createDirectory(
            atPath: place.path + "/links", withIntermediateDirectories: false)
        for (name, target) in [
            ("links/latest.archive", "../later.archive"), ("newest", "links/latest.archive"),
            ("nowhere", "none.archive"), ("circle", "circle"),
        ] {
            try files.createSymbolicLink(
                atPath: place.path + "/" + name, withDestinationPath: target)
        }
        for line in [
            "backups show @/newest", "backups verify @/links/latest.archive",
            "restore @/newest @/restored", "diff @/newest @/store",
            "restore @/newest @/store --zone files --as alice --dry-run",
            "backup @/store -o @/more.archive --since @/newest",
        ] {
            let run = try await place.run(line)
            #expect(run.code == .ok, "\(line): \(run.messages)")
        }
        for name in ["nowhere", "circle"] {
            let run = try await place.run("backups show @/\(name)")
            #expect(run.code == .noStore && run.messages.contains("no archive"), "\(run.messages)")
        }
    }

    @Test(arguments: ["-", "/dev/stdin", "/dev/fd/0"])
    func `an archive is not read from a stream`(path: String) async throws {
        let run = try await place.run("backups show \(path)")
        #expect(run.code == .usage && run.messages.contains("in a file"), "\(run.messages)")
    }

    @Test func `who has the zone is said where the user who is meant does not`() async throws {
        let restore = "restore @/full.archive @/store --zone files"
        for line in [restore, restore + " --as nobody", "revert @/store --zone files --at mark:m"] {
            #expect(try await place.run("mark @/store m").code == .ok)
            let run = try await place.run(line)
            #expect(run.code == .notFound, "\(line): \(run.messages)")
            #expect(run.messages.contains("no such zone: files"), "\(run.messages)")
            #expect(run.messages.contains("hint: alice has it: --as alice\n"), "\(run.messages)")
        }
        #expect(try await place.run(restore + " --as alice").code == .ok)
        // Of several all are named, and of a zone that is nowhere none.
        #expect(try await place.run("import @/tree @/store --zone files --as bob").code == .ok)
        #expect(try await place.run("mark @/store n").code == .ok)
        let several = try await place.run("revert @/store --zone files --at mark:n")
        #expect(several.messages.contains("alice, bob have one: --as alice"), "\(several.messages)")
        let none = try await place.run("revert @/store --zone none --at mark:n")
        #expect(none.code == .notFound && !none.messages.contains("--as"), "\(none.messages)")
    }
}
