/// Which files of the machine a request may name: those below some directories, and none of a store.
///
/// Directories are compared by device and inode, once all links were followed: `..`, links and
/// other names of a directory make no difference.
package struct FileBounds: Hashable, Sendable {
    /// A path that is not absolute begins at the first of them. Nil: any directory, and the
    /// working directory.
    private let roots: [String]?

    /// Any file that is not in a store.
    package static let anywhere = FileBounds(roots: nil)
    /// The files below `roots`, which are absolute paths.
    package static func below(_ roots: [String]) -> FileBounds { FileBounds(roots: roots) }

    /// Fails with `.outsideBounds` or `.insideStore` where a request may not name the path.
    /// `store` is the store that is asked.
    package func check(
        _ path: String, isNew: Bool, outside store: any Storage
    ) throws(SystemError) {
        _ = try end(
            of: Array(path.utf8), followsLast: !isNew, outside: store, on: store.fileSystem)
    }

    /// Fails with `.insideStore` where `path` names an entry of the directory of a store, there
    /// already or not. Other faults of the path are reported by the call that makes the entry.
    package static func checkOutsideStores(
        _ path: String, on system: any FileSystem
    ) throws(SystemError) {
        // A directory may be named with separators behind its name.
        let slash = UInt8(ascii: "/")
        let name = Array(path.utf8.reversed().drop { $0 == slash }.reversed())
        guard let end = try? PathEnd(name, followsLast: true, on: system) else { return }
        if try end.folder.isStore { throw SystemError(.insideStore, in: "open") }
    }

    /// Where a path leads that may be named.
    func end(
        of path: [UInt8], followsLast: Bool, outside store: (any Storage)? = nil,
        on system: any FileSystem
    ) throws(SystemError) -> PathEnd {
        let end: PathEnd
        do {
            end = try PathEnd(
                path, from: base(of: path, on: system), followsLast: followsLast, on: system)
        } catch {
            // Whether there is a directory outside is not for the caller to know.
            if let roots, !roots.contains("/") { throw SystemError(.outsideBounds, in: "open") }
            throw error
        }
        let folders = try end.folder.enclosing()
        if let roots {
            let permitted = roots.compactMap { root -> FileStatus? in
                guard let folder = try? OpenFolder(at: root, on: system) else { return nil }
                return try? folder.status()
            }
            guard
                folders.contains(where: { folder in permitted.contains(where: folder.isSameFile) })
            else { throw SystemError(.outsideBounds, in: "open") }
        }
        if let store {
            guard !folders.contains(where: store.isDirectory), try !end.folder.isStore else {
                throw SystemError(.insideStore, in: "open")
            }
        }
        return end
    }

    private func base(
        of path: [UInt8], on system: any FileSystem
    ) throws(SystemError) -> OpenFolder? {
        guard let roots, path.first != UInt8(ascii: "/") else { return nil }
        guard let first = roots.first else { throw SystemError(.outsideBounds, in: "open") }
        return try OpenFolder(at: first, on: system)
    }
}
