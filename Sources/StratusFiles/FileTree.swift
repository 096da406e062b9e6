internal import CLinux
internal import Glibc

/// What a directory of the machine holds, for bringing it into a store. It follows no link below
/// its root and changes nothing.
package struct FileTree: Sendable {
    package enum Kind: Equatable, Sendable {
        case folder
        case file
        case link
        /// A device, a pipe, a socket.
        case other
    }

    package struct Entry: Equatable, Sendable {
        /// Relative to the tree, its parts joined by `/`; bytes, since names need not be UTF-8.
        package var path: [UInt8]
        package var kind: Kind
        /// Of a file, in bytes.
        package var size: Int
        /// The twelve lowest bits: permissions, set-user, set-group, sticky.
        package var mode: Int
        /// Since 1970.
        package var modifiedNanoseconds: Int

        /// The last part of the path.
        package var name: [UInt8] {
            Array(path[(path.lastIndex(of: UInt8(ascii: "/")).map { $0 + 1 } ?? 0)...])
        }

        /// The path of the folder above; nil at the top.
        package var parent: [UInt8]? {
            path.lastIndex(of: UInt8(ascii: "/")).map { Array(path[..<$0]) }
        }
    }

    /// The directory on top.
    package let root: String

    package init(_ root: String) throws(SystemError) {
        self.root = root
        // Fails now where it is no directory.
        _ = try names(in: [])
    }

    /// The names in a folder, sorted.
    package func names(in path: [UInt8]) throws(SystemError) -> [[UInt8]] {
        let folder = try open(path, O_RDONLY | O_DIRECTORY)
        return try DirectoryStream(folder).names.sorted { $0.lexicographicallyPrecedes($1) }
    }

    /// What lies at `path`.
    package func entry(_ path: [UInt8]) throws(SystemError) -> Entry {
        var status = stat()
        // Safe: the path ends with a zero, and the structure outlives the call.
        let result = unsafe full(path).withUnsafeBufferPointer { buffer -> Int32 in
            guard let start = buffer.baseAddress else { return -1 }
            return unsafe lstat(start, &status)
        }
        guard result == 0 else { throw SystemError(number: errno, in: "lstat") }
        let kind: Kind =
            switch status.st_mode & S_IFMT {
            case S_IFDIR: .folder
            case S_IFREG: .file
            case S_IFLNK: .link
            default: .other
            }
        return Entry(
            path: path, kind: kind, size: status.st_size, mode: Int(status.st_mode & 0o7777),
            modifiedNanoseconds: Self.nanoseconds(status.st_mtim))
    }

    /// Times that no number holds, before 1678 and after 2262, become the least and the greatest.
    private static func nanoseconds(_ time: timespec) -> Int {
        let (seconds, over) = time.tv_sec.multipliedReportingOverflow(by: 1_000_000_000)
        let (sum, overAgain) = seconds.addingReportingOverflow(time.tv_nsec)
        return over || overAgain ? (time.tv_sec < 0 ? .min : .max) : sum
    }

    /// The path of the system that `path` has.
    package func systemPath(_ path: [UInt8]) -> [UInt8] {
        Array(root.utf8) + (path.isEmpty ? [] : [UInt8(ascii: "/")] + path)
    }

    /// Where the link at `path` points to.
    package func target(_ path: [UInt8]) throws(SystemError) -> [UInt8] {
        var target = [CChar](repeating: 0, count: Int(PATH_MAX))
        // Safe: the path ends with a zero, and the array has room for what is asked.
        let count = unsafe full(path).withUnsafeBufferPointer { buffer -> Int in
            guard let start = buffer.baseAddress else { return -1 }
            return unsafe readlink(start, &target, target.count)
        }
        guard count >= 0 else { throw SystemError(number: errno, in: "readlink") }
        return target[..<count].map { UInt8(bitPattern: $0) }
    }

    /// Reads the file at `path` and gives `body` its bytes, a piece at a time.
    package func read(
        _ path: [UInt8], _ body: (Span<UInt8>) throws(SystemError) -> Void
    ) throws(SystemError) {
        let file = try open(path, O_RDONLY)
        defer { _ = close(file.rawValue) }
        var position = 0
        var buffer = [UInt8](repeating: 0, count: 64 << 10)
        while true {
            let count = try retrying { () throws(SystemError) in
                var span = buffer.mutableSpan
                return try LinuxFileSystem().read(file, into: &span, at: position)
            }
            if count == 0 { return }
            position += count
            try body(buffer.span.extracting(0..<count))
        }
    }

    private func open(_ path: [UInt8], _ flags: Int32) throws(SystemError) -> FileDescriptor {
        // Safe: the path ends with a zero.
        let result = unsafe full(path).withUnsafeBufferPointer { buffer -> Int32 in
            guard let start = buffer.baseAddress else { return -EINVAL }
            return unsafe clinux_openat(
                AT_FDCWD, start,
                flags | O_CLOEXEC | O_NONBLOCK | (path.isEmpty ? 0 : O_NOFOLLOW), 0)
        }
        guard result >= 0 else { throw SystemError(number: -result, in: "open") }
        return FileDescriptor(rawValue: result)
    }

    /// The path of the system, ending with a zero.
    private func full(_ path: [UInt8]) -> [CChar] {
        systemPath(path).map { CChar(bitPattern: $0) } + [0]
    }
}
