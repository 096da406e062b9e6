import StratusBytes
import StratusFiles
import StratusJournal
import Support
import Testing

/// Frames, segment headers and manifests, with each field damaged in turn.
struct CodecTests {
    private static let offset = JournalOffset(rawValue: 4_711)
    private static let salt: UInt64 = 0x1234_5678

    private func fault(_ bytes: [UInt8], end: Int? = nil, offset: JournalOffset = Self.offset)
        -> FrameFault?
    {
        do throws(FrameFault) {
            let header = try FrameHeader(
                bytes.span, at: 0, end: end ?? bytes.count, offset: offset, salt: Self.salt)
            try header.verifyPayload(bytes.span, at: 0)
            return nil
        } catch {
            return error
        }
    }

    private func frame(_ change: (inout RawFrame) -> Void) -> [UInt8] {
        var frame = RawFrame()
        frame.payload = [UInt8](repeating: 9, count: 21)
        change(&frame)
        return frame.bytes(at: Self.offset, salt: Self.salt)
    }

    @Test func `a frame that is whole is read as it was written`() throws {
        let bytes = frame {
            $0.ordinal = 1 << 31 | 5
            $0.time = -77
        }
        let header = try FrameHeader(
            bytes.span, at: 0, end: bytes.count, offset: Self.offset, salt: Self.salt)
        #expect(header.kind == EntryKind(rawValue: 32) && header.zone == 7)
        #expect(header.ordinal == 5 && header.isLast && header.payloadLength == 21)
        #expect(header.version.offset == Self.offset && header.frameLength == 72)
        #expect(header.commitTime == -77)
        #expect(fault(bytes) == nil)
    }

    @Test(arguments: [0, 1 << 31] as [UInt32])
    func `any changed byte of a frame shows`(ordinal: UInt32) {
        let bytes = frame { $0.ordinal = ordinal }
        let headerLength = ordinal == 0 ? 40 : 48
        for place in bytes.indices {
            var changed = bytes
            changed[place] ^= 1
            let expected: FrameFault = place < headerLength ? .headerChecksum : .payloadChecksum
            #expect(fault(changed) == expected)
        }
    }

    @Test func `the payload's checksum does not depend on the place of an entry`() throws {
        func checksum(_ bytes: [UInt8], _ offset: JournalOffset) throws -> UInt64 {
            try FrameHeader(
                bytes.span, at: 0, end: bytes.count, offset: offset, salt: Self.salt
            ).payloadChecksum
        }
        var copied = RawFrame()
        copied.payload = [UInt8](repeating: 9, count: 21)
        copied.version = Self.offset.rawValue
        let other = Self.offset.advanced(byBytes: 4_096)
        copied.ordinal = 1 << 31 | 3
        copied.time = 12
        let first = try checksum(frame { $0.ordinal = 1 }, Self.offset)
        #expect(try checksum(copied.bytes(at: other, salt: Self.salt), other) == first)
    }

    @Test func `a frame is valid at one offset, and in one segment's life`() {
        let bytes = frame { _ in }
        #expect(fault(bytes, offset: Self.offset.advanced(byBytes: 8)) == .headerChecksum)
        var other = RawFrame()
        other.payload = [1]
        #expect(fault(other.bytes(at: Self.offset, salt: 1)) == .headerChecksum)
    }

    @Test func `zeros are no frame, and no frame reaches beyond its end`() {
        #expect(fault([UInt8](repeating: 0, count: 64)) == .zero)
        #expect(fault([UInt8](repeating: 0, count: 39)) == .length)
        let last = frame { $0.ordinal = 1 << 31 }
        #expect(fault(Array(last[..<47]), end: 72) == .length)
        let bytes = frame { _ in }
        #expect(fault(bytes, end: 56) == .length)
        #expect(fault(Array(bytes[..<56]), end: 64) == .length)
    }

