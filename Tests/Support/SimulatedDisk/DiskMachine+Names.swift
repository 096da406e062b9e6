import StratusFiles

// The calls that take a path or a name, and those on what a file has besides its bytes.

extension DiskMachine {
    mutating func openDirectory(
        _ path: [UInt8], from base: FileDescriptor?, _ access: DirectoryAccess, _ process: Int
    ) throws(SystemError) -> FileDescriptor {
        let name = String(decoding: path, as: UTF8.self)
        let turn = try begin(.openDirectory, by: process, name: name)
        let node = try medium.resolve(
            path, from: findBase(base, of: process, .openDirectory), followsLast: true,
            .openDirectory)
        guard case .directory = node else { throw SystemError(.notDirectory, in: "open") }
        try end(.openDirectory, turn)
        return add(
            OpenFile(
                node: node, name: name, process: process, isWritable: false,
                isTraversed: access == .traversing))
    }

    mutating func makeDirectory(
        _ path: [UInt8], from base: FileDescriptor?, _ process: Int
    ) throws(SystemError) {
        let turn = try begin(
            .makeDirectory, by: process, name: String(decoding: path, as: UTF8.self))
        let base = try findBase(base, of: process, .makeDirectory)
        let parts = path.split(separator: UInt8(ascii: "/"))
        guard let last = parts.last else { throw SystemError(.exists, in: "mkdir") }
        let above =
            path.prefix(1).filter { $0 == UInt8(ascii: "/") }
            + Array(parts.dropLast().joined(separator: [UInt8(ascii: "/")]))
        let name = try DiskMedium.name(last, .makeDirectory)
        guard
            case .directory(let parent) = try medium.resolve(
                above, from: base, followsLast: true, .makeDirectory)
        else { throw SystemError(.notDirectory, in: "mkdir") }
        guard name != ".", name != "..", medium.node(name, in: parent) == nil else {
            throw SystemError(.exists, in: "mkdir")
        }
        medium.makeDirectory(name, in: parent)
        try end(.makeDirectory, turn)
    }

    private func findBase(
        _ base: FileDescriptor?, of process: Int, _ call: DiskCall
    ) throws(SystemError) -> Int {
        guard let base else { return 0 }
        return try findDirectory(base, of: process, call)
    }

    mutating func status(
        of name: [UInt8], in directory: FileDescriptor, _ process: Int
    ) throws(SystemError) -> FileStatus {
        let (turn, node) = try beginOnName(.status, name, in: directory, process)
        try end(.status, turn)
        return status(of: node)
    }

    mutating func status(
        ofPath path: String, _ process: Int
    ) throws(SystemError) -> FileStatus {
        let turn = try begin(.status, by: process, name: path)
        let node = try medium.resolve(Array(path.utf8), from: 0, followsLast: true, .status)
        try end(.status, turn)
        return status(of: node)
    }

    func status(of node: DiskNode) -> FileStatus {
        switch node {
        case .file(let place):
            let file = medium.files[place]
            return FileStatus(
                kind: file.isLink ? .link : .file, permissions: file.attributes.permissions,
                length: file.visible.length, links: file.links, device: 1,
                inode: UInt64(2 * place + 3), modified: file.attributes.modified,
                changed: file.attributes.changed)
        case .directory(let place):
            let attributes = medium.directories[place].attributes
            return FileStatus(
                kind: .directory, permissions: attributes.permissions, length: 4096, links: 2,
                device: 1, inode: UInt64(2 * place + 2), modified: attributes.modified,
                changed: attributes.changed)
        }
    }

    mutating func setPermissions(
        _ file: FileDescriptor, _ permissions: UInt32, _ process: Int
    ) throws(SystemError) {
        let turn = try begin(.setPermissions, by: process, on: file)
        let node = try find(file, of: process, .setPermissions).node
        medium.withAttributes(of: node) { $0.permissions = permissions }
        try end(.setPermissions, turn)
    }

    mutating func setTimes(
        _ file: FileDescriptor, _ time: FileTime, _ process: Int
    ) throws(SystemError) {
        let turn = try begin(.setTimes, by: process, on: file)
        let node = try find(file, of: process, .setTimes).node
        medium.withAttributes(of: node) { $0.modified = time }
        try end(.setTimes, turn)
    }

    mutating func setTimes(
        of name: [UInt8], in directory: FileDescriptor, _ time: FileTime, _ process: Int
    ) throws(SystemError) {
        let (turn, node) = try beginOnName(.setTimes, name, in: directory, process)
        medium.withAttributes(of: node) { $0.modified = time }
        try end(.setTimes, turn)
    }

