/// A place that keeps the files of one store, under flat names.
///
/// Everything above `StratusFiles` reaches bytes through these verbs and no others, so that a
/// store can lie in a directory (``LocalStorage``), in memory (``MemoryStorage``), or one day in a
/// replicated object store: nothing is rewritten in place, nothing is renamed, and what
/// is put is put whole.
package protocol Storage: AnyObject, Sendable {
    /// Where the store lies, for messages.
    var place: String { get }

    /// The names of all files, in their order.
    func list() throws(StorageError) -> [String]

    /// Makes a file of `length` bytes that read as zero. Its name and length are durable when
    /// this returns; fails with `.exists` where the name is taken.
    func create(_ name: String, length: Int) throws(StorageError) -> any StorageFile

    /// Makes a file of what the file of that name in `source` begins with, so many bytes, which are not
    /// copied but shared. Its name and length are durable when this returns. Nil where that cannot be
    /// done: then there is no file.
    func clone(_ name: String, of source: any Storage, length: Int) -> (any StorageFile)?

    /// Opens a file for reading and, by the writer, for appending.
    func open(_ name: String) throws(StorageError) -> any StorageFile

    /// The same of a file that does not change any more, which may be read in another way then.
    func openUnchanging(_ name: String) throws(StorageError) -> any StorageFile

    /// Whether such files are read as memory, so that there is no use in keeping what was read of them.
    var maps: Bool { get }

    /// Makes a file of exactly these bytes, durable when this returns: after a crash it is there
    /// whole or not at all. Fails with `.exists` where the name is taken, which makes it the
    /// compare-and-swap of a generation.
    func put(_ name: String, _ bytes: [UInt8]) throws(StorageError)

    /// Begins a file of about `length` bytes that is put once all of it was written.
    func draft(_ name: String, length: Int) throws(StorageError) -> any FileDraft

    /// Removes a file unless a reader has pinned it; returns whether it is gone. A crash may
    /// bring it back.
    func delete(_ name: String) throws(StorageError) -> Bool

    /// Keeps the writer, in this process or another, from deleting a file until the pin ends.
    func pin(_ name: String) throws(StorageError) -> any StoragePin

    /// When a file was made, and the processes that have pinned it, as far as the system tells.
    func readers(of name: String) throws(StorageError) -> (made: FileTime?, processes: [Int])

    /// Whether a writer holds the store, in this process or another.
    func hasWriter() throws(StorageError) -> Bool

    /// Begins to watch over the right to write, which others can only take by removing or
    /// replacing what it rests on: the place of the store and the files `names`. A file `absent`
    /// would be another writer's.
    func fence(
        holding names: [String], without absent: String
    ) throws(StorageError) -> any StorageFence

    /// Who holds the right to write, in words for people; nil where no writer does.
    func writer() throws(StorageError) -> String?

    /// Gives up the right to write.
    func close()

    /// The file system that callers' files are in, and the directory of the store if it has one.
    var fileSystem: any FileSystem { get }

    /// Whether that is the directory of the machine in which the files lie.
    func isDirectory(_ status: FileStatus) -> Bool

    /// Whether that is one of the files, under whatever name.
    func hasFile(_ status: FileStatus) throws(StorageError) -> Bool

    /// The file that a user sees, and the place in it, of a byte of the file `name`, where files lie
    /// inside others; nil: it is a file of its own.
    func holder(of name: String, at byte: Int) -> (file: String, byte: Int)?
}

extension Storage {
    package var maps: Bool { false }
    package func draft(_ name: String, length: Int) throws(StorageError) -> any FileDraft {
        BufferedDraft(length: length) { [self] bytes throws(StorageError) in try put(name, bytes) }
    }
    package func clone(
        _ name: String, of source: any Storage, length: Int
    ) -> (any StorageFile)? { nil }
    package func holder(of name: String, at byte: Int) -> (file: String, byte: Int)? { nil }
    package func openUnchanging(_ name: String) throws(StorageError) -> any StorageFile {
        try open(name)
    }
}

/// A storage that has no directory of the machine.
extension Storage {
    package var fileSystem: any FileSystem { LinuxFileSystem() }
    package func isDirectory(_ status: FileStatus) -> Bool { false }
    package func hasFile(_ status: FileStatus) throws(StorageError) -> Bool { false }
    package func readers(
        of name: String
    ) throws(StorageError) -> (made: FileTime?, processes: [Int]) { (nil, []) }
}

