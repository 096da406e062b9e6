import FoundationEssentials
import Stratus
import StratusTool
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
        #expect(try await place.run("restore @/full.archive @/new").code == .damaged)
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
        #expect(try await place.run(since).code == .usage)
        let full = try await place.run("\(since) --or-full")
        #expect(full.code == .ok && full.messages.contains("the archive is full"))
    }
}
