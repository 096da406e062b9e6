package import StratusFiles
import Synchronization

/// A process on a ``SimulatedDisk``: the file system to give to the code under test.
///
/// After ``kill()``, ``SimulatedDisk/killProcesses()`` or a crash, all its calls fail with
/// `.inputOutput`, have no effect and are not counted.
package struct SimulatedProcess: FileSystem {
    /// The disk it runs on.
    package let disk: SimulatedDisk
    private let number: Int

    init(_ number: Int, on disk: SimulatedDisk) {
        self.number = number
        self.disk = disk
    }

    /// Ends the process as kill -9 does: its descriptors close, what it wrote stays.
    package func kill() {
        disk.machine.withLock { $0.kill(number) }
    }

    package func openDirectory(
        _ path: [UInt8], from base: FileDescriptor?, _ access: DirectoryAccess
    ) throws(SystemError) -> FileDescriptor {
        try disk.machine.withLock { machine throws(SystemError) in
            try machine.openDirectory(path, from: base, access, number)
        }
    }

    package func makeDirectory(
        _ path: [UInt8], from base: FileDescriptor?
    ) throws(SystemError) {
        try disk.machine.withLock { machine throws(SystemError) in
            try machine.makeDirectory(path, from: base, number)
        }
    }

    package func open(
        _ name: [UInt8], in directory: FileDescriptor, _ mode: OpenMode, permissions: UInt32
    ) throws(SystemError) -> FileDescriptor {
        try disk.machine.withLock { machine throws(SystemError) in
            try machine.open(name, in: directory, mode, permissions: permissions, number)
        }
    }

    package func openUnnamed(
        in directory: FileDescriptor, permissions: UInt32
    ) throws(SystemError) -> FileDescriptor {
        try disk.machine.withLock { machine throws(SystemError) in
            try machine.openUnnamed(in: directory, permissions: permissions, number)
        }
    }

    package func close(_ file: FileDescriptor) throws(SystemError) {
        try disk.machine.withLock { machine throws(SystemError) in
            try machine.close(file, number)
        }
    }

    package func read(
        _ file: FileDescriptor, into bytes: inout OutputSpan<UInt8>, at offset: Int,
        _ mode: ReadMode
    ) throws(SystemError) -> Int {
        try disk.machine.withLock { machine throws(SystemError) in
            mode == .resident
                ? try machine.readResident(file, into: &bytes, at: offset, number)
                : try machine.read(file, into: &bytes, at: offset, number)
        }
    }

    package func map(
        _ file: FileDescriptor, length: Int
    ) throws(SystemError) -> any FileMapping {
        let own = try disk.machine.withLock { machine throws(SystemError) in
            try machine.map(file, length: length, number)
        }
        return SimulatedMapping(own, length: length, of: number, on: disk)
    }

    package func write(
        _ file: FileDescriptor, _ bytes: Span<UInt8>, at offset: Int, _ mode: WriteMode
    ) throws(SystemError) -> Int {
        // A disk may write at any moment what was not synced: this one needs no telling.
        try disk.machine.withLock { machine throws(SystemError) in
            try machine.write(file, bytes, at: offset, number)
        }
    }

    package func write(
        _ file: FileDescriptor, _ slices: ArraySlice<ArraySlice<UInt8>>, at offset: Int,
        _ mode: WriteMode
    ) throws(SystemError) -> Int {
        try write(file, Array(slices.joined()).span, at: offset, mode)
    }

    package func startWriting(
        _ file: FileDescriptor, _ range: Range<Int>
    ) throws(SystemError) {
        try disk.machine.withLock { machine throws(SystemError) in
            try machine.startWriting(file, number)
        }
    }

    package func synchronizeData(_ file: FileDescriptor) throws(SystemError) {
        try disk.machine.withLock { machine throws(SystemError) in
            try machine.synchronize(file, .synchronizeData, number)
        }
    }

    package func synchronize(_ file: FileDescriptor) throws(SystemError) {
        try disk.machine.withLock { machine throws(SystemError) in
            try machine.synchronize(file, .synchronize, number)
        }
    }

    package func truncate(_ file: FileDescriptor, to length: Int) throws(SystemError) {
        try disk.machine.withLock { machine throws(SystemError) in
            try machine.truncate(file, to: length, number)
        }
    }

    package func allocate(_ file: FileDescriptor, _ range: Range<Int>) throws(SystemError) {
        try disk.machine.withLock { machine throws(SystemError) in
            try machine.allocate(file, range, number)
        }
    }

    package func deallocate(
        _ file: FileDescriptor, _ range: Range<Int>
    ) throws(SystemError) {
        try disk.machine.withLock { machine throws(SystemError) in
            try machine.deallocate(file, range, number)
        }
    }

    package func isSame(as other: any FileSystem) -> Bool {
        guard let other = other as? SimulatedProcess else { return false }
        return other.disk === disk && other.number == number
    }

    package func clone(
        _ source: FileDescriptor, into target: FileDescriptor
    ) throws(SystemError) {
        try disk.machine.withLock { machine throws(SystemError) in
            try machine.clone(source, into: target, number)
        }
    }

    package func status(_ file: FileDescriptor) throws(SystemError) -> FileStatus {
        try disk.machine.withLock { machine throws(SystemError) in
            try machine.status(file, number)
        }
    }

    package func status(
        of name: [UInt8], in directory: FileDescriptor
    ) throws(SystemError) -> FileStatus {
        try disk.machine.withLock { machine throws(SystemError) in
            try machine.status(of: name, in: directory, number)
        }
    }

    package func status(ofPath path: String) throws(SystemError) -> FileStatus {
        try disk.machine.withLock { machine throws(SystemError) in
            try machine.status(ofPath: path, number)
        }
    }

    package func workingDirectory() throws(SystemError) -> String { "" }

    package func setPermissions(
        _ file: FileDescriptor, _ permissions: UInt32
    ) throws(SystemError) {
        try disk.machine.withLock { machine throws(SystemError) in
            try machine.setPermissions(file, permissions, number)
        }
    }

    package func setTimes(_ file: FileDescriptor, _ time: FileTime) throws(SystemError) {
        try disk.machine.withLock { machine throws(SystemError) in
            try machine.setTimes(file, time, number)
        }
    }

    package func setTimes(
        of name: [UInt8], in directory: FileDescriptor, _ time: FileTime
    ) throws(SystemError) {
        try disk.machine.withLock { machine throws(SystemError) in
            try machine.setTimes(of: name, in: directory, time, number)
        }
    }

    package func link(
        _ file: FileDescriptor, as name: [UInt8], in directory: FileDescriptor
    ) throws(SystemError) {
        try disk.machine.withLock { machine throws(SystemError) in
            try machine.link(file, as: name, in: directory, number)
        }
    }

    package func makeLink(
        _ name: [UInt8], to target: [UInt8], in directory: FileDescriptor
    ) throws(SystemError) {
        try disk.machine.withLock { machine throws(SystemError) in
            try machine.makeLink(name, to: target, in: directory, number)
        }
    }

    package func target(
        of name: [UInt8], in directory: FileDescriptor
    ) throws(SystemError) -> [UInt8] {
        try disk.machine.withLock { machine throws(SystemError) in
            try machine.target(of: name, in: directory, number)
        }
    }

    package func rename(
        _ name: [UInt8], to newName: [UInt8], in directory: FileDescriptor, replacing: Bool
    ) throws(SystemError) {
        try disk.machine.withLock { machine throws(SystemError) in
            try machine.rename(
                name, to: newName, in: directory, replacing: replacing, number)
        }
    }

    package func unlink(
        _ name: [UInt8], in directory: FileDescriptor
    ) throws(SystemError) {
        try disk.machine.withLock { machine throws(SystemError) in
            try machine.unlink(name, in: directory, number)
        }
    }

    package func removeDirectory(
        _ name: [UInt8], in directory: FileDescriptor
    ) throws(SystemError) {
        try disk.machine.withLock { machine throws(SystemError) in
            try machine.removeDirectory(name, in: directory, number)
        }
    }

    package func list(_ directory: FileDescriptor) throws(SystemError) -> NameList {
        try disk.machine.withLock { machine throws(SystemError) in
            try machine.list(directory, number)
        }
    }

    package func lock(_ file: FileDescriptor, _ kind: LockKind) throws(SystemError) -> Bool {
        try disk.machine.withLock { machine throws(SystemError) in
            try machine.flock(file, kind, number)
        }
    }
}

private final class SimulatedMapping: FileMapping {
    private let file: FileDescriptor
    private let length: Int
    private let process: Int
    private let disk: SimulatedDisk

    init(_ file: FileDescriptor, length: Int, of process: Int, on disk: SimulatedDisk) {
        (self.file, self.length, self.process, self.disk) = (file, length, process, disk)
    }

    deinit { disk.machine.withLock { $0.drop(file.rawValue) } }

    func copy(_ range: Range<Int>, into bytes: inout OutputSpan<UInt8>) {
        precondition(range.upperBound <= length, "beyond the mapping")
        disk.machine.withLock { $0.read(mapping: file, range, into: &bytes, process) }
    }
}
