internal import CLinux
internal import Glibc
internal import StratusBytes

/// The file system of the machine.
package struct LinuxFileSystem: FileSystem {
    package init() {}

    package func openDirectory(_ path: String) throws(SystemError) -> FileDescriptor {
        // Safe: the string is a C string for the length of the call.
        let result = unsafe clinux_openat(
            AT_FDCWD, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0)
        return try Self.descriptor(result, "open")
    }

    package func makeDirectory(_ path: String) throws(SystemError) {
        // Safe: the string is a C string for the length of the call.
        try check(unsafe mkdir(path, 0o700), "mkdir")
    }

    package func open(
        _ name: String, in directory: FileDescriptor, _ mode: OpenMode
    ) throws(SystemError) -> FileDescriptor {
        let flags =
            switch mode {
            case .reading: O_RDONLY
            case .writing: O_RDWR
            case .creating: O_RDWR | O_CREAT
            case .creatingExclusively: O_RDWR | O_CREAT | O_EXCL
            }
        // Safe: the string is a C string for the length of the call.
        let result = unsafe clinux_openat(
            directory.rawValue, name, flags | O_CLOEXEC | O_NOFOLLOW, 0o600)
        return try Self.descriptor(result, "open")
    }

    package func close(_ file: FileDescriptor) throws(SystemError) {
        try check(Glibc.close(file.rawValue), "close")
    }

    package func read(
        _ file: FileDescriptor, into bytes: inout OutputSpan<UInt8>, at offset: Int
    ) throws(SystemError) -> Int {
        // Safe: the call writes no more than there is room for.
        let result = unsafe bytes.appendBytes { room in
            unsafe pread(file.rawValue, room.baseAddress, room.count, offset)
        }
        try check(result, "pread")
        return result
    }

    package func readResident(
        _ file: FileDescriptor, into bytes: inout OutputSpan<UInt8>, at offset: Int
    ) throws(SystemError) -> Int {
        // Safe: the call writes no more than there is room for.
        let result = unsafe bytes.appendBytes { room in
            Int(
                unsafe clinux_read_nowait(
                    file.rawValue, room.baseAddress, room.count, Int64(offset)))
        }
        // A kernel or file system without the flag cannot tell what is in memory.
        if result == -Int(EOPNOTSUPP) || result == -Int(ENOSYS) {
            throw SystemError(.wouldBlock, in: "preadv2")
        }
        if result < 0 { throw SystemError(number: Int32(-result), in: "preadv2") }
        return result
    }

    package func write(
        _ file: FileDescriptor, _ bytes: Span<UInt8>, at offset: Int, _ mode: WriteMode
    ) throws(SystemError) -> Int {
        // Safe: the call reads no more than the span holds.
        let result = unsafe bytes.withUnsafeBytes { buffer in
            var part = unsafe iovec(buffer)
            return unsafe write(file, &part, 1, at: offset, mode)
        }
        if result < 0 { throw SystemError(number: Int32(-result), in: "pwrite") }
        return result
    }

    /// Writes some of what `count` parts name, one after the other; returns how many bytes, or the
    /// negated errno.
    func write(
        _ file: FileDescriptor, _ parts: UnsafePointer<iovec>, _ count: Int, at offset: Int,
        _ mode: WriteMode
    ) -> Int {
        // Safe: the caller has what the parts name, and it is only read.
        switch mode {
        case .kept:
            let written = unsafe pwritev(file.rawValue, parts, Int32(count), offset)
            return written < 0 ? -Int(errno) : written
        case .streamed:
            return Int(
                unsafe clinux_write_streamed(
                    file.rawValue, parts, Int32(count), Int64(offset)))
        }
    }

    /// sync_file_range(2): the medium begins with what was written to a range. Nothing is durable
    /// for it; a later sync has less to do.
    func startWriting(
        _ file: FileDescriptor, _ range: Range<Int>
    ) throws(SystemError) {
        let result = clinux_start_writing(
            file.rawValue, Int64(range.lowerBound), Int64(range.count))
        if result < 0 { throw SystemError(number: -result, in: "sync_file_range") }
    }

    package func synchronizeData(_ file: FileDescriptor) throws(SystemError) {
        try check(fdatasync(file.rawValue), "fdatasync")
    }

    package func synchronize(_ file: FileDescriptor) throws(SystemError) {
        try check(fsync(file.rawValue), "fsync")
    }

    package func truncate(_ file: FileDescriptor, to length: Int) throws(SystemError) {
        try check(ftruncate(file.rawValue, length), "ftruncate")
    }

    package func allocate(_ file: FileDescriptor, _ range: Range<Int>) throws(SystemError) {
        let result = clinux_allocate(
            file.rawValue, Int64(range.lowerBound), Int64(range.count))
        // A file system that cannot reserve says so; writing then finds its blocks itself.
        if result == -EOPNOTSUPP { return }
        if result < 0 { throw SystemError(number: -result, in: "fallocate") }
    }

    package func deallocate(_ file: FileDescriptor, _ range: Range<Int>) throws(SystemError) {
        let result = clinux_deallocate(
            file.rawValue, Int64(range.lowerBound), Int64(range.count))
        if result < 0 { throw SystemError(number: -result, in: "fallocate") }
    }

    package func status(_ file: FileDescriptor) throws(SystemError) -> FileStatus {
        var status = stat()
        // Safe: the structure outlives the call.
        try check(unsafe fstat(file.rawValue, &status), "fstat")
        return FileStatus(status)
    }

    package func status(
        of name: String, in directory: FileDescriptor
    ) throws(SystemError) -> FileStatus {
        var status = stat()
        // Safe: the string is a C string for the length of the call; the structure outlives it.
        let result = unsafe fstatat(directory.rawValue, name, &status, AT_SYMLINK_NOFOLLOW)
        try check(result, "fstatat")
        return FileStatus(status)
    }

    package func status(ofPath path: String) throws(SystemError) -> FileStatus {
        var status = stat()
        // Safe: the string is a C string for the length of the call; the structure outlives it.
        try check(unsafe stat(path, &status), "stat")
        return FileStatus(status)
    }

    package func workingDirectory() throws(SystemError) -> String {
        // Safe: the call allocates what it returns, which is freed once it was copied.
        guard let path = unsafe getcwd(nil, 0) else {
            throw SystemError(number: errno, in: "getcwd")
        }
        defer { unsafe free(path) }
        return unsafe String(cString: path)
    }

    package func rename(
        _ name: String, to newName: String, in directory: FileDescriptor
    ) throws(SystemError) {
        // Safe: both strings are C strings for the length of the call.
        let result = unsafe clinux_rename_exclusive(directory.rawValue, name, newName)
        if result < 0 { throw SystemError(number: -result, in: "renameat2") }
    }

    package func unlink(_ name: String, in directory: FileDescriptor) throws(SystemError) {
        // Safe: the string is a C string for the length of the call.
        try check(unsafe unlinkat(directory.rawValue, name, 0), "unlinkat")
    }

    package func list(_ directory: FileDescriptor) throws(SystemError) -> [String] {
        // A fresh descriptor: a directory stream owns its descriptor and moves its position.
        // Safe: the string is a C string for the length of the call.
        let fresh = unsafe clinux_openat(
            directory.rawValue, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0)
        return try DirectoryStream(Self.descriptor(fresh, "open")).names.compactMap { name in
            String(validating: name, as: UTF8.self)
        }
    }

    package func lock(
        _ file: FileDescriptor, _ kind: LockKind
    ) throws(SystemError) -> Bool {
        let operation =
            switch kind {
            case .shared: LOCK_SH | LOCK_NB
            case .exclusive: LOCK_EX | LOCK_NB
            case .none: LOCK_UN
            }
        do {
            try check(flock(file.rawValue, operation), "flock")
            return true
        } catch {
            if error.code == .wouldBlock { return false }
            throw error
        }
    }

    /// What a call that opens something has returned.
    static func descriptor(
        _ result: Int32, _ call: StaticString
    ) throws(SystemError) -> FileDescriptor {
        guard result >= 0 else { throw SystemError(number: -result, in: call) }
        guard result > 2 else {
            // A store file must never be what the process takes for its standard streams.
            let duplicate = fcntl(result, F_DUPFD_CLOEXEC, 3)
            let number = errno
            _ = Glibc.close(result)
            guard duplicate >= 0 else { throw SystemError(number: number, in: call) }
            return FileDescriptor(rawValue: duplicate)
        }
        return FileDescriptor(rawValue: result)
    }

    private func check(
        _ result: some SignedInteger, _ call: StaticString
    ) throws(SystemError) {
        if result < 0 { throw SystemError(number: errno, in: call) }
    }
}

