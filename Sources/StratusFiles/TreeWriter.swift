internal import CLinux
internal import Glibc

/// A directory of the machine that is being made anew, the counterpart of ``FileTree``.
///
/// Links are to be made last: until then no path can lead out of the tree.
package struct TreeWriter: Sendable {
    private let root: String

    /// Makes the directory `root`, which must not exist.
    package init(_ root: String) throws(SystemError) {
        self.root = root
        try makeFolder([])
    }

    /// Whether a file may have that name.
    package static func isName(_ name: [UInt8]) -> Bool {
        !name.isEmpty && name.count <= 255 && name != [UInt8(ascii: ".")]
            && name != [UInt8(ascii: "."), UInt8(ascii: ".")]
            && !name.contains(0) && !name.contains(UInt8(ascii: "/"))
    }

    package func makeFolder(_ path: [UInt8]) throws(SystemError) {
        // Safe: the path ends with a zero.
        let result = unsafe full(path).withUnsafeBufferPointer { buffer -> Int32 in
            guard let start = buffer.baseAddress else { return -1 }
            return unsafe mkdir(start, 0o700)
        }
        if result != 0 { throw SystemError(number: errno, in: "mkdir") }
    }

    /// Makes the file `path`, which must not exist.
    package func makeFile(_ path: [UInt8]) throws(SystemError) -> TreeFile {
        // Safe: the path ends with a zero.
        let result = unsafe full(path).withUnsafeBufferPointer { buffer -> Int32 in
            guard let start = buffer.baseAddress else { return -EINVAL }
            return unsafe clinux_openat(
                AT_FDCWD, start, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        }
        guard result >= 0 else { throw SystemError(number: -result, in: "open") }
        return TreeFile(FileDescriptor(rawValue: result))
    }

    /// Makes a link that points to `target`.
    package func makeLink(
        _ path: [UInt8], to target: [UInt8], modifiedNanoseconds: Int
    ) throws(SystemError) {
        let target = target.map { CChar(bitPattern: $0) } + [0]
        // Safe: both paths end with a zero.
        let result = unsafe full(path).withUnsafeBufferPointer { buffer -> Int32 in
            guard let start = buffer.baseAddress else { return -1 }
            return unsafe symlink(target, start)
        }
        if result != 0 { throw SystemError(number: errno, in: "symlink") }
        try setTimes(path, modifiedNanoseconds)
    }

    /// Gives a folder that is complete what it had.
    package func finishFolder(
        _ path: [UInt8], mode: Int, modifiedNanoseconds: Int
    ) throws(SystemError) {
        // Safe: the path ends with a zero.
        let result = unsafe full(path).withUnsafeBufferPointer { buffer -> Int32 in
            guard let start = buffer.baseAddress else { return -1 }
            return unsafe chmod(start, mode_t(truncatingIfNeeded: mode) & 0o7777)
        }
        if result != 0 { throw SystemError(number: errno, in: "chmod") }
        try setTimes(path, modifiedNanoseconds)
    }

    private func setTimes(_ path: [UInt8], _ nanoseconds: Int) throws(SystemError) {
        let time = FileTimes.of(nanoseconds: nanoseconds)
        // Safe: the path ends with a zero, and the array has the two times that are asked for.
        let result = unsafe full(path).withUnsafeBufferPointer { buffer -> Int32 in
            guard let start = buffer.baseAddress else { return -1 }
            return unsafe utimensat(AT_FDCWD, start, [time, time], AT_SYMLINK_NOFOLLOW)
        }
        if result != 0 { throw SystemError(number: errno, in: "utimensat") }
    }

    /// The path of the system, ending with a zero.
    private func full(_ path: [UInt8]) -> [CChar] {
        let bytes = Array(root.utf8) + (path.isEmpty ? [] : [UInt8(ascii: "/")] + path)
        return bytes.map { CChar(bitPattern: $0) } + [0]
    }
}

/// A file of a tree, being written from its beginning.
package final class TreeFile: Sendable {
    private let descriptor: FileDescriptor

    fileprivate init(_ descriptor: FileDescriptor) { self.descriptor = descriptor }

    deinit { _ = close(descriptor.rawValue) }

    /// Writes `bytes` at `position`.
    package func write(_ bytes: Span<UInt8>, at position: Int) throws(SystemError) {
        try LinuxFileSystem().writeAll(descriptor, bytes, at: position)
    }

    /// Gives the file what it had besides its bytes.
    package func finish(mode: Int, modifiedNanoseconds: Int) throws(SystemError) {
        guard fchmod(descriptor.rawValue, mode_t(truncatingIfNeeded: mode) & 0o7777) == 0 else {
            throw SystemError(number: errno, in: "fchmod")
        }
        let time = FileTimes.of(nanoseconds: modifiedNanoseconds)
        // Safe: the array has the two times that are asked for.
        guard unsafe futimens(descriptor.rawValue, [time, time]) == 0 else {
            throw SystemError(number: errno, in: "futimens")
        }
    }
}

/// Times as system calls take them.
private enum FileTimes {
    /// Since 1970.
    static func of(nanoseconds: Int) -> timespec {
        let (seconds, rest) = nanoseconds.quotientAndRemainder(dividingBy: 1_000_000_000)
        return rest < 0
            ? timespec(tv_sec: seconds - 1, tv_nsec: rest + 1_000_000_000)
            : timespec(tv_sec: seconds, tv_nsec: rest)
    }
}