/// Whether written bytes stay in the page cache.
package enum WriteMode: Sendable {
    /// They stay, and are written to the medium by the next sync or when the system chooses to.
    case kept
    /// They are written to the medium at once and dropped where the system can do that: they are
    /// not expected to be read soon, and would push more useful pages out of the cache.
    case streamed
}

/// One file of a store.
package protocol StorageFile: AnyObject, Sendable {
    var name: String { get }

    /// In bytes, when the file was opened.
    var length: Int { get }

    /// Makes sure that an append to `range` will find room. Fails with `.noSpace` and changes
    /// nothing where it will not.
    func reserve(_ range: Range<Int>) throws(StorageError)

    /// Writes `bytes` at `position`, inside the file's length and behind all that was synced.
    ///
    /// On an error nothing before `position` has changed; what lies behind it is undefined.
    func append(
        _ bytes: Span<UInt8>, at position: Int, _ mode: WriteMode
    ) throws(StorageError)

    /// Gives the room of `range`, which holds nothing but zeros, back; it still reads as zeros.
    func release(_ range: Range<Int>) throws(StorageError)

    /// Writes the bytes in `range` again as they are, so that the next sync covers them even where
    /// an earlier one failed.
    func rewrite(_ range: Range<Int>) throws(StorageError)

    /// All that was appended is durable when this returns. After a failure nothing is known: what
    /// was not durable may be lost though a later sync succeeds.
    func sync() throws(StorageError)

    /// Exactly the bytes in `range`; fails with `.truncated` where the file ends before.
    func read(_ range: Range<Int>, _ mode: ReadMode) throws(StorageError) -> [UInt8]
}

extension StorageFile {
    /// An append of what may be read soon.
    package func append(_ bytes: Span<UInt8>, at position: Int) throws(StorageError) {
        try append(bytes, at: position, .kept)
    }

    /// A read that waits for the medium.
    package func read(_ range: Range<Int>) throws(StorageError) -> [UInt8] {
        try read(range, .blocking)
    }
}

/// Whether a read may wait.
package enum ReadMode: Sendable {
    /// Only what memory can answer; fails with `.notResident` where that is not all of it.
    case resident
    /// The calling thread waits for the medium.
    case blocking
    /// The same, and what was not in memory is dropped again where the system can do that: it is not
    /// expected to be read soon, and would push more useful pages out of the cache.
    case streamed
}

/// Ends when it is no longer referenced.
package protocol StoragePin: AnyObject, Sendable {}

/// What a writer's right to write rests on.
package protocol StorageFence: Sendable {
    /// Fails with `.fencedOut`, naming what was removed, replaced or added, where the store is no
    /// longer this writer's: what it writes, no later opening need find.
    func check() throws(StorageError)
}

/// A verb of ``Storage`` failed.
package struct StorageError: Error, Equatable, Sendable {
    package enum Kind: Equatable, Sendable {
        case exists
        case notFound
        case noSpace
        case permission
        /// The process, or the system, has as many files open as it may.
        case tooManyFiles
        /// Another process or another part of this one writes to the store; the text names it.
        case locked(holder: String)
        /// The store's directory or a file of it was removed, replaced or added under the writer.
        case fencedOut
        /// A read that must not wait would have had to.
        case notResident
        /// The file ends before the bytes asked for.
        case truncated
        /// A sync failed: what was not yet durable may be lost, whatever a later sync says.
        case syncFailed
        /// The medium failed.
        case inputOutput
        /// The reader was cancelled.
        case cancelled
    }

    package var kind: Kind
    package var file: String
    /// The system call that failed, where one did.
    package var cause: SystemError?

    package init(_ kind: Kind, file: String, cause: SystemError? = nil) {
        self.kind = kind
        self.file = file
        self.cause = cause
    }
}

extension StorageError {
    package init(_ error: SystemError, file: String) {
        let kind: Kind =
            switch error.code {
            case .exists: .exists
            case .notFound, .notDirectory: .notFound
            case .noSpace: .noSpace
            case .permission, .outsideBounds, .insideStore: .permission
            case .tooManyFiles: .tooManyFiles
            case .interrupted, .inputOutput, .wouldBlock, .tooManyThreads, .other:
                .inputOutput
            }
        self.init(kind, file: file, cause: error)
    }
}
