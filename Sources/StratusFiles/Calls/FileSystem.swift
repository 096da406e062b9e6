/// What an operating system offers for files, a method per system call.
///
/// There are two: ``LinuxFileSystem``, and the simulated disk of the tests, which loses, tears,
/// reorders and refuses what real disks do. All that a store does to files passes through here,
/// also to those of callers. A call does what the system call does and no more: transfers may be
/// short, any call may be interrupted.
///
/// Paths and names are bytes, since they need not be UTF-8. A name is one of an entry of the
/// directory it is given with; a link is followed only where a method says so.
package protocol FileSystem: Sendable {
    /// Opens the directory at `path`, following links. A path that is not absolute begins at
    /// `base`; nil: at the working directory.
    func openDirectory(
        _ path: [UInt8], from base: FileDescriptor?, _ access: DirectoryAccess
    ) throws(SystemError) -> FileDescriptor

    /// Makes the directory at `path`, with mode 0700. Its parent must exist.
    func makeDirectory(
        _ path: [UInt8], from base: FileDescriptor?
    ) throws(SystemError)

    /// Opens the file `name`. Of the permissions of one that is made the process's mask is taken
    /// off. Never waits for what is no file, as a pipe.
    func open(
        _ name: [UInt8], in directory: FileDescriptor, _ mode: OpenMode, permissions: UInt32
    ) throws(SystemError) -> FileDescriptor

    /// Makes a file without a name in `directory`, for reading and writing; it goes when it is
    /// closed. Fails with `.notSupported`, `.isDirectory` or `.invalid` where the file system or
    /// the kernel knows none.
    func openUnnamed(
        in directory: FileDescriptor, permissions: UInt32
    ) throws(SystemError) -> FileDescriptor

    func close(_ file: FileDescriptor) throws(SystemError)

    /// Appends bytes at `offset` to `bytes`, at most as many as there is room for; returns how
    /// many, 0 at the end of the file. In the mode `resident` it fails with `.wouldBlock` where the
    /// first byte is not in memory, or where the system cannot tell.
    func read(
        _ file: FileDescriptor, into bytes: inout OutputSpan<UInt8>, at offset: Int,
        _ mode: ReadMode
    ) throws(SystemError) -> Int

    /// mmap(2), shared and for reading: the first `length` bytes, which the file must have. Nothing is
    /// read yet. It stays when the file is closed.
    func map(_ file: FileDescriptor, length: Int) throws(SystemError) -> any FileMapping

    /// Writes some of `bytes` at `offset`, at least one; returns how many.
    func write(
        _ file: FileDescriptor, _ bytes: Span<UInt8>, at offset: Int, _ mode: WriteMode
    ) throws(SystemError) -> Int

    /// The same of the bytes of `slices`, one after the other.
    func write(
        _ file: FileDescriptor, _ slices: ArraySlice<ArraySlice<UInt8>>, at offset: Int,
        _ mode: WriteMode
    ) throws(SystemError) -> Int

    /// sync_file_range(2): the medium begins with what was written to a range. Nothing is durable
    /// for it; a later sync has less to do.
    func startWriting(_ file: FileDescriptor, _ range: Range<Int>) throws(SystemError)

    /// fdatasync(2): the file's data, and the metadata needed to read them, are durable.
    func synchronizeData(_ file: FileDescriptor) throws(SystemError)

    /// fsync(2): also of a directory, whose entries are then durable.
    func synchronize(_ file: FileDescriptor) throws(SystemError)

    /// Sets the length; new bytes read as zero.
    func truncate(_ file: FileDescriptor, to length: Int) throws(SystemError)

    /// Reserves blocks for a range, so that writing there needs no more. The length stays.
    func allocate(_ file: FileDescriptor, _ range: Range<Int>) throws(SystemError)

    /// Gives back the blocks that lie in a range as a whole; all of the range reads as zero then.
    func deallocate(_ file: FileDescriptor, _ range: Range<Int>) throws(SystemError)

    /// Whether descriptors of the other one are good here, too.
    func isSame(as other: any FileSystem) -> Bool

    /// ioctl(FICLONE): an empty file becomes what `source` is; both share blocks, until one of them is
    /// changed. Fails where the file system has no such files, or both lie in different ones.
    func clone(_ source: FileDescriptor, into target: FileDescriptor) throws(SystemError)

    func status(_ file: FileDescriptor) throws(SystemError) -> FileStatus

    /// The status of what `name` stands for, which may have several parts; of a symbolic link that
    /// is the last of them, its own.
    func status(
        of name: [UInt8], in directory: FileDescriptor
    ) throws(SystemError) -> FileStatus

    /// The status of what an absolute path leads to; symbolic links are followed.
    func status(ofPath path: String) throws(SystemError) -> FileStatus

    /// The path of the process's working directory, to which relative paths refer.
    func workingDirectory() throws(SystemError) -> String

    /// Sets the twelve lowest bits of the mode.
    func setPermissions(_ file: FileDescriptor, _ permissions: UInt32) throws(SystemError)

    /// Sets when a file or directory was modified and read last.
    func setTimes(_ file: FileDescriptor, _ time: FileTime) throws(SystemError)

    func setTimes(
        of name: [UInt8], in directory: FileDescriptor, _ time: FileTime
    ) throws(SystemError)

    /// Gives a file without a name one; fails with `.exists` where that is taken.
    func link(
        _ file: FileDescriptor, as name: [UInt8], in directory: FileDescriptor
    ) throws(SystemError)

    /// Makes a symbolic link that points to `target`.
    func makeLink(
        _ name: [UInt8], to target: [UInt8], in directory: FileDescriptor
    ) throws(SystemError)

    /// Where the symbolic link `name` points to.
    func target(
        of name: [UInt8], in directory: FileDescriptor
    ) throws(SystemError) -> [UInt8]

    /// Gives the file `name` another name in the same directory. Where that name is taken the file
    /// takes the place of what has it, or else the call fails with `.exists`.
    func rename(
        _ name: [UInt8], to newName: [UInt8], in directory: FileDescriptor, replacing: Bool
    ) throws(SystemError)

    func unlink(_ name: [UInt8], in directory: FileDescriptor) throws(SystemError)

    /// rmdir(2) of an empty directory.
    func removeDirectory(_ name: [UInt8], in directory: FileDescriptor) throws(SystemError)

    /// The names in a directory, without `.` and `..`, in no order.
    func list(_ directory: FileDescriptor) throws(SystemError) -> NameList

    /// flock(2), without waiting. False where another open file holds a lock that forbids it.
    func lock(_ file: FileDescriptor, _ kind: LockKind) throws(SystemError) -> Bool
}

