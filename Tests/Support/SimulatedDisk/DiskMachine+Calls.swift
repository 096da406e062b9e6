import StratusFiles

// The calls, between ``DiskMachine/begin`` and ``DiskMachine/end``.

extension DiskMachine {
    mutating func openDirectory(_ path: String, _ process: Int) throws(SystemError)
        -> FileDescriptor
    {
        let turn = try begin(.openDirectory, by: process, name: path)
        let directory: Int
        switch medium.node(path) {
        case .directory(let place): directory = place
        case .file: throw SystemError(.notDirectory, in: "open")
        case nil: throw SystemError(.notFound, in: "open")
        }
        try end(.openDirectory, turn)
        return add(
            OpenFile(
                node: .directory(directory), name: path, process: process, isWritable: false))
    }

    mutating func makeDirectory(_ path: String, _ process: Int) throws(SystemError) {
        let turn = try begin(.makeDirectory, by: process, name: path)
        guard medium.node(path) == nil else { throw SystemError(.exists, in: "mkdir") }
        guard let (parent, name) = medium.parent(of: path) else {
            throw SystemError(.notFound, in: "mkdir")
        }
        medium.makeDirectory(name, in: parent)
        try end(.makeDirectory, turn)
    }

    mutating func open(
        _ name: String, in directory: FileDescriptor, _ mode: OpenMode, _ process: Int
    ) throws(SystemError) -> FileDescriptor {
        let turn = try begin(.open, by: process, name: name)
        let parent = try findDirectory(directory, of: process, .open)
        guard !name.isEmpty, !name.utf8.contains(UInt8(ascii: "/")) else {
            throw SystemError(.invalid, in: "open")
        }
        let place: Int
        var isNew = false
        switch (medium.node(name, in: parent), mode) {
        case (.some, .creatingExclusively): throw SystemError(.exists, in: "open")
        case (.file(let file), _): place = file
        case (.directory, _): throw SystemError(.isDirectory, in: "open")
        case (nil, .creating), (nil, .creatingExclusively):
            place = medium.makeFile(name, in: parent, DiskFile())
            isNew = true
        case (nil, _): throw SystemError(.notFound, in: "open")
        }
        try end(.open, turn, hasChanged: isNew)
        return add(
            OpenFile(
                node: .file(place), name: name, process: process, isWritable: mode != .reading))
    }

    mutating func close(_ file: FileDescriptor, _ process: Int) throws(SystemError) {
        let turn = try begin(.close, by: process, on: file)
        _ = try find(file, of: process, .close)
        drop(file.rawValue)
        try end(.close, turn)
    }

    mutating func read(
        _ file: FileDescriptor, into bytes: inout OutputSpan<UInt8>, at offset: Int,
        _ process: Int
    ) throws(SystemError) -> Int {
        let turn = try begin(.read, by: process, on: file)
        let count = try transfer(.read, turn, file, into: &bytes, at: offset, process)
        try end(.read, turn)
        return count
    }

    mutating func readResident(
        _ file: FileDescriptor, into bytes: inout OutputSpan<UInt8>, at offset: Int,
        _ process: Int
    ) throws(SystemError) -> Int {
        let turn = try begin(.readResident, by: process, on: file)
        var chance = SeededGenerator(seed: medium.options.missSeed &+ UInt64(callCount))
        if medium.options.missesOneIn > 0, chance.oneIn(medium.options.missesOneIn) {
            throw SystemError(.wouldBlock, in: "preadv2")
        }
        let count = try transfer(.readResident, turn, file, into: &bytes, at: offset, process)
        try end(.readResident, turn)
        return count
    }

    private func transfer(
        _ call: DiskCall, _ turn: CallTurn, _ file: FileDescriptor,
        into bytes: inout OutputSpan<UInt8>, at offset: Int, _ process: Int
    ) throws(SystemError) -> Int {
        let place = try findFile(file, of: process, call)
        guard offset >= 0 else { throw SystemError(.invalid, in: call.systemCall) }
        let content = medium.files[place].visible
        var count = turn.shortened(min(bytes.freeCapacity, max(0, content.length - offset)))
        var start = offset
        if turn == .misdirected {
            start += FileContent.sectorSize
            if start + count > content.length {
                start = max(0, offset - FileContent.sectorSize)
            }
            count = min(count, max(0, content.length - start))
        }
        content.read(into: &bytes, count: count, at: start)
        return count
    }

    mutating func write(
        _ file: FileDescriptor, _ bytes: Span<UInt8>, at offset: Int, _ process: Int
    ) throws(SystemError) -> Int {
        let turn = try begin(.write, by: process, on: file)
        let place = try findFile(file, of: process, .write, writing: true)
        guard offset >= 0 else { throw SystemError(.invalid, in: "pwrite") }
        let wanted = turn.shortened(bytes.count)
        let count = medium.writableCount(wanted, at: offset, in: place)
        if count == 0 && wanted > 0 { throw SystemError(.noSpace, in: "pwrite") }
        medium.withFile(place) { $0.write(bytes.extracting(0..<count), at: offset) }
        try end(.write, turn)
        return count
    }

    mutating func synchronize(
        _ file: FileDescriptor, _ call: DiskCall, _ process: Int
    ) throws(SystemError) {
        let turn = try begin(call, by: process, on: file)
        let node = try find(file, of: process, call).node
        // Where the power goes in the middle, what is pending survives or not, as it would anyway.
        if turn != .powerCut { medium.synchronize(node) }
        try end(call, turn)
    }

