import FoundationEssentials
import Stratus
import StratusFiles
import StratusTool
import Support
import Synchronization
import Testing

/// Archives of a store and what comes back from them, as an operator does it.
@Suite struct BackupCommandTests {
    /// The name of the record of `a.txt`.
    private static let name = "18b7cb099a9ea3f50ba899b5ba81e0d3"

    private static func results(_ line: String, in place: Place) async throws -> String {
        let run = try await place.run(line)
        #expect(run.code == .ok, "\(line): \(run.messages)")
        return run.results
    }

    private static func backedUp() async throws -> Place {
        let place = try Place()
        try await place.importTree()
        _ = try await results("backup @/store -o @/full.archive", in: place)
        return place
    }

    /// Imported again, after a change and a deletion.
    private static func change(_ place: Place) async throws {
        try place.write("changed", "tree/a.txt")
        try FileManager.default.removeItem(atPath: place.path + "/tree/sub/b.txt")
        _ = try await results("import @/tree @/store --zone files", in: place)
    }

    @Test func `what a backup holds is restored, whole and proved`() async throws {
        let place = try await Self.backedUp()
        let before = try await Self.results("hash @/store", in: place)
        try await Self.change(place)
        let after = try await Self.results("hash @/store", in: place)
        _ = try await Self.results(
            "backup @/store -o @/later.archive --since @/full.archive", in: place)
        for (archive, expected) in [("full", before), ("later", after)] {
            let text = try await Self.results(
                "restore @/\(archive).archive @/from-\(archive)", in: place)
            #expect(text.contains("proved by content hashes"))
            #expect(try await Self.results("hash @/from-\(archive)", in: place) == expected)
            _ = try await Self.results("verify @/from-\(archive)", in: place)
            let whole = try await Self.results(
                "backups verify @/\(archive).archive", in: place)
            #expect(whole.contains("all of it is whole"))
        }
        let listed = try await Self.results("backups list @", in: place).split(separator: "\n")
        #expect(listed.count == 2 && listed[1].hasSuffix("later.archive"))
        let shown = try await Self.results("backups show @/later.archive", in: place)
        #expect(shown.contains("2 archives in all") && shown.contains("3 records  files"))
        _ = try await Self.results(
            "backups merge @/later.archive -o @/merged.archive", in: place)
        _ = try await Self.results("restore @/merged.archive @/from-merged", in: place)
        #expect(try await Self.results("hash @/from-merged", in: place) == after)
    }

    @Test func `a directory for archives is made, and a reader of one may go`() async throws {
        let place = try await Self.backedUp()
        let made = try await Self.results("backup @/store -o @/archives/", in: place)
        #expect(made.hasPrefix(place.path + "/archives/stratus-"), "\(made)")
        _ = try await Self.results("backups list @/archives", in: place)
        let capture = Capture()
        capture.closeReader()
        let code = await Tool.stratus.perform(
            try parse("backup \(place.path)/store -o -"), capture.output())
        #expect(code == .brokenPipe && capture.messages.isEmpty, "\(capture.messages)")
    }

    @Test func `the head of a full archive leaves before the journal is copied`() async throws {
        let place = try Place()
        let container = try await Container.open(
            at: place.path + "/store", creating: true, durability: .none)
        let database = container.privateDatabase(for: "local")
        let zone = try await database.save(RecordZone(zoneName: "notes")).zoneID
        // So many that progress is told of before all of them are read.
        for first in stride(from: 0, to: 5000, by: 250) {
            let records = (first..<first + 250).map {
                Record(
                    recordType: "T", recordID: Record.ID(recordName: "r\($0)", zoneID: zone))
            }
            _ = try await database.modifyRecords(saving: records)
        }
        let sent = Mutex((length: 0, lengthAtFirstProgress: Int?.none))
        try await container.backup(progress: { _, _ in
            sent.withLock { sent in
                sent.lengthAtFirstProgress = sent.lengthAtFirstProgress ?? sent.length
            }
        }) { bytes in sent.withLock { $0.length += bytes.count } }
        #expect(sent.withLock { $0.lengthAtFirstProgress } == 64)
        try await container.close()
    }

