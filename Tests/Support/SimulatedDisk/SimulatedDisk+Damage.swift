import Synchronization

// Damage to the medium, for disks on which nothing is pending: after a crash, or after everything
// was synchronised. What is visible changes too. A path that does not exist is the test's error
// and stops it; so does a place beyond the end.
extension SimulatedDisk {
    /// The paths of all files, sorted, without a leading slash.
    package var paths: [String] {
        machine.withLock { machine in
            var paths: [String] = []
            var waiting = [(directory: 0, prefix: "")]
            while let (directory, prefix) = waiting.popLast() {
                for (name, node) in machine.medium.directories[directory].visible {
                    switch node {
                    case .file: paths.append(prefix + name)
                    case .directory(let child): waiting.append((child, prefix + name + "/"))
                    }
                }
            }
            return paths.sorted()
        }
    }

    /// Whether there is a file or a directory at `path`.
    package func exists(_ path: String) -> Bool {
        machine.withLock { $0.medium.node(path) != nil }
    }

    /// The whole content of a file as processes see it.
    package func contents(_ path: String) -> [UInt8] {
        machine.withLock { machine in
            machine.medium.files[machine.file(path)].visible.bytes
        }
    }

    /// How many bytes of blocks a file takes.
    package func blockBytes(_ path: String) -> Int {
        machine.withLock { machine in
            machine.medium.files[machine.file(path)].visible.blockCount * FileContent.sectorSize
        }
    }

    /// The same of all files that a name leads to.
    package var blockBytes: Int { paths.reduce(0) { $0 + blockBytes($1) } }

    /// What of a file would be left for certain after a crash, its name aside.
    package func durableContents(_ path: String) -> [UInt8] {
        machine.withLock { machine in
            machine.medium.files[machine.file(path)].durable.bytes
        }
    }

    /// Replaces the whole content of a file; makes the file where there is none.
    package func replaceContents(_ path: String, _ bytes: [UInt8]) {
        machine.withLock { machine in
            if case .file(let file) = machine.medium.node(path) {
                machine.medium.withFile(file) { $0.replace(bytes) }
            } else {
                let (directory, name) = machine.parent(path)
                let file = machine.medium.makeFile(name, in: directory, DiskFile(bytes))
                machine.medium.damageName(name, to: .file(file), in: directory)
            }
        }
    }

    /// Changes a byte by exclusive or; a mask with one bit flips that bit.
    package func flip(_ path: String, at offset: Int, mask: UInt8 = 0xff) {
        let sector = offset / FileContent.sectorSize
        damage(path) { content in
            precondition(offset >= 0 && offset < content.length, "beyond the end of \(path)")
            var bytes = content.bytes(ofSector: sector)
            bytes[offset % FileContent.sectorSize] ^= mask
            content.set(sector, .written(bytes))
        }
    }

    /// Overwrites bytes inside a file.
    package func overwrite(_ path: String, at offset: Int, with new: [UInt8]) {
        damage(path) { content in
            precondition(
                offset >= 0 && offset + new.count <= content.length, "beyond the end of \(path)")
            for (place, byte) in zip(offset..., new) {
                let sector = place / FileContent.sectorSize
                var bytes = content.bytes(ofSector: sector)
                bytes[place % FileContent.sectorSize] = byte
                content.set(sector, .written(bytes))
            }
        }
    }

    /// Makes a sector of a file zeros.
    package func zeroSector(_ path: String, _ sector: Int) {
        let zeros = [UInt8](repeating: 0, count: FileContent.sectorSize)
        damage(path) { content in
            content.set(sector, .written(zeros))
            content.trim()
        }
    }

    /// Brings back what a sector held before its last `count` synchronised changes, as if their
    /// writes had been lost; false where there were not so many.
    ///
    /// Only with ``DiskOptions/keepsReplacedSectors``.
    package func makeStale(_ path: String, sector: Int, by count: Int = 1) -> Bool {
        machine.withLock { machine in
            let file = machine.file(path)
            return machine.medium.withFile(file) { $0.makeStale(sector: sector, by: count) }
        }
    }

    /// Overwrites a sector with another one, of the same or another file: a misdirected write.
    package func copySector(
        _ source: String, _ sourceSector: Int, to target: String, _ sector: Int
    ) {
        let bytes = machine.withLock { machine in
            machine.medium.files[machine.file(source)].durable.bytes(ofSector: sourceSector)
        }
        damage(target) { content in
            content.set(sector, .written(bytes))
            content.trim()
        }
    }

    /// Cuts a file, or lengthens it with zeros.
    package func setLength(_ path: String, _ length: Int) {
        damage(path) { $0.setLength(length) }
    }

    /// Removes a name.
    package func delete(_ path: String) {
        machine.withLock { machine in
            let (directory, name) = machine.parent(path)
            precondition(machine.medium.node(path) != nil, "no file \(path)")
            machine.medium.damageName(name, to: nil, in: directory)
        }
    }

    /// Gives a file or directory another path, in place of what is there.
    package func move(_ path: String, to newPath: String) {
        machine.withLock { machine in
            guard let node = machine.medium.node(path) else {
                preconditionFailure("nothing at \(path)")
            }
            let (newDirectory, newName) = machine.parent(newPath)
            let (directory, name) = machine.parent(path)
            machine.medium.damageName(newName, to: node, in: newDirectory)
            if path != newPath { machine.medium.damageName(name, to: nil, in: directory) }
        }
    }

    /// Copies a file to another path, in place of what is there.
    package func duplicate(_ path: String, to newPath: String) {
        replaceContents(newPath, contents(path))
    }

    /// Gives a file a second name.
    package func link(_ path: String, to newPath: String) {
        machine.withLock { machine in
            let file = machine.file(path)
            let (directory, name) = machine.parent(newPath)
            machine.medium.damageName(name, to: .file(file), in: directory)
        }
    }

    private func damage(_ path: String, _ body: (inout FileContent) -> Void) {
        machine.withLock { machine in
            let file = machine.file(path)
            machine.medium.withFile(file) { $0.damage(body) }
        }
    }
}

extension DiskMachine {
    fileprivate func file(_ path: String) -> Int {
        guard case .file(let file) = medium.node(path) else {
            preconditionFailure("no file \(path)")
        }
        return file
    }

    fileprivate func parent(_ path: String) -> (directory: Int, name: String) {
        guard let parent = medium.parent(of: path) else {
            preconditionFailure("no directory for \(path)")
        }
        return parent
    }
}
