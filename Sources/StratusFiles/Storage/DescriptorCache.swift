internal import Synchronization

/// The open descriptors of a store's files: those used lately, and no more than the limit.
///
/// A file that is read again after its descriptor was closed is opened again by its name. No file is
/// closed under the lock: of one that was deleted that may take long.
final class DescriptorCache: Sendable {
    private struct Entry {
        var file: OpenFile
        var lastUse: UInt64
    }

    private struct State {
        var entries: [String: Entry] = [:]
        var useCount: UInt64 = 0
    }

    private let directory: OpenFile
    private let mode: OpenMode
    private let limit: Int
    private let state = Mutex(State())

    init(of directory: OpenFile, _ mode: OpenMode, limit: Int) {
        self.directory = directory
        self.mode = mode
        self.limit = limit
    }

    /// The file of a name where it is open; nil otherwise.
    func opened(_ name: String) -> OpenFile? {
        state.withLock { state in
            state.useCount += 1
            guard let place = state.entries.index(forKey: name) else { return nil }
            state.entries.values[place].lastUse = state.useCount
            return state.entries.values[place].file
        }
    }

    /// The file of a name, which is opened where it is not. Where the process has too many files
    /// open, those that are not in use are closed first.
    func open(_ name: String) throws(StorageError) -> OpenFile {
        if let file = opened(name) { return file }
        let file: OpenFile
        do {
            file = try OpenFile(name, in: directory, mode)
        } catch {
            guard error.kind == .tooManyFiles else { throw error }
            let closed = state.withLock { state in
                defer { state.entries = [:] }
                return state.entries
            }
            withExtendedLifetime(closed) {}
            file = try OpenFile(name, in: directory, mode)
        }
        // Of two threads that opened it the first one's is kept.
        return opened(name) ?? add(file)
    }

    @discardableResult
    func add(_ file: OpenFile) -> OpenFile {
        let closed = state.withLock { state -> Entry? in
            state.useCount += 1
            state.entries[file.name] = Entry(file: file, lastUse: state.useCount)
            guard state.entries.count > limit else { return nil }
            let oldest = state.entries.min { $0.value.lastUse < $1.value.lastUse }
            return oldest.flatMap { state.entries.removeValue(forKey: $0.key) }
        }
        withExtendedLifetime(closed) {}
        return file
    }

    func forget(_ name: String) {
        let closed = state.withLock { $0.entries.removeValue(forKey: name) }
        withExtendedLifetime(closed) {}
    }
}
