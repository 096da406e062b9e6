/// A directory that is made for a caller: under another name beside its own until it is complete.
///
/// Given up, it is gone with its files; the end of the process leaves it there under that name.
package final class FreshDirectory: Sendable {
    /// Where the directory is until it is placed.
    package let temporaryPath: String
    private let folder: OpenFolder
    private let name: [UInt8]
    private let temporaryName: [UInt8]

    /// Makes a directory that is to be named `path`, which must not exist, now nor when it is placed.
    /// Fails where it would lie in a store.
    package init(_ path: String, on system: any FileSystem) throws(SystemError) {
        let path = Self.withoutSlash(path)
        let end = try Self.end(of: path, on: system)
        // What was opened by its path alone cannot be synced.
        folder = try end.folder.folder([UInt8(ascii: ".")])
        name = end.name
        let suffix = ".new-\(String(Randomness.system.next(), radix: 36))"
        temporaryName = name + Array(suffix.utf8)
        temporaryPath = path + suffix
        try folder.makeFolder(temporaryName)
    }

    /// Fails where no directory could be made that is to be named `path`.
    package static func check(_ path: String, on system: any FileSystem) throws(SystemError) {
        _ = try end(of: withoutSlash(path), on: system)
    }

    private static func withoutSlash(_ path: String) -> String {
        path.last == "/" ? String(path.dropLast()) : path
    }

    private static func end(
        of path: String, on system: any FileSystem
    ) throws(SystemError) -> PathEnd {
        let end = try FileBounds.anywhere.end(
            of: Array(path.utf8), followsLast: false, on: system)
        if try end.folder.isStore { throw SystemError(.insideStore, in: "mkdir") }
        if (try? end.folder.status(end.name)) != nil { throw SystemError(.exists, in: "mkdir") }
        return end
    }

    /// Gives the directory its name, durably; fails with `.exists` where that is taken.
    package func place() throws(SystemError) {
        try folder.rename(temporaryName, to: name, replacing: false)
        try folder.synchronize()
    }

    /// Removes it with the files in it, as far as that can be done.
    package func discard() {
        guard let inner = try? folder.folder(temporaryName), let names = try? inner.names() else {
            return
        }
        for file in names { try? inner.unlink(Array(file)) }
        try? folder.removeFolder(temporaryName)
    }
}
