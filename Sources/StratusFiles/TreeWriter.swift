internal import Glibc
internal import Synchronization

/// A directory of the machine that is being made anew, the counterpart of ``FileTree``. Nothing
/// that is made leads out of it, whoever exchanges what meanwhile.
package final class TreeWriter: Sendable {
    private let root: OpenFolder

    /// Makes the directory `path`, which must not exist. Nobody else can look into it.
    package init(_ path: String) throws(SystemError) {
        try LinuxFileSystem().makeDirectory(path)
        root = try OpenFolder(at: path)
    }

    /// Whether an entry may have that name.
    package static func isName(_ name: [UInt8]) -> Bool {
        !name.isEmpty && name.count <= 255 && name != [UInt8(ascii: ".")]
            && name != [UInt8(ascii: "."), UInt8(ascii: ".")]
            && !name.contains(0) && !name.contains(UInt8(ascii: "/"))
    }

    /// Whether a link may point there.
    package static func isTarget(_ target: [UInt8]) -> Bool {
        !target.isEmpty && target.count < PATH_MAX && !target.contains(0)
    }

    /// A folder that was made; the root at the path of no names.
    package func folder(_ path: [UInt8]) throws(SystemError) -> Folder {
        Folder(folder: try root.folder(at: path))
    }

    /// A folder of the tree. Names that are taken are refused with `.exists`.
    package struct Folder: Sendable {
        fileprivate let folder: OpenFolder

        package func makeFolder(_ name: [UInt8]) throws(SystemError) {
            try folder.makeFolder(name)
        }

        /// Makes a file of at most `length` bytes.
        package func makeFile(_ name: [UInt8], length: Int) throws(SystemError) -> TreeFile {
            try TreeFile(folder, name, length)
        }

        /// Makes a link that points to `target`.
        package func makeLink(
            _ name: [UInt8], to target: [UInt8], modifiedNanoseconds: Int
        ) throws(SystemError) {
            try folder.makeLink(name, to: target)
            try folder.setTimes(name, timespec(nanoseconds: modifiedNanoseconds))
        }

        /// Gives the folder, once it is complete, what it had.
        package func finish(mode: Int, modifiedNanoseconds: Int) throws(SystemError) {
            try folder.finish(mode: mode, timespec(nanoseconds: modifiedNanoseconds))
        }
    }
}

/// A file of a tree, being written. Given up, it leaves nothing.
package final class TreeFile: Sendable {
    private let folder: OpenFolder
    private let name: [UInt8]
    private let descriptor: FileDescriptor
    private let isWhole = Atomic(false)
    private let content: NewFile

    fileprivate init(
        _ folder: OpenFolder, _ name: [UInt8], _ length: Int
    ) throws(SystemError) {
        self.folder = folder
        self.name = name
        descriptor = try folder.open(name, O_WRONLY | O_CREAT | O_EXCL, mode: 0o600)
        // A tree is more than memory should hold back from the disk, or keep.
        content = NewFile(descriptor, length: length, .streamed)
    }

    deinit {
        if !isWhole.load(ordering: .relaxed) { try? folder.unlink(name) }
        _ = close(descriptor.rawValue)
    }

    /// Writes `pieces` one after the other from `position` on. Several threads may.
    package func write(
        _ pieces: [ArraySlice<UInt8>], at position: Int
    ) throws(SystemError) {
        try content.write(pieces, at: position)
    }

    /// Gives the file, which is whole now, what it had besides its bytes.
    package func finish(mode: Int, modifiedNanoseconds: Int) throws(SystemError) {
        try OpenFolder.finish(
            descriptor, mode: mode, timespec(nanoseconds: modifiedNanoseconds))
        isWhole.store(true, ordering: .relaxed)
    }
}

extension timespec {
    /// Since 1970.
    fileprivate init(nanoseconds: Int) {
        let (seconds, rest) = nanoseconds.quotientAndRemainder(dividingBy: 1_000_000_000)
        self =
            rest < 0
            ? timespec(tv_sec: seconds - 1, tv_nsec: rest + 1_000_000_000)
            : timespec(tv_sec: seconds, tv_nsec: rest)
    }
}
