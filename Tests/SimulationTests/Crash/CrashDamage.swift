import StratusBytes
import StratusFiles
import StratusJournal
import Support

/// Damage that a crash alone does not do, and what an opening may say to it.
struct CrashDamage: CustomStringConvertible {
    enum Kind: String, CaseIterable {
        case closedSegment = "a byte before the stated end of a segment"
        case activeSegment = "a byte of the last segment"
        case manifest = "a byte of the manifest, or one of each of its copies"
        case checkpoint = "a byte of the checkpoint or of its file"
        case readError = "a read that fails"
        case staleFrame = "a frame of another segment at the tail"
    }

    var kind: Kind
    private var file = ""
    private var byte = 0
    var mustBeRefused = false
    /// The opening must say that one copy in the manifest is damaged.
    var mustBeReported = false
    /// The checkpoint may not be used.
    var mustBeDiscarded = false

    var description: String { "\(kind.rawValue) (\(file), \(byte))" }

    /// Damages what a crash left; nil where that offers no place.
    init?(_ wanted: Kind?, to store: TestStore, _ generator: inout SeededGenerator) throws {
        kind = wanted ?? Kind.allCases[generator.below(Kind.allCases.count)]
        let disk = store.disk
        if kind == .readError {
            disk.faults = [
                DiskFault(.fail(.inputOutput), at: 1 + generator.below(12), of: .read)
            ]
            return
        }
        // A crash may leave not even the directory.
        guard disk.exists(TestStore.directory) else { return nil }
        let storage = try LocalStorage(at: TestStore.directory, .reading, on: disk.process())
        guard let manifest = try Journal.newestManifest(in: storage),
            let active = manifest.segments.last
        else { return nil }
        let bytes = disk.contents(store.path(manifest.fileName))
        let checkpointPlace = manifest.checkpointPlace
        switch kind {
        case .manifest:
            file = manifest.fileName
            byte = generator.below(checkpointPlace)
            let inCopy = bytes.count - 8 - 1 - generator.below(checkpointPlace)
            mustBeRefused = generator.oneIn(2)
            mustBeReported = !mustBeRefused
            if mustBeRefused {
                disk.flip(store.path(file), at: inCopy, mask: UInt8(1) << UInt8(generator.below(8)))
            } else if generator.oneIn(2) {
                byte = inCopy
            }
        case .checkpoint:
            guard let name = manifest.checkpoint?.files.first else { return nil }
            let isInManifest = generator.oneIn(2)
            file = isInManifest ? manifest.fileName : name
            byte =
                isInManifest
                ? checkpointPlace + generator.below(Int(bytes.span.uint64(at: 64)))
                : generator.below(disk.contents(store.path(name)).count)
            mustBeDiscarded = true
        case .closedSegment:
            let closed = manifest.segments.filter { $0.state != .active && !$0.isEmpty }
            guard !closed.isEmpty else { return nil }
            let segment = closed[generator.below(closed.count)]
            file = segment.fileName
            byte = generator.below(segment.end.bytes(since: segment.base))
            mustBeRefused = Self.isRead(byte, of: segment, manifest)
        case .activeSegment:
            file = active.fileName
            let bytes = disk.contents(store.path(file))
            let end = bytes.lastIndex { $0 != 0 } ?? 0
            let durable = active.end.bytes(since: active.base)
            byte = generator.oneIn(2) ? generator.below(durable) : generator.below(end + 1)
            mustBeRefused = byte < durable && Self.isRead(byte, of: active, manifest)
        case .staleFrame:
            guard try placeStaleFrame(in: store, manifest, &generator) else { return nil }
            return
        case .readError: break
        }
        disk.flip(store.path(file), at: byte, mask: UInt8(1) << UInt8(generator.below(8)))
    }

    /// Whether an opening reads a byte: before the checkpoint it reads nothing but the header of
    /// the segment that the checkpoint lies in.
    private static func isRead(
        _ byte: Int, of segment: Manifest.Segment, _ manifest: Manifest
    ) -> Bool {
        guard let begin = manifest.checkpoint?.position.offset else { return true }
        if begin < segment.firstGroup { return true }
        let holds =
            segment.state == .active ? begin <= segment.limit : begin <= segment.end
        return holds
            && (byte < SegmentHeader.length || byte >= begin.bytes(since: segment.base))
    }

    /// Puts a frame of another segment where the journal ends in nothing but zeros.
    private mutating func placeStaleFrame(
        in store: TestStore, _ manifest: Manifest, _ generator: inout SeededGenerator
    ) throws -> Bool {
        let copy = SimulatedDisk(copying: store.disk)
        let end = try TestStore(on: copy, preamble: store.preamble).open().report
        guard let active = manifest.segments.last, manifest.segments.count > 1,
            end.row == .cleanTail, end.droppedBytes == 0, end.end >= active.firstGroup,
            end.end.bytes(since: active.base) + 64 <= active.lengthInBytes
        else { return false }
        let other = manifest.segments[generator.below(manifest.segments.count - 1)]
        file = active.fileName
        byte = end.end.bytes(since: active.base)
        let frame = RawFrame().bytes(
            at: other.base.advanced(byBytes: byte), salt: other.salt)
        store.disk.overwrite(store.path(file), at: byte, with: frame)
        return true
    }

    /// Why an opening may not fail in this way, or nil.
    func objection(to error: any Error) -> String? {
        switch (kind, error) {
        case (.readError, JournalError.storage(let error)) where error.kind == .inputOutput: nil
        case (.manifest, JournalError.damaged(let damage)) where damage.file == file: nil
        case (.closedSegment, JournalError.refused(let row, let damage))
        where (row == .damageInSealedSegment || row == .damageBeforeManifestEnd)
            && damage.file == file && damage.byte <= byte:
            nil
        case (.activeSegment, JournalError.refused(let row, let damage))
        where damage.file == file && damage.byte <= byte && !row.isAccepted: nil
        default: "\(self): \(error)"
        }
    }
}