// With names that are text, as those of a store's files.
extension FileSystem {
    package func openDirectory(_ path: String) throws(SystemError) -> FileDescriptor {
        try openDirectory(Array(path.utf8), from: nil, .reading)
    }

    package func makeDirectory(_ path: String) throws(SystemError) {
        try makeDirectory(Array(path.utf8), from: nil)
    }

    /// A created file has mode 0600.
    package func open(
        _ name: String, in directory: FileDescriptor, _ mode: OpenMode
    ) throws(SystemError) -> FileDescriptor {
        try open(Array(name.utf8), in: directory, mode, permissions: 0o600)
    }

    package func status(
        of name: String, in directory: FileDescriptor
    ) throws(SystemError) -> FileStatus {
        try status(of: Array(name.utf8), in: directory)
    }

    /// Fails with `.exists` where the new name is taken.
    package func rename(
        _ name: String, to newName: String, in directory: FileDescriptor
    ) throws(SystemError) {
        try rename(Array(name.utf8), to: Array(newName.utf8), in: directory, replacing: false)
    }

    package func unlink(_ name: String, in directory: FileDescriptor) throws(SystemError) {
        try unlink(Array(name.utf8), in: directory)
    }
}

/// The bytes of a file as part of memory; what is written to the file shows in it.
package protocol FileMapping: AnyObject, Sendable {
    /// Appends the bytes in `range`, which it must have, to `bytes`, which must have room. What is not
    /// in memory is waited for.
    ///
    /// Where the medium fails, or the file was made shorter, the process gets SIGBUS, and ends.
    func copy(_ range: Range<Int>, into bytes: inout OutputSpan<UInt8>)
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
    /// A directory, for reading; `.` is the one that the name is given with.
    case directory
}

package enum DirectoryAccess: Sendable {
    /// The directory itself can be synced and locked.
    case reading
    /// The directory need not be readable: only the names in it are used.
    case traversing
}

package enum LockKind: Sendable {
    case shared
    case exclusive
    case none
}