extension FileStatus {
    init(_ status: stat) {
        self.init(
            length: status.st_size, links: Int(status.st_nlink), device: UInt64(status.st_dev),
            inode: UInt64(status.st_ino))
    }
}

extension iovec {
    /// What a call is to read.
    init(_ bytes: UnsafeRawBufferPointer) {
        // Safe: nothing is read here.
        unsafe self.init(
            iov_base: UnsafeMutableRawPointer(mutating: bytes.baseAddress), iov_len: bytes.count)
    }
}

extension SystemError {
    init(number: Int32, in call: StaticString) {
        let code: Code =
            switch number {
            case EINTR: .interrupted
            case EEXIST: .exists
            case ENOENT: .notFound
            case ENOSPC, EDQUOT, EFBIG: .noSpace
            case EIO: .inputOutput
            case EAGAIN: .wouldBlock
            case EACCES, EPERM, EROFS: .permission
            case EMFILE, ENFILE: .tooManyFiles
            default: .other(number)
            }
        self.init(code, in: call)
    }
}

extension SystemError {
    /// Whether nothing is where the path leads that the call could use.
    package var isOfPath: Bool {
        switch code {
        case .notFound, .other(ENOTDIR), .other(ELOOP), .other(ENAMETOOLONG): true
        default: false
        }
    }
}

extension SystemError: CustomStringConvertible {
    package var description: String { "\(call): \(reason)" }

    private var reason: String {
        switch code {
        case .interrupted: "interrupted"
        case .exists: "the name exists"
        case .notFound: "no such file"
        case .noSpace: "no space left"
        case .inputOutput: "input/output error"
        case .wouldBlock: "would block"
        case .permission: "not permitted"
        case .tooManyFiles: "too many open files"
        case .tooManyThreads: "the system gives no further thread"
        case .outsideBounds: "the path leads out of the permitted directories"
        case .insideStore: "the path leads into the directory of a store"
        case .other(let number): Self.text(of: number) ?? "error \(number)"
        }
    }

    private static func text(of number: Int32) -> String? {
        // Safe: the text is a C string that lives as long as the process.
        guard let text = unsafe clinux_error_text(number) else { return nil }
        return unsafe String(cString: text).lowercased()
    }
}
