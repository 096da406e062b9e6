/// A store's files in a directory.
///
/// Order of calls, for what must survive a crash: a file is synced before its name is, and its name
/// before anything refers to it.
package final class LocalStorage: Storage {
    package enum Access: Sendable {
        /// Takes the lock of the store's writer. With `creating`, the directory is made where it is
        /// missing.
        case writing(creating: Bool)
        /// Takes no lock and changes nothing.
        case reading
    }

    package let place: String
    package let fileSystem: any FileSystem
    let policy: WritePolicy
    let directory: OpenFile
    private let descriptors: DescriptorCache
    private let lock: StoreLock?
    package let maps: Bool
    /// The working directory when the store was opened; empty for readers.
    private let startDirectory: String

    /// So many files are open at once, and those in use: of a store of 10 GB all of them. A process
    /// may have 1,024 open where nothing else was set.
    package static let descriptorLimit = 256

    /// Opens the directory at `path`.
    package init(
        at path: String, _ access: Access, on system: any FileSystem = LinuxFileSystem(),
        policy: WritePolicy = WritePolicy(), holder: String = ProcessIdentity.current,
        descriptorLimit: Int = descriptorLimit, maps: Bool = false
    ) throws(StorageError) {
        place = path
        self.maps = maps
        fileSystem = system
        self.policy = policy
        switch access {
        case .reading:
            directory = try OpenFile.directory(path, on: system)
            descriptors = DescriptorCache(of: directory, .reading, limit: descriptorLimit)
            lock = nil
            startDirectory = ""
        case .writing(let creating):
            if creating { try Self.makeDirectory(path, on: system) }
            directory = try OpenFile.directory(path, on: system)
            descriptors = DescriptorCache(of: directory, .writing, limit: descriptorLimit)
            lock = try StoreLock(on: directory, holder: holder)
            startDirectory = try directory.call { system, _ throws(SystemError) in
                try system.workingDirectory()
            }
        }
        // What a process said that is gone would lead nowhere.
        if lock != nil { forgetListener() }
    }

    package func list() throws(StorageError) -> [String] {
        let names = try directory.call { system, descriptor throws(SystemError) in
            try system.list(descriptor)
        }
        // No file of a store has a name that is not UTF-8.
        let texts = names.compactMap { String(validating: $0, as: UTF8.self) }
        return texts.sorted { Array($0.utf8).lexicographicallyPrecedes($1.utf8) }
    }

    package func create(
        _ name: String, length: Int
    ) throws(StorageError) -> any StorageFile {
        let file = try create(name) { file throws(StorageError) in
            try file.call { system, descriptor throws(SystemError) in
                try system.truncate(descriptor, to: length)
            }
        }
        return LocalFile(descriptors.add(file), length: length, descriptors, policy: policy)
    }

    package func clone(_ name: String, of source: any Storage, length: Int) -> (any StorageFile)? {
        guard let source = source as? LocalStorage, fileSystem.isSame(as: source.fileSystem),
            let original = try? source.descriptors.open(name)
        else { return nil }
        let file = try? create(name) { file throws(StorageError) in
            try file.call { system, descriptor throws(SystemError) in
                try system.clone(original.descriptor, into: descriptor)
                try system.truncate(descriptor, to: length)
            }
        }
        return file.map {
            LocalFile(descriptors.add($0), length: length, descriptors, policy: policy)
        }
    }

    /// Makes a file, which `body` fills. Its name is durable when this returns.
    private func create(
        _ name: String, _ body: (OpenFile) throws(StorageError) -> Void
    ) throws(StorageError) -> OpenFile {
        let file = try OpenFile(name, in: directory, .creatingExclusively)
        do {
            try body(file)
            try file.sync()
            try syncDirectory()
        } catch {
            // Nothing refers to the file yet, so nothing is lost with it.
            try? file.call { system, _ throws(SystemError) in
                try system.unlink(name, in: directory.descriptor)
            }
            throw error
        }
        return file
    }

    package func open(_ name: String) throws(StorageError) -> any StorageFile {
        let file = try descriptors.open(name)
        return LocalFile(file, length: try file.status().length, descriptors, policy: policy)
    }

    package func openUnchanging(_ name: String) throws(StorageError) -> any StorageFile {
        let opened = try descriptors.open(name)
        let length = try opened.status().length
        let file = LocalFile(opened, length: length, descriptors, policy: policy)
        // Where the system refuses it, calls do as well.
        guard maps, let mapping = try? opened.map(length: length) else { return file }
        return MappedFile(file, mapping) ?? file
    }

    package func put(_ name: String, _ bytes: [UInt8]) throws(StorageError) {
        let draft = try self.draft(name, length: bytes.count)
        try draft.write(bytes.span, at: 0)
        try draft.finish()
    }

    package func draft(_ name: String, length: Int) throws(StorageError) -> any FileDraft {
        try LocalDraft(name, in: self)
    }

    package func delete(_ name: String) throws(StorageError) -> Bool {
        do {
            // Held while the name goes, so that no reader can pin the file in between.
            let file = try OpenFile(name, in: directory, .reading)
            guard try file.lock(.exclusive) else { return false }
            try directory.call(file: name) { system, descriptor throws(SystemError) in
                try system.unlink(name, in: descriptor)
            }
        } catch {
            if error.kind != .notFound { throw error }
        }
        descriptors.forget(name)
        return true
    }

    package func pin(_ name: String) throws(StorageError) -> any StoragePin {
        let file = try OpenFile(name, in: directory, .reading)
        // A lock that is refused belongs to a writer that is about to delete the file.
        guard try file.lock(.shared), try file.status().links > 0 else {
            throw StorageError(.notFound, file: name)
        }
        return LocalPin(file)
    }

    package func readers(
        of name: String
    ) throws(StorageError) -> (made: FileTime?, processes: [Int]) {
        // Files of a store are pinned once they are whole, and are not changed any more.
        let status = try OpenFile(name, in: directory, .reading).status()
        return (status.modified, FileLocks.readers(of: status, on: fileSystem))
    }

    package func hasWriter() throws(StorageError) -> Bool {
        if lock != nil { return true }
        return try StoreLock.isHeld(on: directory)
    }

    package func fence(
        holding names: [String], without absent: String
    ) throws(StorageError) -> any StorageFence {
        try LocalFence(
            at: place.hasPrefix("/") ? place : startDirectory + "/" + place, directory,
            holding: names, without: absent)
    }

    package func writer() throws(StorageError) -> String? {
        lock == nil ? try StoreLock.writer(of: directory) : ProcessIdentity.current
    }

    package func close() { lock?.release() }

    package func isDirectory(_ status: FileStatus) -> Bool {
        // An open descriptor has a status; were there none, nothing could be told apart from it.
        (try? directory.status())?.isSameFile(as: status) ?? true
    }

    package func hasFile(_ status: FileStatus) throws(StorageError) -> Bool {
        for name in try list() {
            do {
                let file = try OpenFile(name, in: directory, .reading).status()
                if file.isSameFile(as: status) { return true }
            } catch {
                if error.kind != .notFound { throw error }
            }
        }
        return false
    }

    /// Whether the entry of that name is a file, and no directory, link or pipe.
    package func isFile(_ name: String) throws(StorageError) -> Bool {
        do {
            return try directory.call(file: name) { system, descriptor throws(SystemError) in
                try system.status(of: name, in: descriptor).kind == .file
            }
        } catch {
            if error.kind == .notFound { return false }
            throw error
        }
    }

    /// What a crash may leave of a file that is put or written bit by bit; nothing refers to it.
    package static let temporarySuffix = ".new"

    fileprivate func discard(_ name: String) throws(StorageError) {
        do {
            try directory.call(file: name) { system, descriptor throws(SystemError) in
                try system.unlink(name, in: descriptor)
            }
        } catch {
            if error.kind != .notFound { throw error }
        }
    }

    /// Names that were deleted stay away, whenever the power goes.
    package func syncDirectory() throws(StorageError) {
        do {
            try directory.call { system, descriptor throws(SystemError) in
                try system.synchronize(descriptor)
            }
        } catch {
            throw StorageError(.syncFailed, file: place, cause: error.cause)
        }
    }

    private static func makeDirectory(
        _ path: String, on system: any FileSystem
    ) throws(StorageError) {
        do {
            try retrying { () throws(SystemError) in try system.makeDirectory(path) }
        } catch {
            // The process that made it may have died before the name was durable.
            if error.code != .exists { throw StorageError(error, file: path) }
        }
        // The new name is durable only once the folder above it is synced.
        let above = try OpenFile.directory(parent(of: path), on: system)
        try above.sync()
    }

    /// The directory in which the entry at `path` lies.
    package static func parent(of path: String) -> String {
        var parts = path.split(separator: "/", omittingEmptySubsequences: true)
        if !parts.isEmpty { parts.removeLast() }
        let joined = parts.joined(separator: "/")
        return path.hasPrefix("/") ? "/" + joined : (joined.isEmpty ? "." : joined)
    }
}

private final class LocalPin: StoragePin {
    private let file: OpenFile
    init(_ file: OpenFile) { self.file = file }
}

/// A file that has another name until it is whole.
private final class LocalDraft: FileDraft {
    private let name: String
    private let temporaryName: String
    private let storage: LocalStorage
    private let file: OpenFile
    private var hasName = false

    init(_ name: String, in storage: LocalStorage) throws(StorageError) {
        self.name = name
        self.storage = storage
        temporaryName = name + LocalStorage.temporarySuffix
        try storage.discard(temporaryName)
        file = try OpenFile(temporaryName, in: storage.directory, .creatingExclusively)
    }

    deinit { if !hasName { try? storage.discard(temporaryName) } }

    func write(_ bytes: Span<UInt8>, at position: Int) throws(StorageError) {
        try file.write(bytes, at: position)
    }

    func finish() throws(StorageError) {
        try file.sync()
        try storage.directory.call(file: name) { system, descriptor throws(SystemError) in
            try system.rename(temporaryName, to: name, in: descriptor)
        }
        hasName = true
        try storage.syncDirectory()
    }
}
