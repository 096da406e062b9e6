import FoundationEssentials
import Stratus
import StratusBytes
import StratusFiles
import StratusJournal
import Support

// Stores with compacted segments. Without the checkpoint that a compaction needs: so every reader
// reads them from the beginning.
extension SampleMaker {
    /// What replaced something that is gone, in every way; two compactions, a crash between, a commit
    /// that begins in a compacted segment and ends behind it, and one that was given up.
    static func compacted() async throws -> SampleMaker {
        let maker = SampleMaker(seed: 40)
        var container = try maker.open()
        var database = container.privateDatabase(for: "alice")
        try await maker.fill(database, saves: 12, length: 600)
        try await maker.replaceAll(database, text: "first ")
        try await database.deleteRecord(withID: Record.ID(recordName: "note-3", zoneID: zone))
        try await database.deleteRecord(withID: Record.ID(recordName: "note-4", zoneID: zone))
        try await database.save(maker.record("note-4", type: "Task", ["number": .int64(4)]))
        try await maker.replaceAll(database, text: "second ")
        try await container.maintenance.compact()
        try await maker.link(database, parent: "note-1", target: "note-2")
        // Killed, and opened again.
        container = try maker.open()
        database = container.privateDatabase(for: "alice")
        try await maker.link(database, parent: "note-5", target: "note-6")
        try await database.save(RecordZone(zoneName: "gone"))
        try await database.save(
            maker.record("lost", in: RecordZone.ID(zoneName: "gone"), ["number": .int64(1)]))
        try await database.deleteRecordZone(withID: RecordZone.ID(zoneName: "gone"))
        try await container.mark("between")
        let many = (0..<24).map {
            maker.record("many-\($0)", ["content": maker.filling($0, count: 700)])
        }
        _ = try await database.modifyRecords(saving: many, atomically: true)
        try await maker.replaceAll(database, text: "third ")
        try await container.maintenance.compact()
        try await maker.replaceAll(database, text: "fourth ")
        try await container.close()
        try maker.forgetCheckpoint()
        return maker
    }

    /// Every state from one on, compacted; before it one at a mark, and none at one that was removed.
    static func history() async throws -> StoreFiles {
        let maker = SampleMaker(seed: 41)
        let container = try maker.open()
        let database = container.privateDatabase(for: "alice")
        try await maker.fill(database, saves: 12, length: 600)
        let removed = try await container.mark("removed")
        try await maker.replaceAll(database, text: "first ")
        try await container.mark("kept")
        try await maker.replaceAll(database, text: "second ")
        try await container.setHistoryPolicy(.age(seconds: 6))
        try await maker.replaceAll(database, text: "third ")
        try await container.setHistoryPolicy(.everything)
        try await database.deleteRecord(withID: Record.ID(recordName: "note-3", zoneID: zone))
        try await database.save(RecordZone(zoneName: "gone"))
        try await database.save(
            maker.record("lost", in: RecordZone.ID(zoneName: "gone"), ["number": .int64(1)]))
        try await database.deleteRecordZone(withID: RecordZone.ID(zoneName: "gone"))
        try await maker.replaceAll(database, text: "fourth ")
        try await container.removeMark(removed)
        try await container.maintenance.compact()
        try await maker.replaceAll(database, text: "fifth ")
        try await container.close()
        try maker.forgetCheckpoint()
        return maker.files
    }

    /// Deletions that are forgotten, of which nothing is left, and some that are remembered.
    static func forgotten() async throws -> StoreFiles {
        let maker = SampleMaker(seed: 42)
        let container = try maker.open()
        let database = container.privateDatabase(for: "alice")
        let emptied = RecordZone.ID(zoneName: "emptied")
        func id(_ name: String, in zone: RecordZone.ID = zone) -> Record.ID {
            Record.ID(recordName: name, zoneID: zone)
        }
        try await maker.fill(database, saves: 12, length: 600)
        try await database.save(RecordZone(zoneID: emptied))
        try await database.save(maker.record("only", in: emptied, ["number": .int64(1)]))
        try await database.deleteRecord(withID: id("only", in: emptied))
        try await database.save(RecordZone(zoneName: "quiet"))
        try await database.save(
            maker.record("stays", in: RecordZone.ID(zoneName: "quiet"), ["number": .int64(1)]))
        for name in ["note-3", "note-4"] { try await database.deleteRecord(withID: id(name)) }
        try await database.save(maker.record("note-4", type: "Task", ["number": .int64(4)]))
        try await container.setDeletionPolicy(.none)
        try await maker.replaceAll(database, text: "first ")
        try await container.maintenance.compact()
        try await database.deleteRecord(withID: id("note-9"))
        try await container.setDeletionPolicy(.age(seconds: 3600))
        try await maker.replaceAll(database, text: "second ")
        try await database.deleteRecord(withID: id("note-10"))
        try await container.maintenance.compact()
        try await container.close()
        try maker.forgetCheckpoint()
        return maker.files
    }

    func replaceAll(_ database: Database, text: String) async throws {
        for number in [0, 1, 2, 5, 6, 7] {
            var record = try await database.record(
                for: Record.ID(recordName: "note-\(number)", zoneID: Self.zone))
            record["text"] = .string(String(repeating: text, count: 40 + number))
            try await database.save(record)
        }
    }

    private func link(_ database: Database, parent: String, target: String) async throws {
        func id(_ name: String) -> Record.ID { Record.ID(recordName: name, zoneID: Self.zone) }
        var record = try await database.record(for: id("note-8"))
        record.parent = Reference(recordID: id(parent), action: .none)
        record["target"] = .reference(Reference(recordID: id(target), action: .deleteSelf))
        try await database.save(record)
    }

