internal import StratusFiles
internal import Synchronization

/// The files of a journal's segments: the header of each is checked when it is first read.
package final class SegmentFiles: Sendable {
    private let storage: any Storage
    private let storeID: StoreID
    private let cache: BlockCache?
    private let files = Mutex<[Key: any StorageFile]>([:])
    /// By their numbers: such a segment may begin where another one does.
    private let compacted = Mutex<[UInt64: CompactedFile]>([:])

    /// A segment, and whether it may still change: views of before it was full show it so.
    private struct Key: Hashable {
        var base: JournalOffset
        var isActive: Bool

        init(_ segment: Manifest.Segment) {
            base = segment.base
            isActive = segment.state == .active
        }

        init(_ base: JournalOffset, isActive: Bool) {
            self.base = base
            self.isActive = isActive
        }
    }

    init(in storage: any Storage, of storeID: StoreID, cache: BlockCache?) {
        self.storage = storage
        self.storeID = storeID
        self.cache = cache
    }

    /// Where entries of a segment are kept that were read one by one, each under its offset; nil:
    /// nowhere, since the file is read as memory.
    func cache(of segment: Manifest.Segment) -> BlockCache? {
        storage.maps && segment.state != .active && !segment.isCompacted ? nil : cache
    }

    /// The file of a segment. An opening may wait for the medium, so that in the mode `resident` a
    /// file that is not open fails with `.notResident`.
    func file(
        of segment: Manifest.Segment, _ mode: ReadMode
    ) throws(JournalError) -> any StorageFile {
        let key = Key(segment)
        if let file = files.withLock({ $0[key] }) { return file }
        guard mode == .blocking else {
            throw .storage(StorageError(.notResident, file: segment.fileName))
        }
        // No thread waits for the medium because another one does; the file that is kept is the
        // first one's.
        let file = try open(segment)
        return files.withLock { files in
            if let other = files[key] { return other }
            files[key] = file
            return file
        }
    }

    /// The same of a compacted segment.
    func compacted(
        _ segment: Manifest.Segment, _ mode: ReadMode
    ) throws(JournalError) -> CompactedFile {
        if let file = compacted.withLock({ $0[segment.number] }) { return file }
        guard mode == .blocking else {
            throw .storage(StorageError(.notResident, file: segment.fileName))
        }
        let file = try CompactedFile(segment, in: storage, of: storeID, cache: cache)
        return compacted.withLock { files in
            if let other = files[segment.number] { return other }
            files[segment.number] = file
            return file
        }
    }

    /// The segment is no part of the journal any more.
    func forget(_ name: String) {
        // Released, and perhaps closed, outside the lock.
        if let base = SegmentHeader.base(ofFile: name) {
            let gone = files.withLock { files in
                [true, false].map { files.removeValue(forKey: Key(base, isActive: $0)) }
            }
            withExtendedLifetime(gone) {}
        } else if let number = CompactedHeader.number(ofFile: name) {
            compacted.withLock { $0.removeValue(forKey: number) }?.forget()
        }
    }

    /// Takes the file of a segment that was just made.
    func add(_ file: any StorageFile, of segment: Manifest.Segment) {
        files.withLock { $0[Key(segment)] = file }
    }

    private func open(_ segment: Manifest.Segment) throws(JournalError) -> any StorageFile {
        let name = segment.fileName
        func damage(_ kind: JournalDamage.Kind) -> JournalError {
            JournalError(JournalDamage(kind, file: name, byte: 0))
        }
        do {
            let file = try storage.open(segment)
            let header = try SegmentHeader(file.read(0..<SegmentHeader.length), file: name)
            guard header.belongs(to: segment, of: storeID) else {
                throw damage(.segmentHeader("identity"))
            }
            return file
        } catch let error as StorageError {
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

extension Storage {
    /// The file of a segment, which changes only while it is the active one: it must be there, with the
    /// length that the manifest states.
    func open(_ segment: Manifest.Segment) throws(JournalError) -> any StorageFile {
        let name = segment.fileName
        let file: any StorageFile
        do throws(StorageError) {
            file = try segment.state == .active ? open(name) : openUnchanging(name)
        } catch {
            guard error.kind == .notFound else { throw .storage(error) }
            throw JournalError(JournalDamage(.missingFile, file: name, byte: 0))
        }
        guard file.length == segment.lengthInBytes else {
            throw JournalError(JournalDamage(.fileLength, file: name, byte: file.length))
        }
        return file
    }
}
