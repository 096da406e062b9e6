internal import Synchronization

/// A storage that is only read, with further files that are gone with the process: what has to be
/// made of a store to check it, and does not fit into memory.
///
/// What is put lies one behind the other in a file without a name, in a directory for temporary
/// files, which is not looked at before something is put. All other calls go to the storage below.
package final class ScratchStorage: LayeredStorage {
    private struct State {
        var medium: Medium?
        var files: [String: ScratchFile] = [:]
        /// Where the next file begins, in bytes.
        var end = 0
    }

    package let under: any Storage
    private let directory: String
    private let state = Mutex(State())

    /// Adds to `storage` files that lie in `directory` of its file system.
    package init(over storage: any Storage, in directory: String) {
        under = storage
        self.directory = directory
    }

    package func put(_ name: String, _ bytes: [UInt8]) throws(StorageError) {
        let names = try under.list()
        let file = try state.withLock { state throws(StorageError) in
            guard state.files[name] == nil, !names.contains(name) else {
                throw StorageError(.exists, file: name)
            }
            let medium =
                if let known = state.medium { known } else {
                    try Medium(in: directory, on: fileSystem)
                }
            state.medium = medium
            defer { state.end += bytes.count }
            return ScratchFile(name, medium, at: state.end, length: bytes.count)
        }
        try file.append(bytes.span, at: 0)
        state.withLock { $0.files[name] = file }
    }

    package func open(_ name: String) throws(StorageError) -> any StorageFile {
        if let file = state.withLock({ $0.files[name] }) { return file }
        return try under.open(name)
    }

    package var maps: Bool { under.maps }

    package func openUnchanging(_ name: String) throws(StorageError) -> any StorageFile {
        if let file = state.withLock({ $0.files[name] }) { return file }
        return try under.openUnchanging(name)
    }

    package func delete(_ name: String) throws(StorageError) -> Bool {
        let isPinned: Bool? = state.withLock { state in
            guard let file = state.files[name] else { return nil }
            if !file.pins.isZero { return true }
            state.files[name] = nil
            return false
        }
        guard let isPinned else { return try under.delete(name) }
        return !isPinned
    }

    package func list() throws(StorageError) -> [String] {
        try (under.list() + state.withLock { Array($0.files.keys) }).sorted()
    }

    package func create(
        _ name: String, length: Int
    ) throws(StorageError) -> any StorageFile {
        guard state.withLock({ $0.files[name] }) == nil else {
            throw StorageError(.exists, file: name)
        }
        return try under.create(name, length: length)
    }

    package func pin(_ name: String) throws(StorageError) -> any StoragePin {
        let pin = state.withLock { $0.files[name].map { CountedPin($0.pins) } }
        if let pin { return pin }
        return try under.pin(name)
    }

    package func fence(
        holding names: [String], without absent: String
    ) throws(StorageError) -> any StorageFence {
        let files = state.withLock { $0.files }
        let held = names.compactMap { files[$0] }
        let base = try under.fence(holding: names.filter { files[$0] == nil }, without: absent)
        return ScratchFence(base: base, storage: self, held: held, absent: absent)
    }

    package func holder(of name: String, at byte: Int) -> (file: String, byte: Int)? {
        file(name) == nil ? under.holder(of: name, at: byte) : nil
    }

    fileprivate func file(_ name: String) -> ScratchFile? { state.withLock { $0.files[name] } }
}

private struct ScratchFence: StorageFence {
    let base: any StorageFence
    let storage: ScratchStorage
    let held: [ScratchFile]
    let absent: String

    func check() throws(StorageError) {
        try base.check()
        for file in held where storage.file(file.name) !== file {
            throw StorageError(.fencedOut, file: file.name)
        }
        guard storage.file(absent) == nil else { throw StorageError(.fencedOut, file: absent) }
    }
}

/// The file without a name.
private final class Medium: Sendable {
    let file: OpenFile
    private let unnamed: UnnamedFile

    init(in directory: String, on system: any FileSystem) throws(StorageError) {
        do {
            unnamed = try UnnamedFile(in: OpenFolder(at: directory, on: system))
            file = OpenFile(name: directory, unnamed.open)
        } catch {
            // It is no file of the store that is not found.
            if error.code == .notFound {
                throw StorageError(.inputOutput, file: directory, cause: error)
            }
            throw StorageError(error, file: directory)
        }
    }
}

private final class ScratchFile: StorageFile {
    let name: String
    let length: Int
    private let medium: Medium
    /// Where the file begins in the medium, in bytes.
    private let start: Int
    let pins = PinCount()

    init(_ name: String, _ medium: Medium, at start: Int, length: Int) {
        self.name = name
        self.medium = medium
        self.start = start
        self.length = length
    }

    // Who has it open reads on after it was deleted. Where the file system cannot give the room
    // back, that goes with the whole file.
    deinit { try? release(0..<length) }

    func append(
        _ bytes: Span<UInt8>, at position: Int, _ mode: WriteMode
    ) throws(StorageError) {
        precondition(position + bytes.count <= length, "an append must fit the file")
        // What fails names the directory: it is that which is full.
        try medium.file.write(bytes, at: start + position, mode)
    }

    func read(_ range: Range<Int>, _ mode: ReadMode) throws(StorageError) -> [UInt8] {
        guard range.upperBound <= length else { throw StorageError(.truncated, file: name) }
        do throws(StorageError) {
            return try medium.file.read(
                start + range.lowerBound..<start + range.upperBound, mode)
        } catch {
            throw StorageError(error.kind, file: name, cause: error.cause)
        }
    }

    func release(_ range: Range<Int>) throws(StorageError) {
        guard !range.isEmpty else { return }
        try medium.file.call { system, descriptor throws(SystemError) in
            try system.deallocate(
                descriptor, start + range.lowerBound..<start + range.upperBound)
        }
    }

    // Nothing of it outlives the process.
    func reserve(_ range: Range<Int>) throws(StorageError) {}
    func rewrite(_ range: Range<Int>) throws(StorageError) {}
    func sync() throws(StorageError) {}
}
