import StratusFiles

// The calls, between ``DiskMachine/begin`` and ``DiskMachine/end``.

extension DiskMachine {
    mutating func open(
        _ bytes: [UInt8], in directory: FileDescriptor, _ mode: OpenMode, permissions: UInt32,
        _ process: Int
    ) throws(SystemError) -> FileDescriptor {
        let turn = try begin(
            .open, by: process, name: String(decoding: bytes, as: UTF8.self))
        let parent = try findDirectory(directory, of: process, .open)
        if mode == .directory { return try openDirectory(bytes, in: parent, turn, process) }
        let name = try DiskMedium.name(bytes, .open)
        guard !name.isEmpty, !name.utf8.contains(UInt8(ascii: "/")) else {
            throw SystemError(.invalid, in: "open")
        }
        let place: Int
        var isNew = false
        switch (medium.node(name, in: parent), mode) {
        case (.some, .creatingExclusively): throw SystemError(.exists, in: "open")
        case (.file(let file), _) where medium.files[file].isLink:
            throw SystemError(.tooManyLinks, in: "open")
        case (.file(let file), _): place = file
        case (.directory, _): throw SystemError(.isDirectory, in: "open")
        case (nil, .creating), (nil, .creatingExclusively):
            place = makeFile(permissions)
            medium.link(place, as: name, in: parent)
            isNew = true
        case (nil, _): throw SystemError(.notFound, in: "open")
        }
        try end(.open, turn, hasChanged: isNew)
        return add(
            OpenFile(
                node: .file(place), name: name, process: process, isWritable: mode != .reading))
    }

    /// A directory whose name is the last part of a path is not come to by a link.
    private mutating func openDirectory(
        _ name: [UInt8], in parent: Int, _ turn: CallTurn, _ process: Int
    ) throws(SystemError) -> FileDescriptor {
        let node = try medium.resolve(name, from: parent, followsLast: false, .open)
        guard case .directory = node else { throw SystemError(.notDirectory, in: "open") }
        try end(.open, turn, hasChanged: false)
        return add(
            OpenFile(
                node: node, name: String(decoding: name, as: UTF8.self), process: process,
                isWritable: false))
    }

    mutating func openUnnamed(
        in directory: FileDescriptor, permissions: UInt32, _ process: Int
    ) throws(SystemError) -> FileDescriptor {
        let turn = try begin(.openUnnamed, by: process, on: directory)
        _ = try findDirectory(directory, of: process, .openUnnamed)
        if !medium.options.hasUnnamedFiles { throw SystemError(.notSupported, in: "open") }
        let place = makeFile(permissions)
        try end(.openUnnamed, turn)
        return add(OpenFile(node: .file(place), name: "", process: process, isWritable: true))
    }

    private mutating func makeFile(_ permissions: UInt32) -> Int {
        let place = medium.makeFile(DiskFile())
        medium.withAttributes(of: .file(place)) {
            $0.permissions = permissions & ~DiskAttributes.mask
        }
        return place
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

    private mutating func transfer(
        _ call: DiskCall, _ turn: CallTurn, _ file: FileDescriptor,
        into bytes: inout OutputSpan<UInt8>, at offset: Int, _ process: Int
    ) throws(SystemError) -> Int {
        let place = try findFile(file, of: process, call)
        guard offset >= 0 else { throw SystemError(.invalid, in: call.systemCall) }
        if turn == .overtaken { changeByte(at: offset, of: place) }
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

    /// Gives a mapping a descriptor of its own, by which the file stays as long as it does.
    mutating func map(
        _ file: FileDescriptor, length: Int, _ process: Int
    ) throws(SystemError) -> FileDescriptor {
        let turn = try begin(.map, by: process, on: file)
        let open = try find(file, of: process, .map)
        _ = try findFile(file, of: process, .map)
        guard length > 0 else { throw SystemError(.invalid, in: "mmap") }
        try end(.map, turn)
        return add(
            OpenFile(node: open.node, name: open.name, process: process, isWritable: false))
    }

    /// The bytes in a mapping; zeros once its process is dead, which reads nothing any more.
    func read(
        mapping file: FileDescriptor, _ range: Range<Int>, into bytes: inout OutputSpan<UInt8>,
        _ process: Int
    ) {
        guard let place = try? findFile(file, of: process, .map) else {
            for _ in range { bytes.append(0) }
            return
        }
        medium.files[place].visible.read(
            into: &bytes, count: range.count, at: range.lowerBound)
    }

    /// What another process does.
    private mutating func changeByte(at offset: Int, of place: Int) {
        let content = medium.files[place].visible
        let offset = min(offset, content.length)
        let old = [UInt8](capacity: 1) { byte in
            if offset < content.length { content.read(into: &byte, count: 1, at: offset) }
        }
        medium.withFile(place) { $0.write([~(old.first ?? 0)].span, at: offset) }
        medium.touch(.file(place))
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
        medium.touch(.file(place))
        try end(.write, turn)
        return count
    }

    /// A disk may write at any moment what was not synced: this one needs no telling.
    mutating func startWriting(_ file: FileDescriptor, _ process: Int) throws(SystemError) {
        let turn = try begin(.startWriting, by: process, on: file)
        _ = try findFile(file, of: process, .startWriting, writing: true)
        try end(.startWriting, turn)
    }

    mutating func synchronize(
        _ file: FileDescriptor, _ call: DiskCall, _ process: Int
    ) throws(SystemError) {
        let turn = try begin(call, by: process, on: file)
        let open = try find(file, of: process, call)
        if open.isTraversed { throw SystemError(.badDescriptor, in: call.systemCall) }
        let node = open.node
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
        medium.touch(.file(place))
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
        medium.touch(.file(place))
        try end(.deallocate, turn)
    }

    /// Sharing is not simulated: what is changed of one of the files is not changed of the other.
    mutating func clone(
        _ source: FileDescriptor, into target: FileDescriptor, _ process: Int
    ) throws(SystemError) {
        let turn = try begin(.clone, by: process, on: target)
        let from = try findFile(source, of: process, .clone, writing: false)
        let place = try findFile(target, of: process, .clone, writing: true)
        guard medium.options.sharesBlocks else { throw SystemError(.notSupported, in: "ioctl") }
        let content = medium.files[from].visible
        let bytes = (0..<FileContent.sectors(for: content.length)).flatMap(content.bytes(ofSector:))
        medium.withFile(place) { file in
            file.write(bytes.span.extracting(first: content.length), at: 0)
        }
        medium.touch(.file(place))
        try end(.clone, turn)
    }

    mutating func status(
        _ file: FileDescriptor, _ process: Int
    ) throws(SystemError) -> FileStatus {
        let turn = try begin(.status, by: process, on: file)
        let status = status(of: try find(file, of: process, .status).node)
        try end(.status, turn)
        return status
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