    /// Values that the checksums cover and the format forbids.
    static let forbidden: [(String, @Sendable (inout RawFrame) -> Void)] = [
        ("field kind", { $0.kind = 0 }),
        ("newer flags 1", { $0.flags = 1 }),
        ("field reserved", { $0.reserved = 1 }),
        ("field length", { $0.length = 16 << 20 | 1 }),
        (
            "field ordinal",
            {
                $0.kind = 3
                $0.ordinal = 1
            }
        ),
        (
            "field ordinal",
            {
                $0.kind = 3
                $0.ordinal = 1 << 31
            }
        ),
        ("field padding", { $0.padding = 1 }),
        ("length", { $0.length = 1_000 }),
    ]

    @Test(arguments: forbidden.indices)
    func `a field that the format forbids is named, though the checksums hold`(index: Int) {
        let (name, change) = Self.forbidden[index]
        #expect(fault(frame(change))?.description == name)
    }

    @Test func `a group header of another length or with odd values is none`() throws {
        let header = GroupHeader(
            epoch: 1, frameCount: 2, lengthInBytes: 72, durableThrough: .zero, chain: 3)
        #expect(header.lengthInBytes == GroupHeader.frameLength)
        let chains = [[UInt64]](arrayLiteral: [1, 2], [2, 1], [1], [])
        let values = chains.map { Chain.after(7, payloadChecksums: $0) }
        #expect(Set(values).count == 4)
        #expect(Chain.after(8, payloadChecksums: [1, 2]) != values[0])
    }

    @Test func `a trailer of another length is none`() {
        let bytes = [UInt8](repeating: 1, count: 49)
        #expect(throws: FormatError.self) { try Trailer(bytes.span) }
        #expect(throws: FormatError.self) { try Trailer(bytes.span.extracting(0..<47)) }
        #expect(throws: Never.self) { try Trailer(bytes.span.extracting(0..<48)) }
    }
}

/// The two layouts that are files or begin one.
struct FileCodecTests {
    private let store = TestStore()
    private let manifest: Manifest
    private let segment: [UInt8]
    private let segmentName: String

    init() throws {
        try store.write([[ModelCommit(1, [16])]]).kill()
        manifest = try store.write([[ModelCommit(2, [16])]]).manifest
        segmentName = manifest.segments[1].fileName
        let path = store.path(manifest.segments[1])
        segment = Array(store.disk.contents(path)[..<SegmentHeader.length])
    }

    private func sealed(_ bytes: [UInt8], seed: UInt64 = 0) -> [UInt8] {
        var writer = ByteWriter()
        writer.append(Array(bytes.dropLast(8)))
        writer.uint64(Checksum.xxh3(writer.bytes.span, seed: seed))
        return writer.bytes
    }

    private func header(_ bytes: [UInt8]) -> String {
        do {
            _ = try SegmentHeader(bytes, file: segmentName)
            return "whole"
        } catch {
            return error.file == segmentName ? error.kind.identifier : "names \(error.file)"
        }
    }

    @Test func `a segment header says what its manifest says`() throws {
        let header = try SegmentHeader(segment, file: segmentName)
        let listed = manifest.segments[1]
        #expect(header.base == listed.base && header.salt == listed.salt)
        #expect(header.lengthInBytes == listed.lengthInBytes && header.fileName == segmentName)
        #expect(header.identity == StoreIdentity(manifest) && header.epoch == manifest.epoch)
        #expect(header.predecessorBase == manifest.segments[0].base)
        #expect(header.predecessorEnd == manifest.segments[0].end)
        #expect(header.chain == manifest.segments[0].chainAtEnd)
    }

