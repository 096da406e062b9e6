/// A file that is made for a caller: private while it is written, and under its own name only once
/// it is whole and durable. Given up, it leaves nothing.
package final class FreshFile: Sendable {
    private let directory: FileDescriptor
    private let file: FileDescriptor
    private let temporaryName: String
    private let name: String
    private let system = LinuxFileSystem()
    private let content: NewFile

    /// Begins a file of at most `length` bytes that is to be named `path`, which must not exist,
    /// now nor when it is placed.
    package init(
        _ path: String, length: Int, _ randomness: Randomness = .system
    ) throws(SystemError) {
        let parts = path.utf8.lastIndex(of: UInt8(ascii: "/"))
        name = String(parts.map { path[path.utf8.index(after: $0)...] } ?? path[...])
        guard !name.isEmpty, name != ".", name != ".." else {
            throw SystemError(.notFound, in: "open")
        }
        let folder = parts.map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
        if (try? OpenFolder(at: folder).status(Array(name.utf8))) != nil {
            throw SystemError(.exists, in: "open")
        }
        directory = try system.openDirectory(folder)
        temporaryName = ".stratus-\(randomness.next())"
        do {
            file = try system.open(temporaryName, in: directory, .creatingExclusively)
        } catch {
            try? system.close(directory)
            throw error
        }
        content = NewFile(file, length: length, .kept)
    }

    deinit {
        // Where it was placed there is no such name any more.
        try? system.unlink(temporaryName, in: directory)
        try? system.close(file)
        try? system.close(directory)
    }

    /// Writes `pieces` one after the other from `position` on. Several threads may.
    package func write(
        _ pieces: [ArraySlice<UInt8>], at position: Int
    ) throws(SystemError) {
        try content.write(pieces, at: position)
    }

    /// Makes the file durable and gives it its name; fails with `.exists` where that is taken.
    package func place() throws(SystemError) {
        try retrying { () throws(SystemError) in try system.synchronize(file) }
        try system.rename(temporaryName, to: name, in: directory)
        try retrying { () throws(SystemError) in try system.synchronize(directory) }
    }
}
