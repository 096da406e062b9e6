internal import CLinux
internal import Glibc

// Calls that take a path, or the name of an entry of a directory.

extension LinuxFileSystem {
    package func openDirectory(
        _ path: [UInt8], from base: FileDescriptor?, _ access: DirectoryAccess
    ) throws(SystemError) -> FileDescriptor {
        let base = base?.rawValue ?? AT_FDCWD
        // Safe: the path ends with a zero.
        let result =
            switch access {
            case .reading:
                unsafe clinux_openat(
                    base, path.cString, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0)
            case .traversing: unsafe clinux_open_directory_path(base, path.cString)
            }
        return try Self.descriptor(result, "open")
    }

    package func makeDirectory(
        _ path: [UInt8], from base: FileDescriptor?
    ) throws(SystemError) {
        // Safe: the path ends with a zero.
        let result = unsafe mkdirat(base?.rawValue ?? AT_FDCWD, path.cString, 0o700)
        try check(result, base == nil ? "mkdir" : "mkdirat")
    }

    package func status(
        of name: [UInt8], in directory: FileDescriptor
    ) throws(SystemError) -> FileStatus {
        var status = stat()
        // Safe: the name ends with a zero; the structure outlives the call.
        let result = unsafe fstatat(
            directory.rawValue, name.cString, &status, AT_SYMLINK_NOFOLLOW)
        try check(result, "fstatat")
        return FileStatus(status)
    }

    package func setTimes(
        of name: [UInt8], in directory: FileDescriptor, _ time: FileTime
    ) throws(SystemError) {
        let time = timespec(time)
        // Safe: the name ends with a zero, and the array has the two times that are asked for.
        let result = unsafe utimensat(
            directory.rawValue, name.cString, [time, time], AT_SYMLINK_NOFOLLOW)
        try check(result, "utimensat")
    }

    package func link(
        _ file: FileDescriptor, as name: [UInt8], in directory: FileDescriptor
    ) throws(SystemError) {
        // Safe: the name ends with a zero.
        let result = unsafe clinux_link_unnamed(
            file.rawValue, directory.rawValue, name.cString)
        if result < 0 { throw SystemError(number: -result, in: "linkat") }
    }

    package func makeLink(
        _ name: [UInt8], to target: [UInt8], in directory: FileDescriptor
    ) throws(SystemError) {
        // Safe: both end with a zero.
        let result = unsafe symlinkat(target.cString, directory.rawValue, name.cString)
        try check(result, "symlinkat")
    }

    package func target(
        of name: [UInt8], in directory: FileDescriptor
    ) throws(SystemError) -> [UInt8] {
        var target = [CChar](repeating: 0, count: Int(PATH_MAX))
        // Safe: the name ends with a zero, and the array has room for what is asked.
        let count = unsafe readlinkat(
            directory.rawValue, name.cString, &target, target.count)
        try check(count, "readlinkat")
        return target[..<count].map { UInt8(bitPattern: $0) }
    }

    package func rename(
        _ name: [UInt8], to newName: [UInt8], in directory: FileDescriptor, replacing: Bool
    ) throws(SystemError) {
        let (from, to) = (name.cString, newName.cString)
        if replacing {
            // Safe: both end with a zero.
            let result = unsafe renameat(directory.rawValue, from, directory.rawValue, to)
            try check(result, "renameat")
        } else {
            // Safe: as above.
            let result = unsafe clinux_rename_exclusive(directory.rawValue, from, to)
            if result < 0 { throw SystemError(number: -result, in: "renameat2") }
        }
    }

    package func unlink(
        _ name: [UInt8], in directory: FileDescriptor
    ) throws(SystemError) {
        // Safe: the name ends with a zero.
        try check(unsafe unlinkat(directory.rawValue, name.cString, 0), "unlinkat")
    }

    package func removeDirectory(
        _ name: [UInt8], in directory: FileDescriptor
    ) throws(SystemError) {
        // Safe: the name ends with a zero.
        try check(
            unsafe unlinkat(directory.rawValue, name.cString, AT_REMOVEDIR), "unlinkat")
    }

    package func list(_ directory: FileDescriptor) throws(SystemError) -> NameList {
        // A fresh descriptor: a directory stream closes its descriptor and moves its position.
        let fresh = try open([UInt8(ascii: ".")], in: directory, .directory, permissions: 0)
        return try DirectoryStream(fresh).names
    }
}

extension timespec {
    init(_ time: FileTime) { self.init(tv_sec: time.seconds, tv_nsec: time.nanoseconds) }
}

extension [UInt8] {
    /// As system calls take text: ending with a zero, and before that without one.
    var cString: [CChar] {
        var text: [CChar] = []
        text.reserveCapacity(count + 1)
        for byte in self { text.append(CChar(bitPattern: byte)) }
        text.append(0)
        return text
    }
}
