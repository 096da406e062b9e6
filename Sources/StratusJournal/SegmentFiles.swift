internal import StratusFiles
internal import Synchronization

/// The files of a journal's segments: each is opened, and its header checked, when it is first
/// read. Of those that were not read lately only so many stay open.
package final class SegmentFiles: Sendable {
    fileprivate final class OpenSegment {
        let file: any StorageFile
        var lastUse: UInt64

        init(_ file: any StorageFile, lastUse: UInt64) {
            self.file = file
            self.lastUse = lastUse
        }
    }

    fileprivate struct State {
        var files: [JournalOffset: OpenSegment] = [:]
        var useCount: UInt64 = 0
    }

    /// So many files are open at once, and those that reads still hold: a store of 10 GB has no
    /// more segments, and a process may have 1,024 files open where nobody has said otherwise.
    package static let limit = 256

    private let storage: any Storage
    private let storeID: StoreID
    /// Where entries are kept that were read one by one, each under its offset.
    let cache: BlockCache?
    private let state = Mutex(State())

    init(in storage: any Storage, of storeID: StoreID, cache: BlockCache?) {
        self.storage = storage
        self.storeID = storeID
        self.cache = cache
    }

    /// The file of a segment. An opening may wait for the medium, so that in the mode `resident` a
    /// file that is not open fails with `.notResident`.
    func file(
        of segment: Manifest.Segment, _ mode: ReadMode
    ) throws(JournalError) -> any StorageFile {
        if let file = state.withLock({ $0.use(segment.base) }) { return file }
        guard mode == .blocking else {
            throw .storage(StorageError(.notResident, file: segment.fileName))
        }
        // Nobody waits for the medium because somebody else does; who comes second is used.
        let file = try open(segment)
        return state.withLock { state in
            if let other = state.use(segment.base) { return other }
            state.add(file, segment.base)
            return file
        }
    }

    /// Takes the file of a segment that was just made.
    func add(_ file: any StorageFile, of segment: Manifest.Segment) {
        state.withLock { $0.add(file, segment.base) }
    }

    private func open(_ segment: Manifest.Segment) throws(JournalError) -> any StorageFile {
        let name = segment.fileName
        func damage(_ kind: JournalDamage.Kind) -> JournalError {
            JournalError(JournalDamage(kind, file: name, byte: 0))
        }
        do {
            let file = try storage.open(name)
            guard file.length == segment.lengthInBytes else {
                throw JournalError.damaged(
                    JournalDamage(
                        .fileLength, file: name, byte: file.length, offset: segment.base))
            }
            let header = try SegmentHeader(file.read(0..<SegmentHeader.length), file: name)
            guard header.belongs(to: segment, of: storeID) else {
                throw damage(.segmentHeader("identity"))
            }
            return file
        } catch let error as StorageError {
            if error.kind == .notFound { throw damage(.missingFile) }
            throw .storage(error)
        } catch let error as JournalDamage {
            throw JournalError(error)
        } catch let error as JournalError {
            throw error
        } catch {
            throw .storage(StorageError(.inputOutput, file: name))
        }
    }
}

extension SegmentFiles.State {
    fileprivate mutating func use(_ base: JournalOffset) -> (any StorageFile)? {
        guard let segment = files[base] else { return nil }
        useCount += 1
        segment.lastUse = useCount
        return segment.file
    }

    fileprivate mutating func add(_ file: any StorageFile, _ base: JournalOffset) {
        useCount += 1
        files[base] = SegmentFiles.OpenSegment(file, lastUse: useCount)
        guard files.count > SegmentFiles.limit else { return }
        let oldest = files.min { $0.value.lastUse < $1.value.lastUse }
        if let oldest { files[oldest.key] = nil }
    }
}
