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

    package func openDirectory(_ path: String) throws(SystemError) -> FileDescriptor {
        try disk.machine.withLock { machine throws(SystemError) in
            try machine.openDirectory(path, number)
        }
    }

    package func makeDirectory(_ path: String) throws(SystemError) {
        try disk.machine.withLock { machine throws(SystemError) in
            try machine.makeDirectory(path, number)
        }
    }

    package func open(
        _ name: String, in directory: FileDescriptor, _ mode: OpenMode
    ) throws(SystemError) -> FileDescriptor {
        try disk.machine.withLock { machine throws(SystemError) in
            try machine.open(name, in: directory, mode, number)
        }
    }

    package func close(_ file: FileDescriptor) throws(SystemError) {
        try disk.machine.withLock { machine throws(SystemError) in
            try machine.close(file, number)
        }
    }

    package func read(
        _ file: FileDescriptor, into bytes: inout OutputSpan<UInt8>, at offset: Int
    ) throws(SystemError) -> Int {
        try disk.machine.withLock { machine throws(SystemError) in
            try machine.read(file, into: &bytes, at: offset, number)
        }
    }

    package func readResident(
        _ file: FileDescriptor, into bytes: inout OutputSpan<UInt8>, at offset: Int
    ) throws(SystemError) -> Int {
        try disk.machine.withLock { machine throws(SystemError) in
            try machine.readResident(file, into: &bytes, at: offset, number)
        }
    }

    package func write(
        _ file: FileDescriptor, _ bytes: Span<UInt8>, at offset: Int, _ mode: WriteMode
    ) throws(SystemError) -> Int {
        // A disk may write at any moment what was not synced: this one needs no telling.
        try disk.machine.withLock { machine throws(SystemError) in
            try machine.write(file, bytes, at: offset, number)
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

    package func status(_ file: FileDescriptor) throws(SystemError) -> FileStatus {
        try disk.machine.withLock { machine throws(SystemError) in
            try machine.status(file, number)
        }
    }

    package func status(
        of name: String, in directory: FileDescriptor
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

    package func rename(
        _ name: String, to newName: String, in directory: FileDescriptor
    ) throws(SystemError) {
        try disk.machine.withLock { machine throws(SystemError) in
            try machine.rename(name, to: newName, in: directory, number)
        }
    }

    package func unlink(_ name: String, in directory: FileDescriptor) throws(SystemError) {
        try disk.machine.withLock { machine throws(SystemError) in
            try machine.unlink(name, in: directory, number)
        }
    }

    package func list(_ directory: FileDescriptor) throws(SystemError) -> [String] {
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
