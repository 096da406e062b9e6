/// A directory of the machine that is open: what is done in it is done there, whatever becomes of
/// the paths that lead to it. Its methods take the name of one entry, and follow no link.
final class OpenFolder: Sendable {
    private let directory: OpenDescriptor

    var system: any FileSystem { directory.system }

    /// Opens the directory at a path of the system, following links.
    convenience init(at path: String, on system: any FileSystem) throws(SystemError) {
        self.init(
            try OpenDescriptor(on: system) { system throws(SystemError) in
                try system.openDirectory(path)
            })
    }

    /// Opens a directory, following links; a path that is not absolute begins at `base`, or at the
    /// working directory. It need not be readable.
    convenience init(
        at path: [UInt8], from base: OpenFolder?, on system: any FileSystem
    ) throws(SystemError) {
        self.init(
            try OpenDescriptor(on: system) { system throws(SystemError) in
                try system.openDirectory(path, from: base?.directory.descriptor, .traversing)
            })
    }

    private init(_ directory: OpenDescriptor) { self.directory = directory }

    /// A folder in it; `.` is itself once more.
    func folder(_ name: [UInt8]) throws(SystemError) -> OpenFolder {
        OpenFolder(try open(name, .directory))
    }

    /// A folder below it, by names that are joined by `/`; itself where there are none. No path of
    /// the system is made of them, which would have to be short.
    func folder(at path: [UInt8]) throws(SystemError) -> OpenFolder {
        var folder = self
        for name in path.split(separator: UInt8(ascii: "/")) {
            folder = try folder.folder(Array(name))
        }
        return folder
    }

    /// Of the permissions of what is made the process's mask is taken off.
    func open(
        _ name: [UInt8], _ mode: OpenMode, permissions: UInt32 = 0
    ) throws(SystemError) -> OpenDescriptor {
        try OpenDescriptor(on: system) { system throws(SystemError) in
            try system.open(name, in: directory.descriptor, mode, permissions: permissions)
        }
    }

    /// Makes a file in it that has no name, for writing. Not every file system can.
    func openUnnamed(permissions: UInt32) throws(SystemError) -> OpenDescriptor {
        try OpenDescriptor(on: system) { system throws(SystemError) in
            try system.openUnnamed(in: directory.descriptor, permissions: permissions)
        }
    }

    /// Gives a file without a name one in it; fails with `.exists` where that is taken.
    func link(_ file: OpenDescriptor, as name: [UInt8]) throws(SystemError) {
        try directory.call { system, descriptor throws(SystemError) in
            try system.link(file.descriptor, as: name, in: descriptor)
        }
    }

    /// Gives an entry another name. Where that is taken it takes the place of what has it, or else
    /// fails with `.exists`.
    func rename(
        _ name: [UInt8], to newName: [UInt8], replacing: Bool
    ) throws(SystemError) {
        try directory.call { system, descriptor throws(SystemError) in
            try system.rename(name, to: newName, in: descriptor, replacing: replacing)
        }
    }

    /// What was done in it is durable when this returns.
    func synchronize() throws(SystemError) {
        try directory.call { system, descriptor throws(SystemError) in
            try system.synchronize(descriptor)
        }
    }

    /// The names in it, in no order.
    func names() throws(SystemError) -> NameList {
        try directory.call { system, descriptor throws(SystemError) in
            try system.list(descriptor)
        }
    }

    /// Of a link its own. `..` may stand before the name, and `.` is the folder itself.
    func status(_ name: [UInt8]) throws(SystemError) -> FileStatus {
        try directory.call { system, descriptor throws(SystemError) in
            try system.status(of: name, in: descriptor)
        }
    }

    /// Its own.
    func status() throws(SystemError) -> FileStatus {
        try directory.call { system, descriptor throws(SystemError) in
            try system.status(descriptor)
        }
    }

    /// Where a link points to.
    func target(_ name: [UInt8]) throws(SystemError) -> [UInt8] {
        try directory.call { system, descriptor throws(SystemError) in
            try system.target(of: name, in: descriptor)
        }
    }

    /// Makes a folder that is private.
    func makeFolder(_ name: [UInt8]) throws(SystemError) {
        try directory.call { system, descriptor throws(SystemError) in
            try system.makeDirectory(name, from: descriptor)
        }
    }

    /// Makes a link that points to `target`, which holds no zero.
    func makeLink(_ name: [UInt8], to target: [UInt8]) throws(SystemError) {
        try directory.call { system, descriptor throws(SystemError) in
            try system.makeLink(name, to: target, in: descriptor)
        }
    }

    func unlink(_ name: [UInt8]) throws(SystemError) {
        try directory.call { system, descriptor throws(SystemError) in
            try system.unlink(name, in: descriptor)
        }
    }

    /// Removes an empty folder.
    func removeFolder(_ name: [UInt8]) throws(SystemError) {
        try directory.call { system, descriptor throws(SystemError) in
            try system.removeDirectory(name, in: descriptor)
        }
    }

    /// Sets when an entry was modified and read last.
    func setTimes(_ name: [UInt8], _ time: FileTime) throws(SystemError) {
        try directory.call { system, descriptor throws(SystemError) in
            try system.setTimes(of: name, in: descriptor, time)
        }
    }

    /// Sets its own mode and times.
    func finish(mode: Int, _ time: FileTime) throws(SystemError) {
        try directory.finish(mode: mode, time)
    }
}

extension OpenDescriptor {
    /// Sets the mode, of which the twelve lowest bits count, and the times.
    func finish(mode: Int, _ time: FileTime) throws(SystemError) {
        try setPermissions(UInt32(truncatingIfNeeded: mode) & 0o7777)
        try call { system, descriptor throws(SystemError) in
            try system.setTimes(descriptor, time)
        }
    }

    func setPermissions(_ permissions: UInt32) throws(SystemError) {
        try call { system, descriptor throws(SystemError) in
            try system.setPermissions(descriptor, permissions)
        }
    }

    func synchronize() throws(SystemError) {
        try call { system, descriptor throws(SystemError) in
            try system.synchronize(descriptor)
        }
    }
}