    func forgetCheckpoint() throws {
        try editManifest { $0.set(nil) }
        for name in files.keys where name.hasPrefix(Manifest.Checkpoint.filePrefix) {
            disk.delete("\(storePath)/\(name)")
        }
    }

    /// The same with one thing wrong each.
    static func damagedCompacted() async throws -> [(String, StoreFiles)] {
        let whole = try await compacted().files
        guard let name = whole.keys.filter({ $0.hasPrefix("compacted-") }).max() else { return [] }
        func changed(_ body: (inout CompactedImage) -> Void) -> StoreFiles {
            var image = CompactedImage(whole[name] ?? [])
            body(&image)
            var files = whole
            files[name] = image.bytes
            return files
        }
        var missing = whole
        missing[name] = nil
        return [
            ("missing", missing), ("truncated", changed { $0.bytes.removeLast(8) }),
            ("magic", changed { $0.bytes[1] ^= 1 }),
            ("header-flipped", changed { $0.bytes[50] ^= 1 }),
            (
                "newer-format",
                changed {
                    $0.bytes[10] = 2
                    $0.sealHeader()
                }
            ),
            (
                "newer-features",
                changed {
                    $0.bytes[120] = 4
                    $0.sealHeader()
                }
            ),
            (
                "reserved",
                changed {
                    $0.bytes[140] = 1
                    $0.sealHeader()
                }
            ),
            (
                "identity",
                changed {
                    $0.bytes[33] ^= 1
                    $0.sealHeader()
                }
            ),
            ("footer-count", changed { $0.put(UInt32.max, at: $0.footer) }),
            ("footer-flipped", changed { $0.bytes[$0.footer + 17] ^= 1 }),
            (
                "footer-place",
                changed {
                    $0.put($0.uint32($0.footer + 4) + 8, at: $0.footer + 4)
                    $0.sealFooter()
                }
            ),
            ("directory-flipped", changed { $0.bytes[$0.directory + 3] ^= 1 }),
            (
                "directory-row",
                changed {
                    $0.put(UInt32(64), at: $0.directory + 8)
                    $0.sealDirectory()
                }
            ),
            ("block-flipped", changed { $0.bytes[300] ^= 1 }),
            (
                "block-lengths",
                changed {
                    $0.put(UInt32(1), at: 256 + 8)
                    $0.sealBlock(256)
                }
            ),
            (
                "block-compression",
                changed { image in
                    let place = image.packedBlock
                    for byte in place + 24..<place + 34 { image.bytes[byte] = 0xff }
                    image.sealBlock(place)
                }
            ),
            (
                "newer-flags",
                changed { image in
                    // Behind the head and a delta of one byte stand the flags of the first entry.
                    image.bytes[image.plainBlock + 25] |= 8
                    image.sealBlock(image.plainBlock)
                }
            ),
            (
                "entry",
                changed { image in
                    // No kind of an entry.
                    image.bytes[image.plainBlock + 26] = 1
                    image.sealBlock(image.plainBlock)
                }
            ),
            (
                "payload",
                changed { image in
                    image.bytes[image.end(ofBlock: image.plainBlock) - 1] ^= 1
                    image.sealBlock(image.plainBlock)
                }
            ),
        ]
    }
}

/// The bytes of a compacted segment with one piece of directory, read and changed as
/// `Formats/Compacted.md` says and by no other means.
struct CompactedImage {
    var bytes: [UInt8]

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    private var salt: UInt64 { bytes.span.uint64(at: 40) }
    var footer: Int { bytes.count - 40 }
    var directory: Int { Int(uint32(footer + 4)) }
    private var rows: Range<Int> { directory..<directory + Int(uint32(footer)) * 16 }
    private var blocks: [Int] {
        stride(from: rows.lowerBound, to: rows.upperBound, by: 16).map { Int(uint32($0 + 8)) }
    }

    /// The first block whose entries are stored as they are.
    var plainBlock: Int { blocks.first { uint32($0 + 8) == uint32($0 + 12) } ?? 256 }

    /// The first block that LZ4 has made smaller.
    var packedBlock: Int { blocks.first { uint32($0 + 8) > uint32($0 + 12) } ?? 256 }

    func end(ofBlock place: Int) -> Int { place + 24 + Int(uint32(place + 12)) }

    func uint32(_ place: Int) -> UInt32 { bytes.span.uint32(at: place) }

    mutating func put(_ value: UInt32, at place: Int) {
        for index in 0..<4 {
            bytes[place + index] = UInt8(truncatingIfNeeded: value >> (index * 8))
        }
    }

    private mutating func put(_ value: UInt64, at place: Int) {
        for index in 0..<8 {
            bytes[place + index] = UInt8(truncatingIfNeeded: value >> (index * 8))
        }
    }

    mutating func sealHeader() { put(Checksum.xxh3(bytes.span, in: 0..<248), at: 248) }

    mutating func sealBlock(_ place: Int) {
        let checksum = Checksum.xxh3(
            bytes.span, in: place + 8..<end(ofBlock: place), seed: salt &+ UInt64(place))
        put(checksum, at: place)
    }

    mutating func sealDirectory() {
        let checksum = Checksum.xxh3(
            bytes.span, in: rows, seed: salt &+ UInt64(rows.lowerBound))
        put(checksum, at: rows.upperBound)
    }

    mutating func sealFooter() {
        let top = footer - 8
        put(
            Checksum.xxh3(bytes.span, in: top..<bytes.count - 8, seed: salt &+ UInt64(top)),
            at: bytes.count - 8)
    }
}
