/// What an operating system offers for files, a method per system call.
///
/// There are two: ``LinuxFileSystem``, and the simulated disk of the tests, which loses, tears,
/// reorders and refuses what real disks do. All that a store does to files passes through here.
/// A call does what the system call does and no more: transfers may be short, any call may be
/// interrupted. ``LocalStorage`` turns that into whole transfers.
package protocol FileSystem: Sendable {
    /// Opens the directory at `path`, which may be relative to the working directory.
    func openDirectory(_ path: String) throws(SystemError) -> FileDescriptor

    /// Makes the directory at `path`, with mode 0700. Its parent must exist.
    func makeDirectory(_ path: String) throws(SystemError)

    /// Opens the file `name` in `directory`; links are not followed. A created file has mode 0600.
    func open(
        _ name: String, in directory: FileDescriptor, _ mode: OpenMode
    ) throws(SystemError) -> FileDescriptor

    func close(_ file: FileDescriptor) throws(SystemError)

    /// Appends bytes at `offset` to `bytes`, at most as many as there is room for; returns how
    /// many, 0 at the end of the file.
    func read(
        _ file: FileDescriptor, into bytes: inout OutputSpan<UInt8>, at offset: Int
    ) throws(SystemError) -> Int

    /// The same with what is in memory only; fails with `.wouldBlock` where the first byte is not,
    /// or where the system cannot tell.
    func readResident(
        _ file: FileDescriptor, into bytes: inout OutputSpan<UInt8>, at offset: Int
    ) throws(SystemError) -> Int

    /// Writes some of `bytes` at `offset`, at least one; returns how many.
    func write(
        _ file: FileDescriptor, _ bytes: Span<UInt8>, at offset: Int, _ mode: WriteMode
    ) throws(SystemError) -> Int

    /// fdatasync(2): the file's data, and the metadata needed to read them, are durable.
    func synchronizeData(_ file: FileDescriptor) throws(SystemError)

    /// fsync(2): also of a directory, whose entries are then durable.
    func synchronize(_ file: FileDescriptor) throws(SystemError)

    /// Sets the length; new bytes read as zero.
    func truncate(_ file: FileDescriptor, to length: Int) throws(SystemError)

    /// Reserves blocks for a range inside the file's length, so that writing there needs no more.
    func allocate(_ file: FileDescriptor, _ range: Range<Int>) throws(SystemError)

    /// Gives back the blocks that lie in a range as a whole; all of the range reads as zero then.
    func deallocate(_ file: FileDescriptor, _ range: Range<Int>) throws(SystemError)

    func status(_ file: FileDescriptor) throws(SystemError) -> FileStatus

    /// The status of what `name` in `directory` stands for; of a symbolic link its own.
    func status(
        of name: String, in directory: FileDescriptor
    ) throws(SystemError) -> FileStatus

    /// The status of what an absolute path leads to; symbolic links are followed.
    func status(ofPath path: String) throws(SystemError) -> FileStatus

    /// The path of the process's working directory, to which relative paths refer.
    func workingDirectory() throws(SystemError) -> String

    /// Gives the file `name` another name in the same directory; fails with `.exists` where that
    /// name is taken.
    func rename(
        _ name: String, to newName: String, in directory: FileDescriptor
    ) throws(SystemError)

    func unlink(_ name: String, in directory: FileDescriptor) throws(SystemError)

    /// The names in a directory, without `.` and `..`, in no order.
    func list(_ directory: FileDescriptor) throws(SystemError) -> [String]

    /// flock(2), without waiting. False where another open file holds a lock that forbids it.
    func lock(_ file: FileDescriptor, _ kind: LockKind) throws(SystemError) -> Bool
}

/// A file that a process has open.
package struct FileDescriptor: Hashable, Sendable {
    package let rawValue: Int32
    package init(rawValue: Int32) { self.rawValue = rawValue }
}

package enum OpenMode: Sendable {
    case reading
    case writing
    /// For reading and writing; the file must not exist.
    case creatingExclusively
    /// For reading and writing; made where it does not exist.
    case creating
}

package enum LockKind: Sendable {
    case shared
    case exclusive
    case none
}

package struct FileStatus: Equatable, Sendable {
    /// In bytes.
    package var length: Int
    /// How many names the file has: 0 once it was unlinked.
    package var links: Int
    /// Device and inode, which together name the file.
    package var device: UInt64
    package var inode: UInt64

    package init(length: Int, links: Int, device: UInt64, inode: UInt64) {
        self.length = length
        self.links = links
        self.device = device
        self.inode = inode
    }

    /// Whether both are of one file or directory.
    package func isSameFile(as other: FileStatus) -> Bool {
        device == other.device && inode == other.inode
    }
}

/// A system call failed.
package struct SystemError: Error, Equatable, Sendable {
    package enum Code: Equatable, Sendable {
        case interrupted
        case exists
        case notFound
        case noSpace
        case inputOutput
        case wouldBlock
        case permission
        /// The process, or the system, has as many files open as it may.
        case tooManyFiles
        /// The process, its user or its control group has as many threads as it may.
        case tooManyThreads
        /// A request named a path outside the directories that the host permits.
        case outsideBounds
        /// A request named a path inside the directory of a store.
        case insideStore
        case other(Int32)
    }

    package var code: Code
    /// The name of the call.
    package var call: StaticString

    package init(_ code: Code, in call: StaticString) {
        self.code = code
        self.call = call
    }

    package static func == (left: SystemError, right: SystemError) -> Bool {
        left.code == right.code && left.call.description == right.call.description
    }
}
