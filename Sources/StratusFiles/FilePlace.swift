internal import CLinux
internal import Glibc

/// Where a file of the machine is to be read, perhaps long after somebody looked at it.
package struct FilePlace: Hashable, Sendable {
    /// An entry of a tree, and what it was when it was looked at.
    private struct Seen: Sendable {
        let tree: FileTree
        let identity: SourceFile.Identity
    }

    /// As the system or the tree has it; it need not be UTF-8.
    package let path: [UInt8]
    /// Nil where the path is one of the system.
    private let seen: Seen?

    /// A path of the system, whose links are followed.
    package init(_ path: String) {
        self.path = Array(path.utf8)
        seen = nil
    }

    /// The file of a tree that was looked at, and no other that may have come in its place.
    init(_ entry: FileTree.Entry, in tree: FileTree) {
        path = entry.path
        seen = Seen(tree: tree, identity: entry.identity)
    }

    /// How many bytes are there to read, in what was looked at or in what is there now; nil where
    /// there is nothing.
    package var length: Int? {
        (seen?.identity ?? LinuxFileSystem().identity(ofFile: path))?.length
    }

    func open() throws(SystemError) -> FileDescriptor {
        guard let seen else {
            guard !path.contains(0) else { throw SystemError(.notFound, in: "open") }
            return try LinuxFileSystem().openFile(path)
        }
        return try seen.tree.open(path)
    }

    /// Whether a file that was opened here is what is to be read.
    func isMeant(_ identity: SourceFile.Identity) -> Bool {
        seen.map { $0.identity == identity } ?? true
    }

    /// Whether that file is still what is found here. Of one that was looked at it does not matter
    /// which name it has now.
    func leads(to identity: SourceFile.Identity) -> Bool {
        seen != nil || LinuxFileSystem().identity(ofFile: path) == identity
    }

    package static func == (left: FilePlace, right: FilePlace) -> Bool {
        left.path == right.path && left.seen?.tree === right.seen?.tree
            && left.seen?.identity == right.seen?.identity
    }

    package func hash(into hasher: inout Hasher) { hasher.combine(path) }
}

extension LinuxFileSystem {
    /// Opens the file at a path for reading, following links. What is no file makes it not wait.
    fileprivate func openFile(_ path: [UInt8]) throws(SystemError) -> FileDescriptor {
        // Safe: the path ends with a zero.
        let result = unsafe clinux_openat(
            AT_FDCWD, path.cString, O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0)
        return try Self.descriptor(result, "open")
    }

    /// What a path leads to; nil where that is nothing.
    fileprivate func identity(ofFile path: [UInt8]) -> SourceFile.Identity? {
        var status = stat()
        // Safe: the path ends with a zero, and the structure outlives the call.
        return unsafe stat(path.cString, &status) == 0 ? SourceFile.Identity(status) : nil
    }
}
