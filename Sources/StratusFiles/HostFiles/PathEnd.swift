internal import StratusBytes

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
        _ path: [UInt8], from base: OpenFolder? = nil, followsLast: Bool,
        on system: any FileSystem
    ) throws(SystemError) {
        var (folder, name) = try Self.split(path, from: base, on: system)
        for _ in 0..<Self.linkLimit {
            guard followsLast, let status = try? folder.status(name),
                status.kind == .link
            else {
                self.folder = folder
                self.name = name
                return
            }
            (folder, name) = try Self.split(folder.target(name), from: folder, on: system)
        }
        throw SystemError(.tooManyLinks, in: "open")
    }

    private static func split(
        _ path: [UInt8], from base: OpenFolder?, on system: any FileSystem
    ) throws(SystemError) -> (OpenFolder, [UInt8]) {
        let slash = UInt8(ascii: "/")
        let start = path.lastIndex(of: slash).map { $0 + 1 } ?? 0
        let name = Array(path[start...])
        guard TreeWriter.isName(name), !path.contains(0) else {
            throw SystemError(.notFound, in: "open")
        }
        // The separator belongs to the folder's path: alone it is the root.
        let above = start == 0 ? [UInt8(ascii: ".")] : Array(path[..<start])
        return (try OpenFolder(at: above, from: base, on: system), name)
    }
}

extension OpenFolder {
    /// The folder itself and all above it, as far as the process sees them.
    func enclosing() throws(SystemError) -> [FileStatus] {
        var found = [try status()]
        let up = Array("../".utf8)
        var path = up
        // The root is the folder above itself.
        while true {
            let next = try status(path)
            if found.last?.isSameFile(as: next) == true { return found }
            found.append(next)
            path += up
        }
    }

    /// Whether it has the files of a store.
    var isStore: Bool {
        get throws(SystemError) {
            let prefix = "manifest-".utf8
            return try names().contains { name in
                name.starts(with: prefix)
                    && Hex.number(Array(name.dropFirst(prefix.count)).span) != nil
            }
        }
    }
}
