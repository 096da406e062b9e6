/// A file of the machine that is to be read, perhaps long after its entry in a tree was listed.
package struct FilePlace: Hashable, Sendable {
    /// An entry of a tree, and its status when it was listed.
    private struct Seen: Sendable {
        let tree: FileTree
        let status: FileStatus
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
        seen = Seen(tree: tree, status: entry.status)
    }

    /// How many bytes are there to read, in what was looked at or in what is there now; nil where
    /// there is nothing.
    package func length(on system: any FileSystem) -> Int? {
        (seen?.status ?? status(on: system))?.length
    }

    /// Opens the file for reading, unless it is one of `store` or lies where it may not be named.
    /// What is no file makes it not wait.
    func open(
        outside store: (any Storage)?, on system: any FileSystem
    ) throws(SystemError) -> OpenDescriptor {
        if let seen { return try seen.tree.open(path) }
        let end = try bounds.end(of: path, followsLast: true, outside: store, on: system)
        let file = try end.folder.open(end.name, .reading)
        let status = try file.call { system, descriptor throws(SystemError) in
            try system.status(descriptor)
        }
        // Its other names may be in the store's directory.
        if let store, status.links > 1 {
            guard let isOfStore = try? store.hasFile(status) else {
                throw SystemError(.inputOutput, in: "open")
            }
            if isOfStore { throw SystemError(.insideStore, in: "open") }
        }
        return file
    }

    /// Of what the path leads to; nil where that is nothing.
    private func status(on system: any FileSystem) -> FileStatus? {
        guard let end = try? bounds.end(of: path, followsLast: true, on: system) else {
            return nil
        }
        return try? end.folder.status(end.name)
    }

    /// Whether a file that was opened here is what is to be read.
    func isMeant(_ status: FileStatus) -> Bool {
        seen.map { $0.status == status } ?? true
    }

    /// Whether that file is still what is found here. Of one that was looked at it does not matter
    /// which name it has now.
    func leads(to status: FileStatus, on system: any FileSystem) -> Bool {
        seen != nil || self.status(on: system) == status
    }

    package static func == (left: FilePlace, right: FilePlace) -> Bool {
        left.path == right.path && left.seen?.tree === right.seen?.tree
            && left.seen?.status == right.seen?.status && left.bounds == right.bounds
    }

    package func hash(into hasher: inout Hasher) { hasher.combine(path) }
}