    mutating func link(
        _ file: FileDescriptor, as name: [UInt8], in directory: FileDescriptor, _ process: Int
    ) throws(SystemError) {
        let (turn, parent, name) = try beginOnNewName(.link, name, in: directory, process)
        let place = try findFile(file, of: process, .link)
        medium.link(place, as: name, in: parent)
        try end(.link, turn)
    }

    mutating func makeLink(
        _ name: [UInt8], to target: [UInt8], in directory: FileDescriptor, _ process: Int
    ) throws(SystemError) {
        let (turn, parent, name) = try beginOnNewName(.makeLink, name, in: directory, process)
        _ = medium.makeFile(name, in: parent, DiskFile(linkTo: target))
        try end(.makeLink, turn)
    }

    mutating func target(
        of name: [UInt8], in directory: FileDescriptor, _ process: Int
    ) throws(SystemError) -> [UInt8] {
        let (turn, node) = try beginOnName(.target, name, in: directory, process)
        guard let target = medium.target(of: node) else {
            throw SystemError(.invalid, in: "readlinkat")
        }
        try end(.target, turn)
        return target
    }

    mutating func rename(
        _ name: [UInt8], to newName: [UInt8], in directory: FileDescriptor, replacing: Bool,
        _ process: Int
    ) throws(SystemError) {
        let (turn, _) = try beginOnName(.rename, name, in: directory, process)
        let parent = try findDirectory(directory, of: process, .rename)
        let name = try DiskMedium.name(name, .rename)
        let newName = try DiskMedium.name(newName, .rename)
        switch medium.node(newName, in: parent) {
        case .some where !replacing: throw SystemError(.exists, in: "renameat2")
        case .directory: throw SystemError(.isDirectory, in: "renameat")
        case .file, nil: medium.rename(name, to: newName, in: parent)
        }
        try end(.rename, turn)
    }

    mutating func unlink(
        _ name: [UInt8], in directory: FileDescriptor, _ process: Int
    ) throws(SystemError) {
        let (turn, node) = try beginOnName(.unlink, name, in: directory, process)
        guard case .file = node else { throw SystemError(.isDirectory, in: "unlinkat") }
        medium.unlink(
            try DiskMedium.name(name, .unlink),
            in: try findDirectory(directory, of: process, .unlink))
        try end(.unlink, turn)
    }

    mutating func removeDirectory(
        _ name: [UInt8], in directory: FileDescriptor, _ process: Int
    ) throws(SystemError) {
        let (turn, node) = try beginOnName(.unlink, name, in: directory, process)
        guard case .directory(let place) = node else {
            throw SystemError(.notDirectory, in: "unlinkat")
        }
        guard medium.directories[place].names.isEmpty else {
            throw SystemError(.exists, in: "unlinkat")
        }
        medium.unlink(
            try DiskMedium.name(name, .unlink),
            in: try findDirectory(directory, of: process, .unlink))
        try end(.unlink, turn)
    }

    mutating func list(
        _ directory: FileDescriptor, _ process: Int
    ) throws(SystemError) -> NameList {
        let turn = try begin(.list, by: process, on: directory)
        let place = try findDirectory(directory, of: process, .list)
        try end(.list, turn)
        var names = NameList()
        for name in medium.directories[place].names { names.append(name.utf8) }
        return names
    }

    /// Begins a call on an entry that there is; a link is not followed.
    private mutating func beginOnName(
        _ call: DiskCall, _ name: [UInt8], in directory: FileDescriptor, _ process: Int
    ) throws(SystemError) -> (CallTurn, DiskNode) {
        let turn = try begin(call, by: process, name: String(decoding: name, as: UTF8.self))
        let parent = try findDirectory(directory, of: process, call)
        return (turn, try medium.resolve(name, from: parent, followsLast: false, call))
    }

    /// Begins a call that makes an entry.
    private mutating func beginOnNewName(
        _ call: DiskCall, _ bytes: [UInt8], in directory: FileDescriptor, _ process: Int
    ) throws(SystemError) -> (CallTurn, parent: Int, name: String) {
        let turn = try begin(call, by: process, name: String(decoding: bytes, as: UTF8.self))
        let parent = try findDirectory(directory, of: process, call)
        let name = try DiskMedium.name(bytes, call)
        guard !name.isEmpty, !bytes.contains(UInt8(ascii: "/")) else {
            throw SystemError(.invalid, in: call.systemCall)
        }
        guard medium.node(name, in: parent) == nil else {
            throw SystemError(.exists, in: call.systemCall)
        }
        return (turn, parent, name)
    }
}
