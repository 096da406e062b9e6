import FoundationEssentials
import Stratus
import StratusArchive
import StratusBytes
import StratusFiles
import StratusJournal
import Support

// Archives, alone and in chains, and a store that was restored from one.
extension SampleMaker {
    private static let folder = "archives"

    /// Of a store with assets and a zone that goes: one archive, and one of what changed since.
    private static func chain(history: Bool = false) async throws -> SampleMaker {
        let maker = SampleMaker(seed: history ? 51 : 50)
        try maker.disk.process().makeDirectory(folder)
        let container = try maker.open()
        let database = container.privateDatabase(for: "alice")
        if history { try await container.setHistoryPolicy(.everything) }
        try await maker.fill(database, saves: 6, length: 300)
        try await database.save(
            maker.record("photo", ["file": .asset(Asset(data: maker.bytes(1, count: 5_000)))]))
        try await container.privateDatabase(for: "bob").save(RecordZone(zoneName: "empty"))
        let full = try await container.backup(
            to: folder + "/full.archive", keepingHistory: history, marking: .none)
        try await database.deleteRecord(withID: Record.ID(recordName: "note-2", zoneID: zone))
        try await maker.fill(database, saves: 2, from: 6, length: 200)
        try await database.save(
            maker.record("film", ["file": .asset(Asset(data: maker.bytes(2, count: 3_000)))]))
        try await container.backup(
            to: folder + "/since.archive", since: full, keepingHistory: history, marking: .none)
        try await container.close()
        return maker
    }

    /// Of one zone of a store that has others, shared ones too: a full archive, and one of what changed.
    private static func selection() async throws -> SampleMaker {
        let maker = SampleMaker(seed: 52)
        try maker.disk.process().makeDirectory(folder)
        let container = try maker.open()
        let alice = container.privateDatabase(for: "alice")
        let bob = container.privateDatabase(for: "bob")
        let other = RecordZone.ID(zoneName: "plans")
        try await bob.save(RecordZone(zoneID: other))
        let plan = Record(
            recordType: "Note", recordID: Record.ID(recordName: "plan", zoneID: other))
        let share = Share(
            rootRecord: plan, shareID: Record.ID(recordName: "share", zoneID: other))
        _ = try await bob.modifyRecords(saving: [plan, share.record])
        try await maker.fill(alice, saves: 4, length: 200)
        try await alice.save(
            maker.record("photo", ["file": .asset(Asset(data: maker.bytes(1, count: 5_000)))]))
        var map = Record(
            recordType: "Note", recordID: Record.ID(recordName: "map", zoneID: other))
        map["file"] = .asset(Asset(data: maker.bytes(3, count: 4_000)))
        try await bob.save(map)
        let full = try await container.backup(
            of: [.zone(zone.zoneName, of: "alice")], to: folder + "/full.archive",
            marking: .none)
        try await alice.deleteRecord(withID: Record.ID(recordName: "note-2", zoneID: zone))
        try await maker.fill(alice, saves: 2, from: 4, length: 100)
        try await bob.deleteRecordZone(withID: other)
        try await container.backup(to: folder + "/since.archive", since: full, marking: .none)
        try await container.close()
        return maker
    }

    private func bytes(_ number: Int, count: Int) -> Data {
        filling(number, count: count).bytesValue ?? Data()
    }

    private var archives: StoreFiles {
        var files: StoreFiles = [:]
        for path in disk.paths where path.hasPrefix(Self.folder + "/") {
            files[String(path.dropFirst(Self.folder.count + 1))] = disk.contents(path)
        }
        return files
    }

    /// A zone of another store, with its history; the zone was restored there, too.
    static func restoredZone() async throws -> StoreFiles {
        func change(_ database: Database, _ maker: SampleMaker) async throws {
            for name in ["note-0", "note-1"] {
                var record = try await database.record(
                    for: Record.ID(recordName: name, zoneID: zone))
                record["number"] = 7
                try await database.save(record)
            }
            try await database.deleteRecord(
                withID: Record.ID(recordName: "note-2", zoneID: zone))
        }
        let first = SampleMaker(seed: 60)
        var source = try first.open()
        try await first.fill(source.privateDatabase(for: "alice"), saves: 5)
        try await change(source.privateDatabase(for: "alice"), first)
        var maker = first
        for seed in [61, 62] as [UInt64] {
            maker = SampleMaker(seed: seed)
            let container = try maker.open()
            try await maker.fill(container.privateDatabase(for: "bob"), saves: 2)
            let alice = container.privateDatabase(for: "alice")
            try await alice.restore(
                zone, from: source.snapshot().privateDatabase(for: "alice"))
            try await maker.fill(alice, saves: 1, from: Int(seed))
            try await alice.deleteRecord(
                withID: Record.ID(recordName: "note-\(seed - 58)", zoneID: zone))
            source = container
        }
        try await source.close()
        return maker.files
    }

