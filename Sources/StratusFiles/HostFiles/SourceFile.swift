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

    private let place: FilePlace
    private let descriptor: FileDescriptor
    /// As it was opened.
    package let identity: Identity

    /// Opens the file at `place`. Fails where it is no regular file, or is one of `store`.
    package convenience init(
        _ place: FilePlace, outside store: (any Storage)? = nil
    ) throws(SystemError) {
        try self.init(place.open(outside: store), place)
    }

    /// Takes over what was opened at `place`.
    init(_ opened: FileDescriptor, _ place: FilePlace) throws(SystemError) {
        var status = stat()
        // Safe: the structure outlives the call.
        guard unsafe fstat(opened.rawValue, &status) == 0 else {
            let number = errno
            _ = close(opened.rawValue)
            throw SystemError(number: number, in: "fstat")
        }
        guard status.st_mode & S_IFMT == S_IFREG else {
            _ = close(opened.rawValue)
            throw SystemError(
                number: status.st_mode & S_IFMT == S_IFDIR ? EISDIR : EINVAL, in: "open")
        }
        self.place = place
        descriptor = opened
        identity = Identity(status)
    }

    deinit { _ = close(descriptor.rawValue) }

    /// Appends some of the bytes from `position` on to `bytes`; none at the end.
    package func read(
        into bytes: inout OutputSpan<UInt8>, at position: Int
    ) throws(SystemError) {
        _ = try retrying { () throws(SystemError) in
            try LinuxFileSystem().read(descriptor, into: &bytes, at: position)
        }
    }

    /// Some of the bytes from `position` on, at most `count`; none at the end.
    package func read(at position: Int, upTo count: Int) throws(SystemError) -> [UInt8] {
        try [UInt8](capacity: count) { bytes throws(SystemError) in
            try read(into: &bytes, at: position)
        }
    }

    /// Whether what was opened is what the place means; if not, it was changed or exchanged since
    /// somebody looked at it.
    package var isMeant: Bool { place.isMeant(identity) }

    /// Whether the file, and what its place leads to, is still as it was opened.
    package func isUnchanged() -> Bool {
        var status = stat()
        // Safe: the structure outlives the call.
        guard unsafe fstat(descriptor.rawValue, &status) == 0 else { return false }
        return Identity(status) == identity && place.leads(to: identity)
    }
}

extension SourceFile.Identity {
    init(_ status: stat) {
        device = UInt64(status.st_dev)
        inode = UInt64(status.st_ino)
        length = status.st_size
        modified = SourceFile.Moment(status.st_mtim)
        changed = SourceFile.Moment(status.st_ctim)
    }
}
