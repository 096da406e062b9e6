internal import Glibc

/// Where a path leads: a folder, which stays open, and the name of an entry in it. What is done
/// with the entry is done there, whatever becomes of the path.
struct PathEnd {
    let folder: OpenFolder
    let name: [UInt8]

    /// As the system has it for one path.
    private static let linkLimit = 40

    /// Follows the links of `path`, which begins at `base` where it is not absolute (nil: at the
    /// working directory). A link as the last part is followed only where `followsLast` says so.
    init(
        _ path: [UInt8], from base: OpenFolder? = nil, followsLast: Bool
    ) throws(SystemError) {
        var (folder, name) = try Self.split(path, from: base)
        for _ in 0..<Self.linkLimit {
            guard followsLast, let status = try? folder.status(name),
                status.st_mode & S_IFMT == S_IFLNK
            else {
                self.folder = folder
                self.name = name
                return
            }
            (folder, name) = try Self.split(folder.target(name), from: folder)
        }
        throw SystemError(number: ELOOP, in: "open")
    }

    private static func split(
        _ path: [UInt8], from base: OpenFolder?
    ) throws(SystemError) -> (OpenFolder, [UInt8]) {
        let slash = UInt8(ascii: "/")
        let start = path.lastIndex(of: slash).map { $0 + 1 } ?? 0
        let name = Array(path[start...])
        guard TreeWriter.isName(name), !path.contains(0) else {
            throw SystemError(.notFound, in: "open")
        }
        // The separator belongs to the folder's path: alone it is the root.
        let above = start == 0 ? [UInt8(ascii: ".")] : Array(path[..<start])
        return (try OpenFolder(at: above, from: base), name)
    }
}

extension OpenFolder {
    /// The folder itself and all above it, as far as the process sees them.
    func enclosing() throws(SystemError) -> [FileStatus] {
        var found = [FileStatus(try status([UInt8(ascii: ".")]))]
        let up = Array("../".utf8)
        var path = up
        // The root is the folder above itself.
        while true {
            let next = FileStatus(try status(path))
            if found.last?.isSameFile(as: next) == true { return found }
            found.append(next)
            path += up
        }
    }

    /// Whether it has the files of a store.
    var isStore: Bool {
        get throws(SystemError) {
            let prefix = "manifest-".utf8
            return try names().contains { $0.starts(with: prefix) && $0.count == prefix.count + 16 }
        }
    }
}