    static func archives() async throws -> [String: StoreFiles] {
        let chain = try await chain()
        let files = chain.archives
        guard let full = files["full.archive"], let since = files["since.archive"] else {
            return [:]
        }
        func changed(_ place: Int) -> StoreFiles {
            var bytes = full
            bytes[place] ^= 1
            return ["full.archive": bytes]
        }
        let table = Int(full.span.uint64(at: full.count - 16))
        var newer = full
        newer[10] = 2
        let head = SampleMaker.head(newer)
        // Behind two identities of 16 bytes, seven numbers of 8 and one of 2.
        var newerFlags = full
        newerFlags[table + 90] |= 2
        resign(&newerFlags)
        let selection = try await selection().archives
        let restored = try await restored(chain)
        let manifest = restored.keys.filter { $0.hasPrefix(Manifest.filePrefix) }.max() ?? ""
        var ancestor = restored
        ancestor[manifest] = SegmentImage.with([135: 0xff], restored[manifest] ?? [])
        return [
            "damaged/manifest-ancestor": ancestor,
            "valid/archive": ["full.archive": full], "valid/archive-chain": files,
            "valid/archive-history": try await SampleMaker.chain(history: true).archives,
            "valid/archive-selection": selection,
            "valid/restored": restored,
            "damaged/archive-short": ["full.archive": Array(full.dropLast())],
            "damaged/archive-magic": changed(3), "damaged/archive-head": changed(20),
            "damaged/archive-newer": ["full.archive": head + newer.dropFirst(64)],
            "damaged/archive-newer-flags": ["full.archive": newerFlags],
            "damaged/archive-part": changed(70), "damaged/archive-table": changed(table + 40),
            "damaged/archive-foot": changed(full.count - 20),
            "damaged/archive-base-missing": ["since.archive": since],
            "damaged/archive-selection-owner": [
                "full.archive": withoutOwner(selection["full.archive"] ?? [])
            ],
        ]
    }

    /// Gives an archive a foot whose digest is right.
    private static func resign(_ bytes: inout [UInt8]) {
        let table = Int(bytes.span.uint64(at: bytes.count - 16))
        let foot = bytes.count - 64
        let digest = SHA256.hash(Array(bytes[..<64] + bytes[table..<foot]))
        bytes.replaceSubrange(foot..<foot + 32, with: digest)
    }

    /// The owner of what is selected is no user record name.
    private static func withoutOwner(_ archive: [UInt8]) -> [UInt8] {
        var bytes = archive
        // Behind the zones, of which there is one with the same owner, come those of the selection.
        let places = bytes.indices.dropLast(33).filter { place in
            let digits = bytes[place + 1...place + 32]
            return bytes[place] == UInt8(ascii: "_")
                && digits.allSatisfy { Character(UnicodeScalar($0)).isHexDigit }
        }
        if let place = places.last { bytes[place] = UInt8(ascii: "-") }
        resign(&bytes)
        return bytes
    }

    /// The head of an archive with a checksum that is right.
    private static func head(_ bytes: [UInt8]) -> [UInt8] {
        var writer = ByteWriter()
        writer.append(Array(bytes.prefix(56)))
        writer.uint64(Checksum.xxh3(writer.bytes.span))
        return writer.bytes
    }

    /// Made of the chain, and written to.
    private static func restored(_ maker: SampleMaker) async throws -> StoreFiles {
        for name in maker.disk.storeFiles.keys.sorted() {
            maker.disk.delete("\(storePath)/\(name)")
        }
        var archive = try await Archive.open(
            at: folder + "/since.archive", on: maker.disk.process(), scratch: folder)
        archive.options = maker.options
        try await archive.restore(to: "restored")
        let container = try Container(
            writing: LocalStorage(
                at: "restored", .writing(creating: false), on: maker.disk.process()),
            creating: false, durability: .full, options: maker.options, steppedByCaller: true)
        try await maker.fill(
            container.privateDatabase(for: "alice"), saves: 2, from: 8, length: 100)
        try await container.close()
        let place = "restored/"
        for path in maker.disk.paths where path.hasPrefix(place) {
            maker.disk.replaceContents(
                "\(storePath)/\(path.dropFirst(place.count))", maker.disk.contents(path))
        }
        try maker.forgetCheckpoint()
        return maker.files
    }
}

/// What a chain of archives holds, read through the library's own storage.
enum ArchiveImage {
    /// The files of the chain that the last of some archives ends; each part is compared first.
    static func files(of archives: StoreFiles) throws -> StoreFiles {
        let disk = try SimulatedDisk(holding: archives)
        guard let last = archives.keys.max() else { return [:] }
        var directory = ArchiveDirectory(try disk.storage(writing: false))
        let storage = try ArchiveStorage(
            directory.chain(endingWith: last), in: directory.folder)
        for archive in storage.chain {
            if let damage = try archive.verify().first { throw damage }
        }
        var files: StoreFiles = [:]
        for name in try storage.list() {
            let file = try storage.open(name)
            files[name] = try file.read(0..<file.length)
        }
        return files
    }
}