    @Test func `a rehearsal proves what a restore would make, and leaves nothing`() async throws {
        let place = try await Self.backedUp()
        let names = try FileManager.default.contentsOfDirectory(atPath: place.path).sorted()
        let text = try await Self.results(
            "restore @/full.archive @/rehearsed --rehearse", in: place)
        #expect(text.contains("would make") && text.contains("proved by content hashes"))
        #expect(text.contains("took "))
        let json = try await place.run(
            "restore @/full.archive @/rehearsed --rehearse", json: true
        ).results
        #expect(json.contains(#""proved":true"#) && json.contains(#""seconds":"#))
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: place.path).sorted() == names)
        // Where a restore would be refused, so is its rehearsal.
        let taken = try await place.run("restore @/full.archive @/store --rehearse")
        #expect(taken.code != .ok)
        for option in ["--clone", "--dry-run", "--zone files"] {
            let run = try await place.run(
                "restore @/full.archive @/rehearsed --rehearse \(option)")
            #expect(run.code == .usage, "\(option)")
        }
    }

    @Test func `a zone comes back after a mistake, all of it or some records`() async throws {
        let place = try await Self.backedUp()
        let before = try await Self.results("hash @/store --zone files", in: place)
        try await Self.change(place)
        let restore = "restore @/full.archive @/store --zone files"
        let plan = try await Self.results("\(restore) --dry-run", in: place)
        #expect(plan.contains("M  \(Self.name)") && plan.contains("would be brought back"))
        #expect(try await Self.results("hash @/store --zone files", in: place) != before)
        let gone = try await Self.results("\(restore) --mode skip", in: place)
        #expect(gone.contains("=  \(Self.name)"))
        #expect(
            try await Self.results("zones @/store", in: place).contains("4  files"))
        let one = try await Self.results("\(restore) --record \(Self.name)", in: place)
        #expect(one.hasPrefix("M  \(Self.name)\n0 records"))
        let mirrored = try await Self.results("\(restore) --mode mirror", in: place)
        #expect(mirrored.contains("proved by the content hash"))
        #expect(try await Self.results("hash @/store --zone files", in: place) == before)
        // Into another zone, for another user.
        let copied = try await Self.results(
            "\(restore) --as-zone copy --to-user bob", in: place)
        #expect(copied.contains("4 records brought back"))
        #expect(
            try await Self.results("zones @/store --as bob", in: place).contains("4  copy"))
    }

    @Test func `one field of a record comes back, and what is beside it stays`() async throws {
        let place = try await Self.backedUp()
        func put(_ fields: String) async throws {
            _ = try await Self.results("put @/store n1 \(fields) --zone files", in: place)
        }
        _ = try await Self.results(
            "put @/store n1 title=old file:asset=@/tree/a.txt --zone files --type Note", in: place)
        _ = try await Self.results("mark @/store before", in: place)
        _ = try await Self.results("backup @/store -o @/notes.archive", in: place)
        func file() async throws -> String {
            _ = try await Self.results("asset @/store n1 file @/file --zone files", in: place)
            let bytes = try Data(contentsOf: URL(filePath: place.path + "/file"))
            try FileManager.default.removeItem(atPath: place.path + "/file")
            return String(decoding: bytes, as: UTF8.self)
        }
        for line in [
            "restore @/notes.archive @/store --zone files",
            "revert @/store --zone files --at mark:before",
        ] {
            try await put("title=new file:asset=@/tree/sub/b.txt")
            let done = try await Self.results("\(line) --record n1 --fields file", in: place)
            #expect(done.hasPrefix("M  n1\n0 records brought back, 1 replaced"), "\(done)")
            let title = try await Self.results("get @/store n1 title --zone files", in: place)
            #expect(try await file() == "one" && title.hasPrefix("new"), "\(title)")
            #expect(try await place.run("\(line) --fields file").code == .usage)
            let none = try await place.run("\(line) --record n1 --fields none")
            #expect(none.code == .notFound && none.messages.contains("no field none"))
        }
        let alone = try await place.run("restore @/notes.archive @/new --fields file")
        #expect(alone.code == .usage)
        _ = try await Self.results("delete @/store n1 --zone files", in: place)
        let gone = try await place.run(
            "revert @/store --zone files --at mark:before --record n1 --fields file")
        #expect(gone.code == .notFound && gone.messages.contains("comes back whole"))
    }

    @Test func `a part of a store is backed up, and only its zones come back`() async throws {
        let place = try await Self.backedUp()
        _ = try await Self.results("import @/tree @/store --zone other", in: place)
        _ = try await Self.results("import @/tree @/store --zone files --as bob", in: place)
        let before = try await Self.results("hash @/store --zone files", in: place)
        _ = try await Self.results(
            "backup @/store -o @/part.archive --only local/files --only bob", in: place)
        let shown = try await Self.results("backups show @/part.archive", in: place)
        #expect(shown.contains("4 records  files") && !shown.contains("other"))
        #expect(shown.contains("/files, _") || shown.contains(", _"))
        // What it does not have is no difference.
        let same = try await place.run("diff @/part.archive @/store")
        #expect(same.code == .ok, "\(same.results)")
        try await Self.change(place)
        _ = try await Self.results("import @/tree @/store --zone other", in: place)
        let changed = try await place.run("diff @/part.archive @/store")
        #expect(changed.code == .differences && !changed.results.contains("other"))
        _ = try await Self.results(
            "backup @/store -o @/later.archive --since @/part.archive", in: place)
        // It does not stand in for one of the whole store.
        let kept = try await Self.results(
            "backups forget @ --keep-last 1 --dry-run", in: place)
        #expect(kept.contains("0 archives would be deleted, 3 kept"), "\(kept)")
        let restored = try await Self.results(
            "restore @/part.archive @/store --zone files --mode mirror", in: place)
        #expect(restored.contains("proved by the content hash"))
        #expect(try await Self.results("hash @/store --zone files", in: place) == before)
        for (line, code, word) in [
            (
                "restore @/part.archive @/store --zone other --mode mirror", ExitCode.notFound,
                "without this zone"
            ),
            ("restore @/part.archive @/whole", .usage, "--zone"),
            ("restore @/part.archive @/whole --dry-run", .usage, "--zone"),
            ("backup @/store -o @/x.archive --only local/none", .notFound, "no such zone"),
            ("backup @/store -o @/x.archive --only nobody", .notFound, "no user"),
            ("backup @/store -o @/x.archive --as bob", .usage, "--only"),
            (
                "backup @/store -o @/x.archive --only bob --since @/part.archive", .invalidBackup,
                "a full one"
            ),
        ] {
            let run = try await place.run(line)
            #expect(run.code == code && run.messages.contains(word), "\(line): \(run)")
        }
        #expect(!FileManager.default.fileExists(atPath: place.path + "/x.archive"))
    }

    @Test func `a zone is reverted to a mark of its own store`() async throws {
        let place = try Place()
        try await place.importTree()
        let before = try await Self.results("hash @/store", in: place)
        _ = try await Self.results("mark @/store before", in: place)
        try await Self.change(place)
        let revert = "revert @/store --zone files --at mark:before"
        _ = try await Self.results("\(revert) --dry-run", in: place)
        #expect(try await Self.results("hash @/store", in: place) != before)
        let done = try await Self.results(revert, in: place)
        #expect(done.contains("proved by the content hash"))
        #expect(try await Self.results("hash @/store", in: place) == before)
        await #expect(throws: ToolError.self) {
            try await place.run("revert @/store --zone files")
        }
        #expect(
            try await place.run("revert @/store --zone files --at mark:none").code == .notFound)
    }

    @Test func `a copy is made, and what is there is never replaced`() async throws {
        let place = try await Self.backedUp()
        let hash = try await Self.results("hash @/store", in: place)
        _ = try await Self.results("copy @/store @/copy", in: place)
        #expect(try await Self.results("hash @/copy", in: place) == hash)
        for line in [
            "copy @/store @/copy", "restore @/full.archive @/copy",
            "backup @/store -o @/full.archive",
        ] {
            #expect(try await place.run(line).code == .exists, "\(line)")
        }
        #expect(try await place.run("backup @/store").code == .usage)
        #expect(try await place.run("backup @/store -o @/x.archive --json", json: true).code == .ok)
        // In a directory it gets a name.
        try FileManager.default.createDirectory(
            atPath: place.path + "/archives", withIntermediateDirectories: false)
        let named = try await Self.results("backup @/store -o @/archives", in: place)
        #expect(named.contains("/archives/stratus-"))
    }

    @Test func `following writes what changed into a directory, until it is stopped`() async throws
    {
        let place = try await Self.backedUp()
        let archives = place.path + "/archives"
        try FileManager.default.createDirectory(
            atPath: archives, withIntermediateDirectories: false)
        let container = try await Container.open(at: place.path + "/store")
        let process = try ToolProcess([
            "backup", place.path + "/store", "-o", archives, "--follow", "1",
        ])
        #expect(process.readLine().hasPrefix("full  \(archives)/stratus-"))
        var record = Record(recordType: "Note")
        for number in 0..<2 {
            record["number"] = .int64(Int64(number))
            record = try await container.privateDatabase(for: "alice").save(record)
            #expect(process.readLine().hasPrefix("since  \(archives)/stratus-"))
        }
        process.send(15)
        #expect(process.readLine() == "3 archives written" && process.wait() == 128 + 15)
        try await container.close()
        let hash = try await Self.results("hash @/store", in: place)
        let last = try #require(
            try FileManager.default.contentsOfDirectory(atPath: archives)
                .max { $0.utf8.count == $1.utf8.count ? $0 < $1 : $0.utf8.count < $1.utf8.count })
        _ = try await Self.results("restore @/archives/\(last) @/restored", in: place)
        #expect(try await Self.results("hash @/restored", in: place) == hash)
        for options in ["-o @/full.archive", "-o -", "-o @/archives --since @/full.archive"] {
            let run = try await place.run("backup @/store --follow 1 \(options)")
            #expect(run.code == .usage, "\(options): \(run.messages)")
        }
        let alone = try await place.run("backup @/store -o @/archives --full-every 3")
        #expect(alone.code == .usage)
    }

    @Test func `a mark is left at the state that an archive has, in place of the one before`()
        async throws
    {
        let place = try await Self.backedUp()
        _ = try await Self.results("mark @/store own", in: place)
        for name in ["a", "b"] {
            try place.write(name, "tree/a.txt")
            _ = try await Self.results("import @/tree @/store --zone files", in: place)
            _ = try await Self.results(
                "backup @/store -o @/\(name).archive --mark daily", in: place)
            let marks = try await Self.results("mark @/store", in: place)
            #expect(marks.split(separator: "\n").count == 2, "\(marks)")
            #expect(marks.contains("own") && marks.contains("daily"))
        }
        let hash = try await Self.results("hash @/store", in: place)
        try await Self.change(place)
        #expect(try await Self.results("hash @/store", in: place) != hash)
        #expect(try await Self.results("hash @/store --at mark:daily", in: place) == hash)
        _ = try await Self.results("restore @/b.archive @/restored", in: place)
        #expect(try await Self.results("hash @/restored", in: place) == hash)
        try FileManager.default.createDirectory(
            atPath: place.path + "/archives", withIntermediateDirectories: false)
        let following = try await place.run("backup @/store -o @/archives --follow 1 --mark daily")
        #expect(following.code == .usage && following.messages.contains("--follow"))
        #expect(
            try await place.run("backup @/store -o @/archives --follow 1 --no-mark").code == .usage)
        // Beside a service that does not listen there can be none, and it is said.
        let container = try await Container.open(at: place.path + "/store")
        let beside = try await place.run("backup @/store -o @/c.archive --mark other")
        #expect(beside.code == .partial && beside.messages.contains("no mark is left"), "\(beside)")
        #expect(try await container.marks().map(\.name).sorted() == ["daily", "own"])
        try await container.close()
        _ = try await Self.results("backups verify @/c.archive", in: place)
    }

    @Test func `archives are forgotten, but none that another one needs`() async throws {
        let place = try await Self.backedUp()
        try await Self.change(place)
        for (name, base) in [("b", "full"), ("c", "b")] {
            _ = try await Self.results(
                "backup @/store -o @/\(name).archive --since @/\(base).archive", in: place)
        }
        for name in ["x", "y"] {
            _ = try await Self.results("backup @/store -o @/\(name).archive", in: place)
        }
        try place.write("no archive", "z.archive")
        let plan = try await Self.results("backups forget @ --keep-last 1 --dry-run", in: place)
        #expect(plan.hasSuffix("4 archives would be deleted, 1 kept\n"))
        #expect(try await place.run("backups forget @").code == .usage)
        let done = try await Self.results("backups forget @ --keep-last 2", in: place)
        #expect(done.contains("=  \(place.path)/x.archive") && done.contains("3 archives deleted"))
        let left = try FileManager.default.contentsOfDirectory(atPath: place.path)
            .filter { $0.hasSuffix(".archive") }
        #expect(Set(left) == ["x.archive", "y.archive", "z.archive"])
        _ = try await Self.results("import @/tree @/store --zone more", in: place)
        _ = try await Self.results(
            "backup @/store -o @/d.archive --since @/x.archive", in: place)
        // One day, one month: the newest, and what it needs.
        let daily = try await Self.results(
            "backups forget @ --keep-daily 3 --keep-monthly 1", in: place)
        #expect(daily.contains("-  \(place.path)/y.archive") && daily.contains("2 kept"))
        _ = try await Self.results("backups verify @/d.archive", in: place)
    }

    @Test func `an archive stands in for none of a copy, nor for one with history`() async throws {
        let place = try await Self.backedUp()
        _ = try await Self.results("backup @/store -o @/past.archive --history", in: place)
        _ = try await Self.results("copy @/store @/copy", in: place)
        _ = try await Self.results("backup @/copy -o @/copy.archive", in: place)
        _ = try await Self.results("backup @/store -o @/again.archive", in: place)
        let done = try await Self.results("backups forget @ --keep-last 1", in: place)
        #expect(done.contains("-  \(place.path)/full.archive"), "\(done)")
        #expect(done.hasSuffix("1 archive deleted, 3 kept\n"), "\(done)")
    }

    @Test func `what only says what would be done changes nothing of the store`() async throws {
        let place = try await Self.backedUp()
        _ = try await Self.results("mark @/store then", in: place)
        try await Self.change(place)
        let files = FileManager.default
        func contents() throws -> [String: Data] {
            let store = place.path + "/store"
            return Dictionary(
                uniqueKeysWithValues: try files.contentsOfDirectory(atPath: store).map {
                    ($0, try Data(contentsOf: URL(filePath: store + "/" + $0)))
                })
        }
        try place.write(try await Self.results("dump @/store", in: place), "dump")
        // Also where a service has the store open that does not listen.
        let holder = try ToolProcess(["exec", place.path + "/store"])
        holder.write(#"{"id":1,"as":"local","call":"zones/list"}"#)
        #expect(holder.readLine().contains(#""status":200"#))
        for line in [
            "restore @/full.archive @/store --zone files --dry-run",
            "revert @/store --zone files --at mark:then --dry-run",
            "load @/store @/dump --dry-run",
        ] {
            _ = try await Self.results(line, in: place)
        }
        let refused = try await place.run("revert @/store --zone files --at mark:then")
        #expect(refused.code == .locked)
        holder.send(9)
        _ = holder.wait()
        for line in [
            "restore @/full.archive @/store --zone files --dry-run",
            "revert @/store --zone files --at mark:then --dry-run",
        ] {
            let now = try contents()
            _ = try await Self.results(line, in: place)
            #expect(try contents() == now, "\(line)")
        }
    }

    @Test(arguments: [2, 15] as [Int32])
    func `a restore that is stopped leaves nothing`(signal: Int32) async throws {
        let place = try await Self.backedUp()
        // So that it is found at work.
        let load = (0..<40_000).map {
            #"{"type":"record","database":"private","as":"local","record":{"recordName":"r\#($0)","#
                + #""recordType":"Note","zoneID":{"zoneName":"many"},"fields":{}}}"#
        }
        try place.write(load.joined(separator: "\n"), "lines")
        _ = try await Self.results("load @/store @/lines --durability none", in: place)
        _ = try await Self.results("backup @/store -o @/many.archive --no-hash", in: place)
        let files = FileManager.default
        let process = try ToolProcess([
            "restore", place.path + "/many.archive", place.path + "/restored",
        ])
        func made() throws -> [String] {
            try files.contentsOfDirectory(atPath: place.path).filter { $0.hasPrefix("restored") }
        }
        while try made().isEmpty { try await Task.sleep(for: .milliseconds(1)) }
        process.send(signal)
        let code = process.wait()
        // It may have been done already.
        let left = try made()
        #expect(
            left.isEmpty ? code == 128 + signal : left == ["restored"], "\(code), \(left)")
    }

    @Test func `where nothing may be written the exit code says so`() async throws {
        let place = try await Self.backedUp()
        let full = try await place.run("backup @/store -o /dev/full")
        #expect(full.code == .exists, "\(full)")
        let output = Output(Output.Settings()) { _, channel in
            if channel == .results { throw SystemError(.noSpace, in: "write") }
            return true
        }
        let code = await Tool.stratus.perform(
            try parse("backup \(place.path)/store -o -"), output)
        #expect(code == .noSpace)
        let name = String(repeating: "n", count: 300)
        let long = try await place.run("backup @/store -o @/\(name)")
        #expect(long.code == .notFound, "\(long)")
        // Of which the name that it has meanwhile is too long.
        let almost = try await place.run(
            "restore @/full.archive @/\(String(repeating: "n", count: 250))")
        #expect(almost.code == .notFound, "\(almost)")
    }

    @Test func `nothing is forgotten while an archive in the directory cannot be opened`()
        async throws
    {
        let place = try await Self.backedUp()
        try await Self.change(place)
        _ = try await Self.results(
            "backup @/store -o @/later.archive --since @/full.archive", in: place)
        _ = try await Self.results("backup @/store -o @/new.archive", in: place)
        let files = FileManager.default
        func archives() throws -> Set<String> {
            Set(
                try files.contentsOfDirectory(atPath: place.path)
                    .filter { $0.hasSuffix(".archive") })
        }
        func expectRefusal(_ code: ExitCode, naming name: String) async throws {
            let before = try archives()
            for option in ["", " --dry-run"] {
                let run = try await place.run("backups forget @ --keep-last 1" + option)
                #expect(run.code == code, "\(run.messages)")
                #expect(run.messages.contains("nothing was deleted"))
                #expect(run.messages.contains("\(place.path)/\(name)"))
            }
            #expect(try archives() == before)
        }
        // One whose table is damaged may go on from any other.
        let later = URL(filePath: place.path + "/later.archive")
        let bytes = try Data(contentsOf: later)
        var damaged = bytes
        damaged[bytes.count - 70] ^= 1
        try damaged.write(to: later)
        try await expectRefusal(.invalidBackup, naming: "later.archive")
        try bytes.write(to: later)
        // So may one of a newer version.
        let newer = place.path + "/newer.archive"
        try files.copyItem(
            atPath: PackageFiles.root + "/Formats/samples/damaged/archive-newer/full.archive",
            toPath: newer)
        try await expectRefusal(.newerFormat, naming: "newer.archive")
        try files.removeItem(atPath: newer)
        // The base was moved, to come back some day.
        let (full, away) = (place.path + "/full.archive", place.path + "/full.away")
        try files.createDirectory(atPath: away, withIntermediateDirectories: false)
        try files.moveItem(atPath: full, toPath: away + "/full.archive")
        try await expectRefusal(.invalidBackup, naming: "later.archive")
        try files.moveItem(atPath: away + "/full.archive", toPath: full)
        let done = try await Self.results("backups forget @ --keep-last 1", in: place)
        #expect(done.hasSuffix("2 archives deleted, 1 kept\n"))
        #expect(try archives() == ["new.archive"])
    }

    @Test func `a full archive is made where the base cannot be used, and it is said why`()
        async throws
    {
        let place = try await Self.backedUp()
        let files = FileManager.default
        func expectFull(_ since: String, from store: String = "store", _ code: ExitCode)
            async throws
        {
            let line = "backup @/\(store) -o @/new.archive --since @/\(since).archive"
            #expect(try await place.run(line).code == code, "\(since)")
            #expect(!files.fileExists(atPath: place.path + "/new.archive"))
            let run = try await place.run(line + " --or-full")
            #expect(run.code == .ok, "\(since): \(run.messages)")
            #expect(run.messages.contains("the archive is full"))
            let shown = try await Self.results("backups show @/new.archive", in: place)
            #expect(shown.contains(", full"))
            try files.removeItem(atPath: place.path + "/new.archive")
        }
        // The base is missing, damaged, or without its own base.
        try await expectFull("none", .noStore)
        let full = try Data(contentsOf: URL(filePath: place.path + "/full.archive"))
        var damaged = full
        damaged[full.count - 1] ^= 1
        try damaged.write(to: URL(filePath: place.path + "/damaged.archive"))
        try await expectFull("damaged", .invalidBackup)
        try files.removeItem(atPath: place.path + "/damaged.archive")
        _ = try await Self.results(
            "backup @/store -o @/later.archive --since @/full.archive", in: place)
        try files.moveItem(
            atPath: place.path + "/full.archive", toPath: place.path + "/tree/full.archive")
        try await expectFull("later", .invalidBackup)
        try files.moveItem(
            atPath: place.path + "/tree/full.archive", toPath: place.path + "/full.archive")
        // It is of another store, or of a copy of the files that was written to on its own.
        #expect(try await place.run("copy @/store @/clone --clone").code == .ok)
        try await expectFull("full", from: "clone", .invalidBackup)
        try files.copyItem(atPath: place.path + "/store", toPath: place.path + "/twin")
        _ = try await Self.results("mark @/store here", in: place)
        _ = try await Self.results("backup @/store -o @/marked.archive", in: place)
        _ = try await Self.results("import @/tree @/twin --zone more", in: place)
        try await expectFull("marked", from: "twin", .tokenExpired)
    }

    @Test func `no full archive is made where something else is wrong`() async throws {
        let place = try await Self.backedUp()
        try FileManager.default.createDirectory(
            atPath: place.path + "/other", withIntermediateDirectories: false)
        for (target, code) in [("full.archive", ExitCode.exists), ("other/a.archive", .usage)] {
            let run = try await place.run(
                "backup @/store -o @/\(target) --since @/full.archive --or-full")
            #expect(run.code == code, "\(target): \(run.messages)")
            #expect(!run.messages.contains("the archive is full"))
        }
        let run = try await place.run("backup @/store -o @/other --since @/full.archive")
        #expect(run.messages.contains("beside its base"))
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: place.path + "/other").isEmpty)
    }

    /// Runs a command whose results are bytes.
    private static func bytes(
        _ line: String, in place: Place
    ) async throws -> (code: ExitCode, bytes: [UInt8]) {
        let capture = Capture()
        let words = line.replacing("@", with: place.path).split(separator: " ").map(String.init)
        let invocation = try ArgumentParser.parse(words, .stratus)
        let code = await Tool.stratus.perform(invocation, capture.output())
        return (code, capture.bytes)
    }

    @Test func `a full archive in place of another one is all that goes to standard output`()
        async throws
    {
        let place = try await Self.backedUp()
        _ = try await Self.results("retention @/store --deletions none", in: place)
        try await Self.change(place)
        _ = try await Self.results("compact @/store --erase", in: place)
        // What was deleted since is forgotten.
        let line = "backup @/store -o - --since @/full.archive"
        let refused = try await Self.bytes(line, in: place)
        #expect(refused.code == .tokenExpired && refused.bytes.isEmpty)
        let full = try await Self.bytes(line + " --or-full", in: place)
        #expect(full.code == .ok)
        try Data(full.bytes).write(to: URL(filePath: place.path + "/piped.archive"))
        #expect(
            try await Self.results("backups show @/piped.archive", in: place).contains(", full"))
        _ = try await Self.results("backups verify @/piped.archive", in: place)
    }

    @Test func `an output that got bytes is known to have them`() throws {
        let output = Capture().output()
        try output.line("text")
        #expect(!output.hasBytes)
        try output.bytes([1])
        #expect(output.hasBytes)
    }

    @Test func `what is wrong with an archive is said, and the code tells`() async throws {
        let place = try await Self.backedUp()
        try await Self.change(place)
        _ = try await Self.results(
            "backup @/store -o @/later.archive --since @/full.archive", in: place)
        #expect(try await place.run("restore @/none.archive @/new").code == .noStore)
        let path = place.path + "/full.archive"
        var bytes = try Data(contentsOf: URL(filePath: path))
        bytes[100] ^= 1
        try bytes.write(to: URL(filePath: path))
        let verified = try await place.run("backups verify @/full.archive")
        #expect(verified.code == .differences && verified.results.contains("archive.part"))
        let restored = try await place.run("restore @/full.archive @/new")
        #expect(restored.code == .invalidBackup, "\(restored.messages)")
        bytes[3] ^= 1
        try bytes.write(to: URL(filePath: path))
        #expect(try await place.run("backups show @/full.archive").code == .invalidBackup)
        let orphan = try await place.run("backups show @/later.archive")
        #expect(orphan.code == .invalidBackup && orphan.messages.contains("base"))
        #expect(!FileManager.default.fileExists(atPath: place.path + "/new"))
        // A base of another store, unless a full archive will do.
        let other = try await place.run("copy @/store @/other --clone")
        #expect(other.code == .ok)
        _ = try await Self.results("backup @/store -o @/own.archive", in: place)
        let since = "backup @/other -o @/other.archive --since @/own.archive"
        let refused = try await place.run(since)
        #expect(
            refused.code == .invalidBackup
                && refused.messages.contains("/own.archive is one of another"))
        for store in ["store", "other"] {
            let info = try await Self.results("info @/\(store)", in: place)
            let id = try #require(info.firstMatch(of: /id +([0-9a-f]{32})\n/)?.1)
            #expect(refused.messages.contains(id), "\(refused.messages)")
        }
        let full = try await place.run("\(since) --or-full")
        #expect(full.code == .ok && full.messages.contains("the archive is full"))
    }

    /// Each bit flip that a command meets is said of the archive.
    @Test func `damage in an archive is named in the archive, whatever command meets it`()
        async throws
    {
        let place = try await Self.backedUp()
        let path = place.path + "/full.archive"
        let bytes = try Data(contentsOf: URL(filePath: path))
        let table = 64 + (try ForgedArchive(Array(bytes))).content.count
        var refused = 0
        for number in 0..<40 {
            let byte = 64 + number * (table - 64) / 40
            var damaged = bytes
            damaged[byte] ^= 1 << UInt8(number % 8)
            try damaged.write(to: URL(filePath: path))
            for line in [
                "restore @/full.archive @/new", "backups merge @/full.archive -o @/merged.archive",
                "diff @/full.archive @/store",
                "restore @/full.archive @/store --zone files --dry-run",
            ] {
                let run = try await place.run(line)
                // Not each command reads every byte.
                #expect(
                    [.ok, .invalidBackup].contains(run.code), "\(byte) \(line): \(run.messages)")
                if run.code == .invalidBackup {
                    #expect(run.messages.contains("full.archive"), "\(byte) \(line)")
                    refused += 1
                }
                for made in ["/new", "/merged.archive"] {
                    try? FileManager.default.removeItem(atPath: place.path + made)
                }
            }
        }
        #expect(refused > 40)
    }

    @Test func `an archive whose table says other zones than it holds is refused and found`()
        async throws
    {
        let place = try await Self.backedUp()
        let path = place.path + "/full.archive"
        let whole = try ForgedArchive(Array(try Data(contentsOf: URL(filePath: path))))
        var forged: [ForgedArchive] = []
        // The last byte is of the sum of the digests.
        for place in [whole.zones.count - 1, 36] {
            var other = whole
            other.zones[place] ^= 1
            forged.append(other)
        }
        var other = whole
        other.zones = ForgedArchive.items(0)
        forged.append(other)
        other.zones = ForgedArchive.items(1) { $1.zone("files", records: 4) }
        forged.append(other)
        for archive in forged {
            try Data(archive.bytes).write(to: URL(filePath: path))
            let verified = try await place.run("backups verify @/full.archive")
            #expect(verified.code == .differences, "\(verified.messages)")
            #expect(verified.results.contains("archive.zones"), "\(verified.results)")
            let restored = try await place.run("restore @/full.archive @/new")
            #expect(restored.code == .invalidBackup, "\(restored.messages)")
            #expect(restored.messages.contains("archive.zones"))
            #expect(!FileManager.default.fileExists(atPath: place.path + "/new"))
        }
        try Data(whole.bytes).write(to: URL(filePath: path))
        _ = try await Self.results("restore @/full.archive @/new", in: place)
    }

    @Test func `a chunk that has not the bytes of its address is not restored`() async throws {
        let place = try Place()
        // One chunk, which is stored as it is.
        var generator = SeededGenerator(seed: 1)
        let bytes = (0..<17_000).map { _ in UInt8(truncatingIfNeeded: generator.next()) }
        try Data(bytes).write(to: URL(filePath: place.path + "/tree/c.bin"))
        try await place.importTree()
        _ = try await Self.results("backup @/store -o @/full.archive", in: place)
        let path = place.path + "/full.archive"
        var archive = try ForgedArchive(Array(try Data(contentsOf: URL(filePath: path))))
        #expect(try archive.exchangeChunk(bytes, bytes.reversed()))
        try Data(archive.bytes).write(to: URL(filePath: path))
        let restored = try await place.run("restore @/full.archive @/new")
        #expect(restored.code == .invalidBackup, "\(restored)")
        #expect(restored.messages.contains("address") && restored.messages.contains("full.archive"))
        #expect(!FileManager.default.fileExists(atPath: place.path + "/new"))
        #expect(try await place.run("backups verify @/full.archive").code == .differences)
    }
}
