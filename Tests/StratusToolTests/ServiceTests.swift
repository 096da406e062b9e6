import FoundationEssentials
import Stratus
import StratusGateway
import StratusTool
import Support
import Testing

/// Commands that change a store which a service has open, through that service.
@Suite(.serialized) struct ServiceTests {
    /// Runs `body` beside a service that has the store open and listens.
    private static func serving(
        _ place: Place, _ grants: Set<Gateway.Grant>? = nil,
        _ body: (Container) async throws -> Void
    ) async throws {
        let container = try await Container.open(at: place.path + "/store", creating: true)
        let gateway = Gateway(
            container: container, grants: grants ?? [.maintenance, .files(under: "/")])
        try await withThrowingTaskGroup { group in
            group.addTask { try await gateway.listen() }
            // It listens once it says so.
            for _ in 0..<10_000 where !says(place) {
                try await Task.sleep(for: .milliseconds(1))
            }
            try #require(says(place))
            try await body(container)
            group.cancelAll()
            try await group.waitForAll()
        }
        #expect(!says(place))
        try await container.close()
    }

    private static func says(_ place: Place) -> Bool {
        FileManager.default.fileExists(atPath: place.path + "/store/listener")
    }

    private static func results(_ line: String, in place: Place) async throws -> String {
        let run = try await place.run(line)
        #expect(run.code == .ok, "\(line): \(run.messages)")
        return run.results
    }

    @Test func `who has a zone is said before the service is asked for it`() async throws {
        let place = try Place()
        try await Self.serving(place) { container in
            try await container.privateDatabase(for: "alice").save(RecordZone(zoneName: "notes"))
            try await container.mark("here")
            let run = try await place.run("revert @/store --zone notes --at mark:here")
            #expect(run.code == .notFound && run.messages.contains("--as alice"), "\(run.messages)")
        }
    }

