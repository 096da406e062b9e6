internal import CLinux
internal import Glibc
internal import StratusBytes

/// The file system of the machine.
package struct LinuxFileSystem: FileSystem {
    package init() {}

    package func open(
        _ name: [UInt8], in directory: FileDescriptor, _ mode: OpenMode, permissions: UInt32
    ) throws(SystemError) -> FileDescriptor {
        let flags =
            switch mode {
            case .reading: O_RDONLY
            case .writing: O_RDWR
            case .creating: O_RDWR | O_CREAT
            case .creatingExclusively: O_RDWR | O_CREAT | O_EXCL
            case .directory: O_RDONLY | O_DIRECTORY
            }
        // Safe: the name ends with a zero.
        let result = unsafe clinux_openat(
            directory.rawValue, name.cString, flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK,
            permissions)
        return try Self.descriptor(result, "open")
    }

    package func openUnnamed(
        in directory: FileDescriptor, permissions: UInt32
    ) throws(SystemError) -> FileDescriptor {
        let result = clinux_open_unnamed(directory.rawValue, permissions)
        return try Self.descriptor(result, "open")
    }

    package func close(_ file: FileDescriptor) throws(SystemError) {
        try check(Glibc.close(file.rawValue), "close")
    }

    package func read(
        _ file: FileDescriptor, into bytes: inout OutputSpan<UInt8>, at offset: Int,
        _ mode: ReadMode
    ) throws(SystemError) -> Int {
        // Safe: the calls write no more than there is room for.
        let result = unsafe bytes.appendBytes { room in
            switch mode {
            case .blocking:
                let count = unsafe pread(file.rawValue, room.baseAddress, room.count, offset)
                return count < 0 ? -Int(errno) : count
            case .streamed:
                return Int(
                    unsafe clinux_read_streamed(
                        file.rawValue, room.baseAddress, room.count, Int64(offset)))
            case .resident:
                return Int(
                    unsafe clinux_read_nowait(
                        file.rawValue, room.baseAddress, room.count, Int64(offset)))
            }
        }
        let call: StaticString = mode == .blocking ? "pread" : "preadv2"
        // A kernel or file system without the flag cannot tell what is in memory.
        if mode == .resident, result == -Int(EOPNOTSUPP) || result == -Int(ENOSYS) {
            throw SystemError(.wouldBlock, in: call)
        }
        if result < 0 { throw SystemError(number: Int32(-result), in: call) }
        return result
    }

    package func map(
        _ file: FileDescriptor, length: Int
    ) throws(SystemError) -> any FileMapping {
        try LinuxMapping(file, length: length)
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

    package func write(
        _ file: FileDescriptor, _ slices: ArraySlice<ArraySlice<UInt8>>, at offset: Int,
        _ mode: WriteMode
    ) throws(SystemError) -> Int {
        // Safe: what the vector names is there during the call, and only read.
        let result = unsafe Self.gather(slices, []) { vector in
            unsafe write(file, vector, vector.count, at: offset, mode)
        }
        if result < 0 { throw SystemError(number: Int32(-result), in: "pwritev") }
        return result
    }

    /// Calls `body` with where `slices` lie, at most as many as a call takes.
    private static func gather(
        _ slices: ArraySlice<ArraySlice<UInt8>>, _ vector: [iovec], _ body: ([iovec]) -> Int
    ) -> Int {
        // Safe: each buffer is there until its closure returns, and is only read.
        guard let first = slices.first, unsafe vector.count < 64 else {
            return unsafe body(vector)
        }
        // Safe: as above.
        return unsafe first.withUnsafeBytes { buffer in
            unsafe gather(slices.dropFirst(), vector + [iovec(buffer)], body)
        }
    }

    /// Writes some of what `count` parts name, one after the other; returns how many bytes, or the
    /// negated errno.
    private func write(
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

    package func startWriting(
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

    package func isSame(as other: any FileSystem) -> Bool { other is LinuxFileSystem }

    package func clone(
        _ source: FileDescriptor, into target: FileDescriptor
    ) throws(SystemError) {
        let result = clinux_clone(source.rawValue, target.rawValue)
        if result < 0 { throw SystemError(number: -result, in: "ioctl") }
    }

    package func status(_ file: FileDescriptor) throws(SystemError) -> FileStatus {
        var status = stat()
        // Safe: the structure outlives the call.
        try check(unsafe fstat(file.rawValue, &status), "fstat")
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

    package func setPermissions(
        _ file: FileDescriptor, _ permissions: UInt32
    ) throws(SystemError) {
        try check(fchmod(file.rawValue, permissions), "fchmod")
    }

    package func setTimes(_ file: FileDescriptor, _ time: FileTime) throws(SystemError) {
        let time = timespec(time)
        // Safe: the array has the two times that are asked for.
        try check(unsafe futimens(file.rawValue, [time, time]), "futimens")
    }

    package func lock(
        _ file: FileDescriptor, _ kind: LockKind
    ) throws(SystemError) -> Bool {
        let mode =
            switch kind {
            case .shared: LOCK_SH | LOCK_NB
            case .exclusive: LOCK_EX | LOCK_NB
            case .none: LOCK_UN
            }
        do {
            try check(flock(file.rawValue, mode), "flock")
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

    func check(
        _ result: some SignedInteger, _ call: StaticString
    ) throws(SystemError) {
        if result < 0 { throw SystemError(number: errno, in: call) }
    }
}

extension FileStatus {
    init(_ status: stat) {
        let kind: Kind =
            switch status.st_mode & S_IFMT {
            case S_IFREG: .file
            case S_IFDIR: .directory
            case S_IFLNK: .link
            default: .other
            }
        self.init(
            kind: kind, permissions: status.st_mode & 0o7777, length: status.st_size,
            links: Int(status.st_nlink), device: UInt64(status.st_dev),
            inode: UInt64(status.st_ino), modified: FileTime(status.st_mtim),
            changed: FileTime(status.st_ctim))
    }
}

extension FileTime {
    fileprivate init(_ time: timespec) {
        self.init(seconds: time.tv_sec, nanoseconds: time.tv_nsec)
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

private final class LinuxMapping: FileMapping {
    /// Where it begins.
    private let address: UInt
    private let length: Int

    init(_ file: FileDescriptor, length: Int) throws(SystemError) {
        // Safe: the system chooses where, and nothing is read there yet.
        let memory = unsafe mmap(nil, length, PROT_READ, MAP_SHARED, file.rawValue, 0)
        guard let memory = unsafe memory, unsafe memory != MAP_FAILED else {
            throw SystemError(number: errno, in: "mmap")
        }
        address = UInt(bitPattern: memory)
        self.length = length
    }

    deinit {
        // Safe: it was mapped for this, which no thread refers to any more.
        unsafe munmap(UnsafeMutableRawPointer(bitPattern: address), length)
    }

    func copy(_ range: Range<Int>, into bytes: inout OutputSpan<UInt8>) {
        precondition(range.lowerBound >= 0 && range.upperBound <= length)
        precondition(range.count <= bytes.freeCapacity)
        // Safe: it is mapped for as long as this is there, and there is room.
        unsafe bytes.appendBytes { room in
            let start = unsafe UnsafeRawPointer(bitPattern: address).unsafelyUnwrapped
            unsafe room.copyMemory(
                from: UnsafeRawBufferPointer(
                    start: start + range.lowerBound, count: range.count))
            return range.count
        }
    }
}
