import FoundationEssentials
import Stratus
import StratusTool
import Testing

/// The examples of the help, each run where it finds what it names.
@Suite struct ExampleTests {
    /// A folder with all that the examples name.
    private static func world() async throws -> Place {
        let place = try Place()
        func run(_ line: String) async throws {
            let run = try await place.run(line)
            #expect(run.code == .ok, "\(line): \(run.messages)")
        }
        let files = FileManager.default
        for folder in ["archives", "outbox", "assets"] {
            try files.createDirectory(
                atPath: "\(place.path)/\(folder)", withIntermediateDirectories: true)
        }
        try files.moveItem(atPath: place.path + "/tree", toPath: place.path + "/photos")
        try place.write("readme", "photos/README.md")
        for zone in ["photos", "system", "album"] {
            try await run("import @/photos @/store --zone \(zone)")
        }
        try await run(
            "put @/store photo-1 image:asset=@/photos/a.txt --zone album --type Photo")
        try await addUsers(to: place.path + "/store")
        try await run("mark @/store before-import")
        try await run("put @/store note-1 done:int64=1 --zone notes")
        for (name, line) in [
            ("schema.ckdb", "schema show @/store"), ("old.ckdb", "schema show @/store"),
            ("store.jsonl", "dump @/store"), ("patch.jsonl", "dump @/store --zone notes"),
        ] {
            try place.write(try await place.run(line).results, name)
        }
        try await run("copy @/store @/other --clone")
        try await run("follow @/store --into @/copy --once")
        try await run("certify @/store -o @/store.certificate")
        try await run("backup @/store -o @/store.archive")
        try await run("backup @/store -o @/archives")
        try await run("put @/store note-2 title=two --zone notes")
        try await run("backup @/store -o @/later.archive --since @/store.archive")
        return place
    }

    /// Notes of three users, a share of one and what everybody reads.
    private static func addUsers(to path: String) async throws {
        let container = try await Container.open(at: path)
        let zone = RecordZone.ID(zoneName: "notes")
        func note(_ name: String, in zone: RecordZone.ID) -> Record {
            var note = Record(
                recordType: "Note", recordID: Record.ID(recordName: name, zoneID: zone))
            note["title"] = .string(name)
            note["tags"] = .list([.string("red")])
            note["size"] = .int64(1)
            return note
        }
        for user in [Invocation.defaultUser, "alice", "anna", "bob"] {
            let database = container.privateDatabase(for: user)
            try await database.save(RecordZone(zoneID: zone))
            for name in ["note-1", "note-2"] {
                _ = try await database.save(note(name, in: zone))
            }
        }
        let open = container.publicDatabase(as: Invocation.defaultUser)
        for name in ["note-1", "boat-1"] { _ = try await open.save(note(name, in: .default)) }
        let alice = container.privateDatabase(for: "alice")
        let root = try await alice.record(for: Record.ID(recordName: "note-1", zoneID: zone))
        var share = Share(rootRecord: root)
        share.publicPermission = .readWrite
        let saved = try await alice.modifyRecords(saving: [root, share.record])
        let record = try #require(try saved.saveResults[share.recordID]?.get())
        let link = try #require(Share(record)?.shortGUID)
        try await container.acceptShare(link, as: "bob")
        try await container.close()
    }

    /// The words of a line as a shell reads them.
    private static func words(_ line: String) -> [String] {
        var words: [String] = []
        var quote: Character?
        var isWord = false
        for character in line {
            if character == quote {
                quote = nil
            } else if quote == nil, character == "'" || character == "\"" {
                quote = character
            } else if quote == nil, character == " " {
                isWord = false
            } else {
                if !isWord { words.append("") }
                isWord = true
                words[words.count - 1].append(character)
            }
        }
        return words
    }

    /// The same command with paths below the folder `root`, where `/` is the photos.
    private static func invocation(_ line: String, in root: String) throws -> Invocation {
        let given = try ArgumentParser.parse(Array(words(line).dropFirst()), .stratus)
        func placed(_ values: [String], _ content: Command.Content?) -> [String] {
            guard content == .path else { return values }
            return values.map { value in
                value == "-" ? value : value == "/" ? root + "/photos" : root + "/" + value
            }
        }
        var arguments: [String: [String]] = [:]
        for argument in given.command.arguments {
            let values = given.allArguments(argument.name)
            arguments[argument.name] = placed(values, argument.content)
        }
        var options: [String: [String]] = [:]
        for option in CommandTable.stratus.options(of: given.command) where given.has(option.name) {
            options[option.name] = placed(given.allValues(option.name), option.value?.content)
        }
        return Invocation(given.command, arguments: arguments, options: options)
    }

    /// What a command makes must not be there.
    private static func clear(_ invocation: Invocation) throws {
        let made =
            switch invocation.command.name {
            case "copy": invocation.argument("COPY")
            case "follow": invocation.value("into")
            case "backup": invocation.value("output")
            default: String?.none
            }
        guard let made, !made.hasSuffix("/archives") else { return }
        if FileManager.default.fileExists(atPath: made) {
            try FileManager.default.removeItem(atPath: made)
        }
    }

    /// Commands that change nothing, and make no file.
    private static let reading: Set<String> = [
        "diff", "info", "users", "zones", "types", "records", "show", "query", "tree", "shares",
        "why", "who-can", "what-can", "subscriptions", "notifications", "devices", "log",
        "changes", "token", "history", "blame", "verify", "certify", "hash", "stats", "help",
        "completion", "version",
    ]

    @Test func `every example that ends does its work`() async throws {
        let world = try await Self.world()
        let token = try await world.run("changes @/store").results.split(separator: " ")
        let examples = CommandTable.stratus.commands.flatMap { command in
            command.examples.map { (command.name, $0.line) }
        }
        // Those that change something come last, in the order of the help.
        let lines = [true, false].flatMap { reads in
            examples.filter { Self.reading.contains($0.0) == reads }.map(\.1)
        }
        var count = 0
        for line in lines {
            let line = line.replacing(
                "AQcPy0MzM+gHZwhvlJ58rNwyjvn7FHo1O1QAAAAAEAMAAAAAAADeN2qL",
                with: try #require(token.last).dropLast())
            let invocation = try Self.invocation(line, in: world.path)
            let isFollowing = invocation.command.name == "follow" && !invocation.has("once")
            if invocation.has("follow") || isFollowing { continue }
            try Self.clear(invocation)
            let capture = Capture()
            let output = capture.output { $0.isJSON = invocation.wantsJSON }
            let code =
                invocation.command.name == "exec"
                ? try await Exec.run(invocation, output, read: { [] })
                : await Tool.stratus.perform(invocation, output)
            let isDifference = invocation.command.name == "diff" && code == .differences
            #expect(code == .ok || isDifference, "\(line): \(capture.messages)")
            let isRead = Self.reading.contains(invocation.command.name)
            let isEmpty = capture.results.isEmpty || capture.results == "0\n"
            // There are no subscriptions, no files above 1 MiB, and no entries at offset 4096.
            let findsNothing = [
                "subscriptions", "notifications", "devices", "size>1048576", "--since 4096",
            ].contains { line.contains($0) }
            #expect(!isEmpty || !isRead || findsNothing, "\(line)")
            count += 1
        }
        #expect(count == lines.count - 6)
    }
}