    mutating func truncate(
        _ file: FileDescriptor, to length: Int, _ process: Int
    ) throws(SystemError) {
        let turn = try begin(.truncate, by: process, on: file)
        let place = try findFile(file, of: process, .truncate, writing: true)
        guard length >= 0 else { throw SystemError(.invalid, in: "ftruncate") }
        medium.withFile(place) { $0.truncate(to: length) }
        try end(.truncate, turn)
    }

    mutating func allocate(
        _ file: FileDescriptor, _ range: Range<Int>, _ process: Int
    ) throws(SystemError) {
        let turn = try begin(.allocate, by: process, on: file)
        let place = try findFile(file, of: process, .allocate, writing: true)
        guard range.lowerBound >= 0, !range.isEmpty else {
            throw SystemError(.invalid, in: "fallocate")
        }
        // A store reserves inside the length only; what lies beyond is left out of the model.
        let content = medium.files[place].visible
        let bytes = range.clamped(to: 0..<content.length)
        let first = bytes.lowerBound / FileContent.sectorSize
        let sectors = first..<max(first, FileContent.sectors(for: bytes.upperBound))
        if let room = medium.room {
            guard content.holeCount(in: sectors) * FileContent.sectorSize <= room else {
                throw SystemError(.noSpace, in: "fallocate")
            }
        }
        if !bytes.isEmpty { medium.withFile(place) { $0.allocate(sectors) } }
        try end(.allocate, turn)
    }

    mutating func deallocate(
        _ file: FileDescriptor, _ range: Range<Int>, _ process: Int
    ) throws(SystemError) {
        let turn = try begin(.deallocate, by: process, on: file)
        let place = try findFile(file, of: process, .deallocate, writing: true)
        guard range.lowerBound >= 0, !range.isEmpty else {
            throw SystemError(.invalid, in: "fallocate")
        }
        let bytes = range.clamped(to: 0..<medium.files[place].visible.length)
        medium.withFile(place) { $0.deallocate(bytes) }
        try end(.deallocate, turn)
    }

    mutating func status(
        _ file: FileDescriptor, _ process: Int
    ) throws(SystemError) -> FileStatus {
        let turn = try begin(.status, by: process, on: file)
        let status = status(of: try find(file, of: process, .status).node)
        try end(.status, turn)
        return status
    }

    mutating func status(
        of name: String, in directory: FileDescriptor, _ process: Int
    ) throws(SystemError) -> FileStatus {
        let turn = try begin(.status, by: process, name: name)
        let parent = try findDirectory(directory, of: process, .status)
        guard let node = medium.node(name, in: parent) else {
            throw SystemError(.notFound, in: "fstatat")
        }
        try end(.status, turn)
        return status(of: node)
    }

    mutating func status(
        ofPath path: String, _ process: Int
    ) throws(SystemError) -> FileStatus {
        let turn = try begin(.status, by: process, name: path)
        guard let node = medium.node(path) else { throw SystemError(.notFound, in: "stat") }
        try end(.status, turn)
        return status(of: node)
    }

    private func status(of node: DiskNode) -> FileStatus {
        switch node {
        case .file(let place):
            FileStatus(
                length: medium.files[place].visible.length, links: medium.files[place].links,
                device: 1, inode: UInt64(2 * place + 3))
        case .directory(let place):
            FileStatus(length: 4096, links: 2, device: 1, inode: UInt64(2 * place + 2))
        }
    }

    mutating func rename(
        _ name: String, to newName: String, in directory: FileDescriptor, _ process: Int
    ) throws(SystemError) {
        let turn = try begin(.rename, by: process, name: name)
        let parent = try findDirectory(directory, of: process, .rename)
        guard medium.node(name, in: parent) != nil else {
            throw SystemError(.notFound, in: "renameat2")
        }
        guard medium.node(newName, in: parent) == nil else {
            throw SystemError(.exists, in: "renameat2")
        }
        medium.rename(name, to: newName, in: parent)
        try end(.rename, turn)
    }

    mutating func unlink(
        _ name: String, in directory: FileDescriptor, _ process: Int
    ) throws(SystemError) {
        let turn = try begin(.unlink, by: process, name: name)
        let parent = try findDirectory(directory, of: process, .unlink)
        switch medium.node(name, in: parent) {
        case .file: medium.unlink(name, in: parent)
        case .directory: throw SystemError(.isDirectory, in: "unlinkat")
        case nil: throw SystemError(.notFound, in: "unlinkat")
        }
        try end(.unlink, turn)
    }

    mutating func list(_ directory: FileDescriptor, _ process: Int) throws(SystemError) -> [String]
    {
        let turn = try begin(.list, by: process, on: directory)
        let place = try findDirectory(directory, of: process, .list)
        try end(.list, turn)
        return medium.directories[place].names
    }

    mutating func flock(
        _ file: FileDescriptor, _ kind: LockKind, _ process: Int
    ) throws(SystemError) -> Bool {
        let turn = try begin(.lock, by: process, on: file)
        let isLocked = try lock(file, kind, of: process)
        try end(.lock, turn)
        return isLocked
    }
}

extension CallTurn {
    /// How much of a transfer happens: at least a byte.
    fileprivate func shortened(_ count: Int) -> Int {
        guard case .short(let number) = self, count > 1 else { return count }
        return 1 + Int(number % UInt64(count - 1))
    }
}
