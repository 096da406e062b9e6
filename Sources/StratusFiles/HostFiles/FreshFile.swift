/// A file that is made for a caller: private while it is written, and under its own name only once
/// it is whole and durable. Given up, or with the end of the process, it is gone.
package final class FreshFile: Sendable {
    private let folder: OpenFolder
    private let file: UnnamedFile
    private let name: [UInt8]
    private let content: NewFile

    /// Begins a file of at most `length` bytes that is to be named `path`, which must not exist,
    /// now nor when it is placed. Fails where it would lie in `store` or may not be named.
    package convenience init(
        _ path: String, length: Int, _ bounds: FileBounds = .anywhere,
        outside store: (any Storage)? = nil, on system: any FileSystem
    ) throws(SystemError) {
        let end = try bounds.end(
            of: Array(path.utf8), followsLast: false, outside: store, on: system)
        if (try? end.folder.status(end.name)) != nil { throw SystemError(.exists, in: "open") }
        try self.init(at: end, length: length, permissions: 0o600)
    }

    /// Begins a file that is to be named `path`, or to take the place of the file there: of that it
    /// has the permissions, else those that the process gives. Nil where it cannot take the place:
    /// what is there is no file, as a pipe or a link, or the directory may not be changed.
    package convenience init?(
        replacing path: String, on system: any FileSystem
    ) {
        do throws(SystemError) {
            let end = try PathEnd(Array(path.utf8), followsLast: false, on: system)
            let old = try? end.folder.status(end.name)
            if let old, old.kind != .file { return nil }
            try self.init(at: end, length: 0, permissions: 0o666)
            if let old { try file.open.setPermissions(old.permissions & 0o777) }
        } catch {
            return nil
        }
    }

    private init(at end: PathEnd, length: Int, permissions: UInt32) throws(SystemError) {
        // What was opened by its path alone cannot be synced.
        folder = try end.folder.folder([UInt8(ascii: ".")])
        name = end.name
        file = try UnnamedFile(in: folder, permissions: permissions)
        content = NewFile(file.open, length: length, .kept)
    }

    /// Writes `slices` one after the other from `position` on. Several threads may.
    package func write(
        _ slices: [ArraySlice<UInt8>], at position: Int
    ) throws(SystemError) {
        try content.write(slices, at: position)
    }

    /// Makes the file durable and gives it its name; fails with `.exists` where that is taken.
    package func place() throws(SystemError) {
        try file.open.synchronize()
        try file.link(as: name)
        do {
            try folder.synchronize()
        } catch {
            // It may not outlive the power, so that the caller is not to rely on it.
            try? folder.unlink(name)
            throw error
        }
    }

    /// Makes the file durable and gives it its name, also where another file has that.
    package func replace() throws(SystemError) {
        try file.open.synchronize()
        try file.replace(name)
        try folder.synchronize()
    }
}
