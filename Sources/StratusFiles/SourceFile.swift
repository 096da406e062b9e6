internal import CLinux
internal import Glibc

/// A file of the machine that is read once, from its beginning: of a caller, not of a store.
package final class SourceFile: Sendable {
    /// What a file is known by; where it differs, the file was changed.
    package struct Identity: Equatable, Sendable {
        package var device: UInt64
        package var inode: UInt64
        /// In bytes.
        package var length: Int
        fileprivate var modified: Moment
        fileprivate var changed: Moment
    }

    fileprivate struct Moment: Equatable, Sendable {
        var seconds: Int
        var nanoseconds: Int

        init(_ time: timespec) {
            seconds = time.tv_sec
            nanoseconds = time.tv_nsec
        }
    }

    private let path: [CChar]
    private let descriptor: FileDescriptor
    /// As it was opened.
    package let identity: Identity

    /// Opens the file `path`, following links. Fails where it is no regular file.
    package convenience init(_ path: String) throws(SystemError) {
        try self.init(bytes: Array(path.utf8))
    }

    /// The same under a name that need not be UTF-8.
    package init(bytes: [UInt8]) throws(SystemError) {
        guard !bytes.contains(0) else { throw SystemError(.notFound, in: "open") }
        path = bytes.map { CChar(bitPattern: $0) } + [0]
        // Safe: the path ends with a zero.
        let result = unsafe path.withUnsafeBufferPointer { buffer -> Int32 in
            guard let start = buffer.baseAddress else { return -EINVAL }
            return unsafe clinux_openat(AT_FDCWD, start, O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0)
        }
        guard result >= 0 else { throw SystemError(number: -result, in: "open") }
        var status = stat()
        // Safe: the structure outlives the call.
        guard unsafe fstat(result, &status) == 0 else {
            let number = errno
            _ = close(result)
            throw SystemError(number: number, in: "fstat")
        }
        guard status.st_mode & S_IFMT == S_IFREG else {
            _ = close(result)
            throw SystemError(
                number: status.st_mode & S_IFMT == S_IFDIR ? EISDIR : EINVAL, in: "open")
        }
        descriptor = FileDescriptor(rawValue: result)
        identity = Identity(status)
    }

    /// How long the file `path` is, in bytes; nil where there is no telling.
    package static func length(of path: [UInt8]) -> Int? {
        guard let file = try? SourceFile(bytes: path) else { return nil }
        return file.identity.length
    }

    deinit { _ = close(descriptor.rawValue) }

    /// Puts some of the bytes from `position` on into `bytes`; returns how many, 0 at the end.
    package func read(
        into bytes: inout MutableSpan<UInt8>, at position: Int
    ) throws(SystemError) -> Int {
        while true {
            do {
                return try LinuxFileSystem().read(descriptor, into: &bytes, at: position)
            } catch {
                if error.code != .interrupted { throw error }
            }
        }
    }

    /// Some of the bytes from `position` on, at most `count`; none at the end.
    package func read(at position: Int, upTo count: Int) throws(SystemError) -> [UInt8] {
        var piece = [UInt8](repeating: 0, count: count)
        var span = piece.mutableSpan
        let read = try read(into: &span, at: position)
        piece.removeLast(count - read)
        return piece
    }

    /// Whether the file, and what its path leads to, is still as it was opened.
    package func isUnchanged() -> Bool {
        var open = stat()
        var named = stat()
        // Safe: the structures outlive the calls, and the path ends with a zero.
        guard unsafe fstat(descriptor.rawValue, &open) == 0 else { return false }
        let result = unsafe path.withUnsafeBufferPointer { buffer -> Int32 in
            guard let start = buffer.baseAddress else { return -1 }
            return unsafe stat(start, &named)
        }
        return result == 0 && Identity(open) == identity && Identity(named) == identity
    }
}

extension SourceFile.Identity {
    fileprivate init(_ status: stat) {
        device = UInt64(status.st_dev)
        inode = UInt64(status.st_ino)
        length = status.st_size
        modified = SourceFile.Moment(status.st_mtim)
        changed = SourceFile.Moment(status.st_ctim)
    }
}
