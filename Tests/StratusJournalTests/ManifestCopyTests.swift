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
        for place in bytes.indices {
            for bit: UInt8 in [1, 0x80] {
                var damaged = bytes
                damaged[place] ^= bit
                // A version that a reader does not know is believed where the checksum holds alone.
                let read = try read(damaged)
                let found = read.damage ?? read.checkpointDamage ?? read.copyDamage(damaged)
                switch place {
                case ..<manifest.checkpointPlace:
                    #expect(isWhole(read) && read.damage != nil, "byte \(place)")
                case ..<copy:
                    #expect(read.damage == nil && read.checkpointDamage != nil, "byte \(place)")
                default:
                    #expect(isWhole(read) && read.damage == nil, "byte \(place)")
                }
                #expect(found?.file == name, "byte \(place)")
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
        for length in [0, 1, 127, UInt64(copy), UInt64(bytes.count), 1 << 40, .max] {
            var writer = ByteWriter()
            writer.append(damaged)
            writer.set(length, at: bytes.count - 8)
            #expect(throws: JournalDamage.self) { try read(writer.bytes) }
        }
    }

    @Test func `of a manifest that is cut, the beginning is enough`() throws {
        for count in bytes.indices {
            let cut = Array(bytes[..<count])
            if count < manifest.checkpointPlace {
                #expect(throws: JournalDamage.self) { try read(cut) }
            } else {
                let read = try read(cut)
                #expect(read.segments == manifest.segments && read.damage == nil)
                #expect(read.copyDamage(cut) != nil, "\(count) bytes")
            }
        }
    }

    @Test func `the copy of another store does not count`() throws {
        var other = manifest
        other.generation += 1
        let foreign = other.encoded()
        var damaged = bytes
        damaged[60] ^= 1
        damaged.replaceSubrange(copy..<bytes.count - 8, with: foreign[..<manifest.checkpointPlace])
        #expect(throws: JournalDamage.self) { try read(damaged) }
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
