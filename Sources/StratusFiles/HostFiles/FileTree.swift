/// What a directory of the machine holds, for bringing it into a store. Reads only, and never
/// leaves the directory: below its root no link is followed, even while other processes replace
/// entries.
package final class FileTree: Sendable {
    package struct Entry: Sendable {
        /// Relative to the tree, its parts joined by `/`; bytes, since names need not be UTF-8.
        package var path: [UInt8]
        /// What it was when it was looked at.
        package var status: FileStatus

        package var kind: FileStatus.Kind { status.kind }
        /// Of a file, in bytes.
        package var size: Int { status.length }
        /// The twelve lowest bits: permissions, set-user, set-group, sticky.
        package var mode: Int { Int(status.permissions) }
        /// Since 1970.
        package var modifiedNanoseconds: Int { status.modified.nanosecondsSince1970 }

        /// The last part of the path.
        package var name: [UInt8] {
            Array(path[(path.lastIndex(of: UInt8(ascii: "/")).map { $0 + 1 } ?? 0)...])
        }

        /// The path of the folder above; nil at the top.
        package var parent: [UInt8]? {
            path.lastIndex(of: UInt8(ascii: "/")).map { Array(path[..<$0]) }
        }
    }

    private let root: OpenFolder

    /// Opens the directory at a path of the system; it may be a link to one.
    package init(
        _ path: String, on system: any FileSystem
    ) throws(SystemError) {
        root = try OpenFolder(at: path, on: system)
    }

    /// Of the directory itself.
    package func status() throws(SystemError) -> FileStatus { try root.status() }

    /// The folder at a path of the tree; the root at none.
    package func folder(_ path: [UInt8]) throws(SystemError) -> Folder {
        Folder(path: path, tree: self, folder: try root.folder(at: path))
    }

    /// A way through the tree that begins at its root.
    package func walk() -> Walk { Walk(tree: self, steps: FolderWalk(at: root)) }

    /// One folder of the tree after another, each a step from the one before.
    package struct Walk: Sendable {
        fileprivate let tree: FileTree
        fileprivate var steps: FolderWalk

        /// Where the way has led to.
        package var folder: Folder {
            Folder(path: steps.path, tree: tree, folder: steps.folder)
        }

        /// Its path.
        package var path: [UInt8] { steps.path }

        /// Goes into a folder of ``folder``.
        package mutating func enter(_ name: [UInt8]) throws(SystemError) { try steps.enter(name) }

        /// Goes back to the folder above. Where that cannot be opened any more this fails, and the
        /// next call goes to the one above it.
        package mutating func leave() throws(SystemError) { try steps.leave() }
    }

    func open(_ path: [UInt8]) throws(SystemError) -> OpenDescriptor {
        let start = path.lastIndex(of: UInt8(ascii: "/"))
        let folder = try root.folder(at: start.map { Array(path[..<$0]) } ?? [])
        return try folder.open(Array(path[(start.map { $0 + 1 } ?? 0)...]), .reading)
    }
}

extension FileTree {
    /// A folder of the tree. While it is there, it is open.
    package struct Folder: Sendable {
        package let path: [UInt8]
        fileprivate let tree: FileTree
        fileprivate let folder: OpenFolder

        /// What lies in it, sorted.
        package func names() throws(SystemError) -> NameList {
            var names = try folder.names()
            names.sort()
            return names
        }

        /// What lies there under that name.
        package func entry(_ name: [UInt8]) throws(SystemError) -> Entry {
            Entry(path: child(name), status: try folder.status(name))
        }

        /// The path that an entry of that name has.
        package func child(_ name: [UInt8]) -> [UInt8] {
            path.isEmpty ? name : path + [UInt8(ascii: "/")] + name
        }

        /// Where the link of that name points to.
        package func target(_ name: [UInt8]) throws(SystemError) -> [UInt8] {
            try folder.target(name)
        }

        /// Where to read a file of the folder later, when the folder need not be open.
        package func place(of entry: Entry) -> FilePlace { FilePlace(entry, in: tree) }

        /// Opens a file of the folder now.
        package func file(_ entry: Entry) throws(SystemError) -> SourceFile {
            try SourceFile(folder.open(entry.name, .reading), place(of: entry))
        }
    }
}
