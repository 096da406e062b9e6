internal import CLinux
internal import Glibc

/// A directory of the machine that is open: what is done in it is done there, whatever becomes of
/// the paths that lead to it. Its methods take the name of one entry, and follow no link.
final class OpenFolder: Sendable {
    private let descriptor: FileDescriptor

    /// Opens the directory at a path of the system, following links.
    init(at path: String) throws(SystemError) {
        descriptor = try LinuxFileSystem().openDirectory(path)
    }

    /// Opens a directory, following links; a path that is not absolute begins at `base`, or at the
    /// working directory. It need not be readable.
    init(at path: [UInt8], from base: OpenFolder?) throws(SystemError) {
        // Safe: the path ends with a zero.
        let result = unsafe clinux_open_directory_path(
            base?.descriptor.rawValue ?? AT_FDCWD, path.cString)
        descriptor = try LinuxFileSystem.descriptor(result, "open")
    }

    private init(_ descriptor: FileDescriptor) { self.descriptor = descriptor }

    deinit { _ = close(descriptor.rawValue) }

    /// A folder in it; `.` is itself once more.
    func folder(_ name: [UInt8]) throws(SystemError) -> OpenFolder {
        OpenFolder(try open(name, O_RDONLY | O_DIRECTORY))
    }

    /// A folder below it, by names that are joined by `/`; itself where there are none. No path of
    /// the system is made of them, which would have to be short.
    func folder(at path: [UInt8]) throws(SystemError) -> OpenFolder {
        var folder = self
        for name in path.split(separator: UInt8(ascii: "/")) {
            folder = try folder.folder(Array(name))
        }
        return folder
    }

    func open(
        _ name: [UInt8], _ flags: Int32, mode: UInt32 = 0
    ) throws(SystemError) -> FileDescriptor {
        // Safe: the name ends with a zero. What is no file or folder must not make it wait.
        let result = unsafe clinux_openat(
            descriptor.rawValue, name.cString, flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, mode)
        return try LinuxFileSystem.descriptor(result, "open")
    }

    /// Makes a file in it that has no name, for writing. Not every file system can.
    func openUnnamed(mode: UInt32) throws(SystemError) -> FileDescriptor {
        let result = clinux_open_unnamed(descriptor.rawValue, mode)
        return try LinuxFileSystem.descriptor(result, "open")
    }

    /// Gives a file without a name one in it; fails with `.exists` where that is taken.
    func link(_ file: FileDescriptor, as name: [UInt8]) throws(SystemError) {
        // Safe: the name ends with a zero.
        let result = unsafe clinux_link_unnamed(
            file.rawValue, descriptor.rawValue, name.cString)
        if result < 0 { throw SystemError(number: -result, in: "linkat") }
    }

    /// Gives an entry another name; fails with `.exists` where that is taken.
    func rename(_ name: [UInt8], to newName: [UInt8]) throws(SystemError) {
        // Safe: both end with a zero.
        let result = unsafe clinux_rename_exclusive(
            descriptor.rawValue, name.cString, newName.cString)
        if result < 0 { throw SystemError(number: -result, in: "renameat2") }
    }

    /// Gives an entry another name, in the place of what has it.
    func rename(_ name: [UInt8], over newName: [UInt8]) throws(SystemError) {
        // Safe: both end with a zero.
        try check(
            unsafe renameat(
                descriptor.rawValue, name.cString, descriptor.rawValue, newName.cString),
            "renameat")
    }

    /// What was done in it is durable when this returns.
    func synchronize() throws(SystemError) {
        try retrying { () throws(SystemError) in
            try LinuxFileSystem().synchronize(descriptor)
        }
    }

    /// The names in it, in no order.
    func names() throws(SystemError) -> NameList {
        // A directory stream owns its descriptor and moves its position.
        try DirectoryStream(try open([UInt8(ascii: ".")], O_RDONLY | O_DIRECTORY)).names
    }

    func status(_ name: [UInt8]) throws(SystemError) -> stat {
        var status = stat()
        // Safe: the name ends with a zero, and the structure outlives the call.
        try check(
            unsafe fstatat(descriptor.rawValue, name.cString, &status, AT_SYMLINK_NOFOLLOW),
            "fstatat")
        return status
    }

    /// The permissions of a regular file; fails where there is none.
    func permissions(ofFile name: [UInt8]) throws(SystemError) -> mode_t {
        let mode = try status(name).st_mode
        guard mode & S_IFMT == S_IFREG else { throw SystemError(.other(EINVAL), in: "fstatat") }
        return mode & 0o777
    }

    /// Where a link points to.
    func target(_ name: [UInt8]) throws(SystemError) -> [UInt8] {
        var target = [CChar](repeating: 0, count: Int(PATH_MAX))
        // Safe: the name ends with a zero, and the array has room for what is asked.
        let count = unsafe readlinkat(
            descriptor.rawValue, name.cString, &target, target.count)
        guard count >= 0 else { throw SystemError(number: errno, in: "readlinkat") }
        return target[..<count].map { UInt8(bitPattern: $0) }
    }

    /// Makes a folder that is private.
    func makeFolder(_ name: [UInt8]) throws(SystemError) {
        // Safe: the name ends with a zero.
        try check(unsafe mkdirat(descriptor.rawValue, name.cString, 0o700), "mkdirat")
    }

    /// Makes a link that points to `target`, which holds no zero.
    func makeLink(_ name: [UInt8], to target: [UInt8]) throws(SystemError) {
        // Safe: both end with a zero.
        try check(
            unsafe symlinkat(target.cString, descriptor.rawValue, name.cString), "symlinkat")
    }

    func unlink(_ name: [UInt8]) throws(SystemError) {
        // Safe: the name ends with a zero.
        try check(unsafe unlinkat(descriptor.rawValue, name.cString, 0), "unlinkat")
    }

    /// Sets when an entry was modified and read last.
    func setTimes(_ name: [UInt8], _ time: timespec) throws(SystemError) {
        // Safe: the name ends with a zero, and the array has the two times that are asked for.
        try check(
            unsafe utimensat(
                descriptor.rawValue, name.cString, [time, time], AT_SYMLINK_NOFOLLOW),
            "utimensat")
    }

    /// Sets its own mode and times.
    func finish(mode: Int, _ time: timespec) throws(SystemError) {
        try Self.finish(descriptor, mode: mode, time)
    }

    /// Sets the mode and the times of an open file or folder.
    static func finish(
        _ file: FileDescriptor, mode: Int, _ time: timespec
    ) throws(SystemError) {
        try setMode(file, mode_t(truncatingIfNeeded: mode) & 0o7777)
        // Safe: the array has the two times that are asked for.
        guard unsafe futimens(file.rawValue, [time, time]) == 0 else {
            throw SystemError(number: errno, in: "futimens")
        }
    }

    static func setMode(_ file: FileDescriptor, _ mode: mode_t) throws(SystemError) {
        guard fchmod(file.rawValue, mode) == 0 else {
            throw SystemError(number: errno, in: "fchmod")
        }
    }

    private func check(_ result: Int32, _ call: StaticString) throws(SystemError) {
        if result < 0 { throw SystemError(number: errno, in: call) }
    }
}

extension [UInt8] {
    /// As system calls take text: ending with a zero, and before that without one.
    var cString: [CChar] { map { CChar(bitPattern: $0) } + [0] }
}
