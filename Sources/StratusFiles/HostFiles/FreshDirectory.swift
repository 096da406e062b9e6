internal import Synchronization

/// A directory that is made for a caller: under another name beside its own until it is complete.
///
/// Given up, it is gone with its files; the end of the process leaves it there under that name, unless
/// ``discardAll()`` comes before.
package final class FreshDirectory: Sendable {
    /// Where the directory is until it is placed.
    package let temporaryPath: String
    private let folder: OpenFolder
    private let name: [UInt8]
    private let temporaryName: [UInt8]
    private let fate = Mutex(Fate.isOpen)

    private enum Fate {
        case isOpen
        /// It has its name.
        case isPlaced
        case isGivenUp
    }

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
        Self.unplaced.withLock { $0[ObjectIdentifier(self)] = self }
    }

    /// Those of the process that have neither got their names nor been given up.
    private static let unplaced = Mutex<[ObjectIdentifier: FreshDirectory]>([:])

    /// Gives all of the process up, before it ends; what still writes into one fails, or is too late.
    package static func discardAll() {
        for directory in unplaced.withLock({ Array($0.values) }) { directory.discard() }
    }

    /// A file may be made while others are removed.
    private static let discardTries = 100

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

    /// Gives the directory its name, durably; fails with `.exists` where that is taken, with `.notFound`
    /// where it was given up.
    package func place() throws(SystemError) {
        // Held meanwhile: what has its name is not removed any more.
        try fate.withLock { fate throws(SystemError) in
            guard fate == .isOpen else { throw SystemError(.notFound, in: "rename") }
            try folder.rename(temporaryName, to: name, replacing: false)
            fate = .isPlaced
        }
        forget()
        try folder.synchronize()
    }

    /// Removes it with the files in it, as far as that can be done, unless it has its name.
    package func discard() {
        let isPlaced = fate.withLock { fate in
            if fate == .isOpen { fate = .isGivenUp }
            return fate == .isPlaced
        }
        if isPlaced { return }
        for _ in 0..<Self.discardTries where !removes() { continue }
        forget()
    }

    private func forget() {
        _ = Self.unplaced.withLock { $0.removeValue(forKey: ObjectIdentifier(self)) }
    }

    /// Whether it is gone with the files in it.
    private func removes() -> Bool {
        guard let inner = try? folder.folder(temporaryName), let names = try? inner.names() else {
            return true
        }
        for file in names { try? inner.unlink(Array(file)) }
        return (try? folder.removeFolder(temporaryName)) != nil
    }
}
