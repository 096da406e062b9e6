import StratusBytes
import StratusFiles
import StratusJournal
import Support
import Testing

/// A manifest of which one of the two copies is damaged, or both.
struct ManifestCopyTests {
    private let name: String
    private let manifest: Manifest
    private let bytes: [UInt8]
    /// Where the copy begins.
    private let copy: Int

    /// With a checkpoint between the two, or with none.
    init() throws {
        let store = TestStore(preamble: [1, 2])
        let session = try store.open()
        session.commit([ModelCommit(1, [3_000])])
        session.idle()
        let frozen = try #require(session.frozen())
        try session.take(frozen)
        manifest = session.manifest
        name = manifest.fileName
        bytes = manifest.encoded()
        copy = bytes.count - 8 - manifest.checkpointPlace
        #expect(manifest.checkpoint != nil)
    }

    private func read(_ bytes: [UInt8]) throws(JournalDamage) -> Manifest {
        try Manifest(bytes, file: name)
    }

    /// What is read of `bytes` and writes the same as the whole.
    private func isWhole(_ manifest: Manifest) -> Bool { manifest.encoded() == bytes }

    @Test func `a byte that goes bad does no harm, and is found`() throws {
        let checkpointEnd = manifest.checkpointPlace + Int(bytes.span.uint64(at: 64))
        #expect(copy >= checkpointEnd && copy % 4096 == 0)
        for place in bytes.indices {
            for bit: UInt8 in [1, 0x80] {
                var damaged = bytes
                damaged[place] ^= bit
                let read = try read(damaged)
                let found = read.damage?.kind
                switch place {
                case ..<manifest.checkpointPlace:
                    #expect(isWhole(read) && found != nil && found != .manifest("copy"), "\(place)")
                case ..<checkpointEnd:
                    #expect(found == nil && read.checkpointDamage != nil, "\(place)")
                default:
                    #expect(isWhole(read) && found == .manifest("copy"), "\(place)")
                    #expect(read.damage?.byte == copy)
                }
            }
        }
    }

    @Test func `where both copies are damaged the store is refused for the first`() throws {
        for place in stride(from: 0, to: manifest.checkpointPlace, by: 7) {
            var damaged = bytes
            damaged[place] ^= 1
            let own = try #require(try read(damaged).damage)
            damaged[copy + (place * 3) % manifest.checkpointPlace] ^= 4
            #expect(throws: own) { try read(damaged) }
        }
    }

    @Test func `a length of the copy that cannot be right is no way to it`() throws {
        var damaged = bytes
        damaged[60] ^= 1
        let right = UInt64(manifest.checkpointPlace)
        for length in [0, 1, right - 1, right + 4096, UInt64(bytes.count), 1 << 40, .max] {
            var writer = ByteWriter()
            writer.append(damaged)
            writer.set(length, at: bytes.count - 8)
            #expect(throws: JournalDamage.self) { try read(writer.bytes) }
        }
    }

    @Test func `of a manifest that is cut, the beginning is enough`() throws {
        let checkpointEnd = manifest.checkpointPlace + Int(bytes.span.uint64(at: 64))
        for count in bytes.indices {
            let cut = Array(bytes[..<count])
            if count < manifest.checkpointPlace {
                #expect(throws: JournalDamage.self) { try read(cut) }
            } else {
                let read = try read(cut)
                #expect(read.segments == manifest.segments)
                #expect(read.damage?.kind == .manifest("copy"), "\(count) bytes")
                #expect((read.checkpoint == manifest.checkpoint) == (count >= checkpointEnd))
            }
        }
    }

    @Test func `the copy of another generation does not count`() throws {
        var other = manifest
        other.generation += 1
        let foreign = other.encoded()
        var damaged = bytes
        damaged[60] ^= 1
        damaged.replaceSubrange(copy..<bytes.count - 8, with: foreign[..<manifest.checkpointPlace])
        #expect(throws: JournalDamage.self) { try read(damaged) }
    }

    @Test func `where the copy is of a newer format that is what the store is`() throws {
        var newer = manifest
        newer.features.incompatible = 8
        var damaged = newer.encoded()
        damaged[60] ^= 1
        let error = #expect(throws: JournalDamage.self) { try read(damaged) }
        #expect(error?.isNewer == true)
    }

    @Test func `what a manifest says is told of each of its bytes, of one that is cut, too`() {
        for length in [
            manifest.checkpointPlace, manifest.checkpointPlace + 5, copy + 3, bytes.count,
        ] {
            for byte in 0..<length {
                #expect(manifest.part(at: byte, length: length).bytes.contains(byte))
            }
        }
    }

    /// A storage of which a part of each file cannot be read.
    private final class HalfReadable: StorageWrapper {
        let under: any Storage
        let range: Range<Int>

        init(_ under: any Storage, _ range: Range<Int>) {
            self.under = under
            self.range = range
        }

        func open(_ name: String) throws(StorageError) -> any StorageFile {
            HalfReadableFile(try under.open(name), range)
        }
    }

    private final class HalfReadableFile: StorageFileWrapper {
        let under: any StorageFile
        let range: Range<Int>

        init(_ under: any StorageFile, _ range: Range<Int>) {
            self.under = under
            self.range = range
        }

        func read(_ wanted: Range<Int>, _ mode: ReadMode) throws(StorageError) -> [UInt8] {
            if wanted.overlaps(range) { throw StorageError(.inputOutput, file: name) }
            return try under.read(wanted, mode)
        }
    }

    @Test func `a block that cannot be read does no harm where it has one of the two copies`()
        throws
    {
        let store = TestStore(preamble: [1, 2])
        let session = try store.open()
        session.commit([ModelCommit(1, [3_000])])
        let storage = session.storage
        func read(without range: Range<Int>) throws -> Manifest? {
            try Journal.newestManifest(in: HalfReadable(storage, range))
        }
        let whole = try #require(try read(without: 1 << 20..<1 << 21))
        #expect(whole.damage == nil)
        let first = try #require(try read(without: 0..<1))
        #expect(first.segments == whole.segments && first.damage?.kind == .manifest("magic"))
        let second = try #require(try read(without: 4096..<4097))
        #expect(second.segments == whole.segments && second.damage?.kind == .manifest("copy"))
        #expect(throws: StorageError.self) { try read(without: 0..<8192) }
    }

    @Test func `an opening for writing replaces both, and says what it found`() throws {
        let store = TestStore(preamble: [1, 2])
        var session = try store.open()
        session.commit([ModelCommit(1, [3_000])])
        try session.committer.close()
        let before = session.manifest
        store.disk.killProcesses()
        var damaged = before.encoded()
        damaged[70] ^= 1
        store.disk.replaceContents(store.path(before.fileName), damaged)
        session = try store.open()
        #expect(session.report.manifestDamage?.file == before.fileName)
        #expect(session.recovered.map(\.number) == [1])
        #expect(session.manifest.damage == nil)
        #expect(try session.findings() == [])
    }
}
