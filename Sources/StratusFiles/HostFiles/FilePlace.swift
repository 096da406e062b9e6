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

    private let bounds: FileBounds

    /// A path of the system, whose links are followed.
    package init(_ path: String, _ bounds: FileBounds = .anywhere) {
        self.path = Array(path.utf8)
        self.bounds = bounds
        seen = nil
    }

    /// The file of a tree that was looked at, and no other that may have come in its place.
    init(_ entry: FileTree.Entry, in tree: FileTree) {
        path = entry.path
        bounds = .anywhere
        seen = Seen(tree: tree, identity: entry.identity)
    }

    /// How many bytes are there to read, in what was looked at or in what is there now; nil where
    /// there is nothing.
    package var length: Int? { (seen?.identity ?? identity)?.length }

    /// Opens the file for reading, unless it is one of `store` or lies where it may not be named.
    /// What is no file makes it not wait.
    func open(outside store: (any Storage)?) throws(SystemError) -> FileDescriptor {
        if let seen { return try seen.tree.open(path) }
        let end = try bounds.end(of: path, followsLast: true, outside: store)
        let file = try end.folder.open(end.name, O_RDONLY)
        do {
            let status = try LinuxFileSystem().status(file)
            // Its other names may be in the store's directory.
            if let store, status.links > 1, try store.hasFile(status) {
                throw SystemError(.insideStore, in: "open")
            }
            return file
        } catch {
            try? LinuxFileSystem().close(file)
            throw error as? SystemError ?? SystemError(.inputOutput, in: "open")
        }
    }

    /// What the path leads to; nil where that is nothing.
    private var identity: SourceFile.Identity? {
        guard let end = try? bounds.end(of: path, followsLast: true),
            let status = try? end.folder.status(end.name)
        else { return nil }
        return SourceFile.Identity(status)
    }

    /// Whether a file that was opened here is what is to be read.
    func isMeant(_ identity: SourceFile.Identity) -> Bool {
        seen.map { $0.identity == identity } ?? true
    }

    /// Whether that file is still what is found here. Of one that was looked at it does not matter
    /// which name it has now.
    func leads(to identity: SourceFile.Identity) -> Bool {
        seen != nil || self.identity == identity
    }

    package static func == (left: FilePlace, right: FilePlace) -> Bool {
        left.path == right.path && left.seen?.tree === right.seen?.tree
            && left.seen?.identity == right.seen?.identity && left.bounds == right.bounds
    }

    package func hash(into hasher: inout Hasher) { hasher.combine(path) }
}