    @Test(arguments: [
        (0, "segment.magic"), (10, "format.newer 65281"), (12, "segment.reserved"),
        (40, "segment.size"), (39, "segment.reserved"), (60, "format.newer layout 254"),
        (96, "whole"), (100, "whole"), (104, "format.newer features 000000ff"),
        (108, "segment.reserved"), (112, "whole"), (153, "segment.reserved"),
        (154, "format.newer environment"), (155, "segment.reserved"), (156, "segment.reserved"),
        (160, "segment.reserved"), (4_087, "segment.reserved"),
    ])
    func `a field of a segment header is checked beyond its checksum`(place: Int, found: String) {
        var changed = segment
        changed[place] ^= 0xff
        #expect(header(changed) == (place == 0 ? found : "segment.checksum"))
        let expected = place == 10 ? "format.newer 254" : found
        #expect(header(sealed(changed)) == expected)
        #expect(header(Array(segment.dropLast())) == "segment.length")
    }

    private func decoded(_ bytes: [UInt8], _ name: String? = nil) -> String {
        do {
            _ = try Manifest(bytes, file: name ?? manifest.fileName)
            return "whole"
        } catch {
            return error.kind.identifier
        }
    }

    /// The manifest as it stands at the beginning of its file.
    private var withoutCopy: [UInt8] { Array(manifest.encoded()[..<manifest.checkpointPlace]) }

    @Test func `a manifest is read as it was written, and any changed byte shows`() throws {
        #expect(try Manifest(manifest.encoded(), file: manifest.fileName) == manifest)
        let bytes = withoutCopy
        for place in bytes.indices {
            var changed = bytes
            changed[place] ^= 0x10
            let found =
                switch place {
                case ..<8: "manifest.magic"
                case 12..<16, 112..<116: "manifest.length"
                default: "manifest.checksum"
                }
            #expect(decoded(changed) == found)
        }
        for length in 0..<bytes.count { #expect(decoded(Array(bytes[..<length])) != "whole") }
    }

    @Test(arguments: [
        (10, "format.newer 254"), (12, "manifest.length"), (16, "manifest.generation"),
        (50, "format.newer environment"), (51, "manifest.reserved"), (72, "whole"), (76, "whole"),
        (80, "format.newer features 000000ff"), (84, "manifest.reserved"),
        (104, "whole"), (112, "manifest.length"), (116, "manifest.reserved"),
        (120 + 8, "format.newer state"), (120 + 9, "manifest.order"),
        (120 + 48, "manifest.segment"),
        (120 + 24 + 6, "manifest.segment"), (120 + 56 + 7, "manifest.segment"),
    ])
    func `a field of a manifest is checked beyond its checksum`(place: Int, found: String) {
        var changed = withoutCopy
        changed[place] ^= 0xff
        #expect(decoded(sealed(changed, seed: manifest.generation)) == found)
    }

    /// The store with features that this code does not know.
    private func edited(_ change: (inout FeatureSet) -> Void) -> Manifest {
        var edited = manifest
        change(&edited.features)
        store.disk.killProcesses()
        store.disk.replaceContents(store.path(edited.fileName), edited.encoded())
        return edited
    }

    @Test func `a feature that only forbids writing leaves a store readable`() throws {
        let edited = edited { $0.readOnlyCompatible = 4 }
        let damage = JournalDamage(.newerFeatures(4), file: edited.fileName, byte: 76)
        #expect(throws: JournalError.newerFormat(damage)) { try store.open() }
        var follower = try TestFollower(store)
        try follower.follow()
        #expect(follower.commits.map(\.number) == [1])
    }

    @Test func `a writer keeps a compatible feature that it does not know`() throws {
        _ = edited { $0.compatible = 1 << 31 }
        let session = try store.write([[ModelCommit(3, [16])]])
        #expect(session.recovered.map(\.number) == [1, 2])
        try session.committer.close()
        #expect(session.manifest.features.compatible == 1 << 31)
    }

    @Test func `a manifest under another name or with segments out of order is refused`() {
        let other = Manifest.fileName(generation: manifest.generation + 1)
        #expect(decoded(manifest.encoded(), other) == "manifest.checksum")
        #expect(decoded(manifest.encoded(), "manifest-1") == "manifest.name")
        var swapped = manifest
        swapped.segments.swapAt(0, 1)
        #expect(decoded(swapped.encoded()) == "manifest.order")
    }
}