    @Test func `records are put and deleted, and the service sees it at once`() async throws {
        let place = try Place()
        try await Self.serving(place) { container in
            let database = container.privateDatabase(for: "local")
            try await database.save(RecordZone(zoneName: "notes"))
            let put = try await Self.results(
                "put @/store n1 title=one file:asset=@/tree/a.txt --zone notes --type Note",
                in: place)
            #expect(put.hasPrefix("n1  Note  "))
            let id = Record.ID(recordName: "n1", zoneID: RecordZone.ID(zoneName: "notes"))
            let record = try await database.record(for: id)
            #expect(record["title"] == .string("one"))
            #expect(try await record["file"]?.assetValue?.data(limit: 9) == Data("one".utf8))
            _ = try await Self.results("put @/store n1 title=two --zone notes", in: place)
            #expect(try await database.record(for: id)["title"] == .string("two"))
            // In the public database the operator may change what is others'.
            let open = container.publicDatabase(as: "alice")
            try await open.save(
                Record(recordType: "Note", recordID: Record.ID(recordName: "p1")))
            _ = try await Self.results(
                "put @/store p1 title=x --zone _defaultZone --database public", in: place)
            for (line, code) in [
                ("put @/store n2 title=one --zone notes", ExitCode.notFound),
                ("put @/store n1 title --zone notes", .usage),
                ("delete @/store n1 n2 --zone notes", .notFound),
                ("put @/store n1 title=one --zone none --type Note", .notFound),
            ] {
                #expect(try await place.run(line).code == code, "\(line)")
            }
            #expect(
                try await Self.results("delete @/store n1 --zone notes", in: place) == "- n1\n")
            await #expect(throws: StoreError.self) { try await database.record(for: id) }
        }
        // Then it is closed, and the command opens it.
        _ = try await Self.results("put @/store n1 --zone notes --type Note", in: place)
    }

    @Test func `a zone comes back while a service goes on`() async throws {
        let place = try Place()
        try await place.importTree()
        let before = try await Self.results("hash @/store --zone files", in: place)
        let dump = try await Self.results("dump @/store", in: place)
        try place.write(dump, "dump")
        _ = try await Self.results("mark @/store before", in: place)
        try await Self.serving(place) { container in
            let database = container.privateDatabase(for: "local")
            let zone = RecordZone.ID(zoneName: "files")
            _ = try await Self.results("backup @/store -o @/files.archive", in: place)
            func spoil() async throws {
                let page = try await database.records(inZoneWith: zone)
                let files = page.records.filter { $0.recordType != "Folder" }
                for record in files.prefix(2) {
                    try await database.deleteRecord(withID: record.recordID)
                }
            }
            for line in [
                "restore @/files.archive @/store --zone files --mode mirror",
                "revert @/store --zone files --at mark:before",
                "load @/store @/dump --mode mirror",
            ] {
                try await spoil()
                let token = try await database.recordZoneChanges(inZoneWith: zone).changeToken
                let would = try await Self.results("\(line) --dry-run", in: place)
                #expect(would.contains("2 ") && would.contains("would be "), "\(would)")
                #expect(try await Self.results("hash @/store --zone files", in: place) != before)
                let done = try await Self.results(line, in: place)
                #expect(done.contains("2 "), "\(done)")
                #expect(try await Self.results("hash @/store --zone files", in: place) == before)
                // As changes like any other.
                let changes = try await database.recordZoneChanges(
                    inZoneWith: zone, since: token)
                #expect(changes.modifications.count == 2)
            }
            let copied = try await Self.results(
                "restore @/files.archive @/store --zone files --as-zone copy --to-user bob",
                in: place)
            #expect(copied.contains("4 records brought back"))
            #expect(
                try await Self.results("zones @/store --as bob", in: place).contains("4  copy"))
            for (line, code) in [
                ("revert @/store --zone files --at mark:none", ExitCode.notFound),
                ("revert @/store --zone files --at nonsense", .usage),
                ("restore @/none.archive @/store --zone files", .noStore),
                ("load @/store", .usage),
            ] {
                #expect(try await place.run(line).code == code, "\(line)")
            }
        }
    }

    @Test func `a share comes back while a service goes on`() async throws {
        let place = try Place()
        try await place.importTree()
        try await Self.serving(place) { container in
            let database = container.privateDatabase(for: "local")
            let share = Share(recordZoneID: RecordZone.ID(zoneName: "files"))
            let made = try await database.modifyRecords(saving: [share.record])
            let saved = Share(try #require(try made.saveResults[share.recordID]?.get()))
            // Those who join by the link come back with it.
            var open = try #require(saved)
            open.publicPermission = .readOnly
            _ = try await database.modifyRecords(saving: [open.record])
            try await container.acceptShare(try #require(open.shortGUID), as: "bob")
            try await container.mark("before")
            _ = try await Self.results("backup @/store -o @/shared.archive", in: place)
            for line in [
                "restore @/shared.archive @/store --zone files",
                "revert @/store --zone files --at mark:before",
            ] {
                try await database.deleteRecord(withID: share.recordID)
                let without = try await Self.results(line, in: place)
                #expect(!without.contains("share"), "\(without)")
                let done = try await Self.results("\(line) --with-access", in: place)
                #expect(
                    done.contains(
                        "share  files  cloudkit.zoneshare  local  anyone with the link, bob\n"),
                    "\(done)")
                let zones = try await container.sharedDatabase(for: "bob").allRecordZones()
                #expect(zones.map(\.zoneID.zoneName) == ["files"])
            }
        }
    }

    @Test func `one field of a record comes back while a service goes on`() async throws {
        let place = try Place()
        try await place.importTree()
        let put = "put @/store n1 --zone files"
        _ = try await Self.results("\(put) --type Note title=old text=old", in: place)
        _ = try await Self.results("mark @/store before", in: place)
        try await Self.serving(place) { container in
            _ = try await Self.results("backup @/store -o @/notes.archive", in: place)
            let database = container.privateDatabase(for: "local")
            let id = Record.ID(recordName: "n1", zoneID: RecordZone.ID(zoneName: "files"))
            for line in [
                "restore @/notes.archive @/store --zone files",
                "revert @/store --zone files --at mark:before",
            ] {
                _ = try await Self.results("\(put) title=new text=new", in: place)
                _ = try await Self.results("\(line) --record n1 --fields text", in: place)
                let record = try await database.record(for: id)
                #expect(record["title"] == "new" && record["text"] == "old")
                let none = try await place.run("\(line) --record n1 --fields none")
                #expect(none.code == .notFound, "\(none)")
            }
        }
    }

    @Test func `a service leaves the mark of a backup, at the state that it writes`() async throws {
        let place = try Place()
        try await place.importTree()
        let hash = try await Self.results("hash @/store", in: place)
        try await Self.serving(place) { container in
            for name in ["a", "b"] {
                let done = try await Self.results(
                    "backup @/store -o @/\(name).archive --mark daily --only local/files",
                    in: place)
                #expect(done.contains("/\(name).archive: "), "\(done)")
                #expect(try await container.marks().map(\.name) == ["daily"])
            }
            _ = try await Self.results(
                "backup @/store -o @/c.archive --mark daily --since @/b.archive",
                in: place)
            let shown = try await Self.results("backups show @/b.archive", in: place)
            #expect(shown.contains("4 records  files"))
            #expect(try await Self.results("hash @/store --at mark:daily", in: place) == hash)
            // The first archive is of other parts: another one takes its place, and has the mark.
            let run = try await place.run(
                "backup @/store -o @/x.archive --since @/a.archive --only public --or-full")
            #expect(run.code == .ok && run.messages.contains("the archive is full"), "\(run)")
            let piped = try await place.run("backup @/store -o - --mark piped")
            #expect(piped.code == .ok)
            let unmarked = try await place.run("backup @/store -o @/y.archive --no-mark")
            #expect(unmarked.code == .ok)
            #expect(try await container.marks().map(\.name) == ["daily", "backup", "piped"])
            let both = try await place.run("backup @/store -o @/z.archive --no-mark --mark daily")
            #expect(both.code == .usage)
        }
    }

    @Test func `a backup that is stopped leaves no mark and no archive`() async throws {
        let place = try Place()
        try await Self.serving(place) { container in
            let database = container.privateDatabase(for: "local")
            try await database.save(RecordZone(zoneName: "many"))
            for start in stride(from: 0, to: 40_000, by: 4_000) {
                let records = (start..<start + 4_000).map {
                    Record(
                        recordType: "Note",
                        recordID: Record.ID(
                            recordName: "r\($0)", zoneID: RecordZone.ID(zoneName: "many")))
                }
                _ = try await database.modifyRecords(saving: records)
            }
            let path = place.path + "/a.archive"
            let process = try ToolProcess(["backup", place.path + "/store", "-o", path])
            while try await container.marks().isEmpty {
                try await Task.sleep(for: .milliseconds(1))
            }
            process.send(15)
            let code = process.wait()
            let isThere = FileManager.default.fileExists(atPath: path)
            // It may have been done already.
            #expect(code == (isThere ? 0 : 128 + 15))
            #expect(try await container.marks().count == (isThere ? 1 : 0))
        }
    }

    @Test func `marks of a store that a service has open are made and removed by that`()
        async throws
    {
        let place = try Place()
        try await place.importTree()
        try await Self.serving(place) { container in
            for _ in 1...2 { _ = try await Self.results("mark @/store noon", in: place) }
            let marks = try await container.marks()
            #expect(marks.map(\.name) == ["noon", "noon"])
            let removed = try await Self.results("mark @/store noon --remove", in: place)
            #expect(removed.hasPrefix("\(marks[1].offset)  "), "\(removed)")
            #expect(try await container.marks() == [marks[0]])
            let none = try await place.run("mark @/store other --remove")
            #expect(none.code == .notFound && none.messages.contains("no mark other"))
        }
        try await Self.serving(place, []) { container in
            let refused = try await place.run("mark @/store noon")
            #expect(refused.code == .permission, "\(refused)")
            let marked = try await place.run("backup @/store -o @/a.archive --mark daily")
            #expect(marked.code == .permission, "\(marked)")
            // A backup needs no grant.
            let unmarked = try await place.run("backup @/store -o @/a.archive")
            #expect(
                unmarked.code == .ok && unmarked.messages.contains("is made without a mark: "),
                "\(unmarked)")
            #expect(try await container.marks().count == 1)
        }
    }

    @Test func `what the service does not grant is refused`() async throws {
        let place = try Place()
        try await place.importTree()
        _ = try await Self.results("backup @/store -o @/files.archive", in: place)
        try await Self.serving(place, []) { _ in
            let run = try await place.run("put @/store n1 --zone files --type Note")
            #expect(run.code == .permission, "\(run)")
        }
        try await Self.serving(place, [.maintenance, .files(under: place.path + "/tree")]) { _ in
            let run = try await place.run(
                "restore @/files.archive @/store --zone files --mode skip")
            #expect(run.code == .permission, "\(run)")
            let put = try await place.run(
                "put @/store n1 f:asset=@/files.archive --zone files --type Note")
            #expect(put.code == .permission, "\(put)")
        }
    }

    @Test func `beside a service that does not listen the store is locked`() async throws {
        let place = try Place()
        try await place.importTree()
        let container = try await Container.open(at: place.path + "/store")
        for line in [
            "put @/store n1 --zone files --type Note", "delete @/store n1 --zone files",
            "revert @/store --zone files --at 0", "load @/store @/tree/a.txt",
        ] {
            let run = try await place.run(line)
            #expect(run.code == .locked && run.messages.contains("listens"), "\(run)")
        }
        try await container.close()
    }

    @Test func `what another store's service says is not followed`() async throws {
        let place = try Place()
        try await place.importTree()
        _ = try await Self.results("copy @/store @/copy", in: place)
        let copy = try await Container.open(at: place.path + "/copy")
        try await Self.serving(place) { _ in
            // As a copy of the files would have it.
            try FileManager.default.copyItem(
                atPath: place.path + "/store/listener", toPath: place.path + "/copy/listener")
            let run = try await place.run("put @/copy n1 --zone files --type Note")
            #expect(run.code == .locked, "\(run)")
        }
        // Nor what one said that is gone.
        try await copy.close()
        let again = try await Container.open(at: place.path + "/copy")
        #expect(!FileManager.default.fileExists(atPath: place.path + "/copy/listener"))
        try await again.close()
    }
}
