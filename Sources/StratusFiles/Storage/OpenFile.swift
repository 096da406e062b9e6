/// An open descriptor, closed when it is no longer referenced; every call on it is repeated while
/// signals interrupt it, and every transfer until it is whole.
final class OpenFile: Sendable {
    let name: String
    let descriptor: FileDescriptor
    private let system: any FileSystem

    init(
        _ name: String, in directory: OpenFile, _ mode: OpenMode
    ) throws(StorageError) {
        self.name = name
        system = directory.system
        do {
            descriptor = try retrying { () throws(SystemError) in
                try directory.system.open(name, in: directory.descriptor, mode)
            }
        } catch {
            throw StorageError(error, file: name)
        }
    }

    private init(name: String, descriptor: FileDescriptor, system: any FileSystem) {
        self.name = name
        self.descriptor = descriptor
        self.system = system
    }

    static func directory(
        _ path: String, on system: any FileSystem
    ) throws(StorageError) -> OpenFile {
        do {
            let descriptor = try retrying { () throws(SystemError) in
                try system.openDirectory(path)
            }
            return OpenFile(name: path, descriptor: descriptor, system: system)
        } catch {
            throw StorageError(error, file: path)
        }
    }

    deinit {
        // Data that matters was synced before, so a failure here loses nothing.
        try? system.close(descriptor)
    }

    /// One call on the file; `file` is the name that an error gives.
    func call<Result>(
        file: String? = nil,
        _ body: (any FileSystem, FileDescriptor) throws(SystemError) -> Result
    ) throws(StorageError) -> Result {
        do {
            return try retrying { () throws(SystemError) in try body(system, descriptor) }
        } catch {
            throw StorageError(error, file: file ?? name)
        }
    }

    func status() throws(StorageError) -> FileStatus {
        try call { system, descriptor throws(SystemError) in try system.status(descriptor) }
    }

    func lock(_ kind: LockKind) throws(StorageError) -> Bool {
        try call { system, descriptor throws(SystemError) in
            try system.lock(descriptor, kind)
        }
    }

    func sync() throws(StorageError) {
        do {
            try call { system, descriptor throws(SystemError) in
                try system.synchronizeData(descriptor)
            }
        } catch {
            throw StorageError(.syncFailed, file: name, cause: error.cause)
        }
    }

    func write(
        _ bytes: Span<UInt8>, at position: Int, _ mode: WriteMode = .kept
    ) throws(StorageError) {
        do {
            try system.writeAll(descriptor, bytes, at: position, mode)
        } catch {
            throw StorageError(error, file: name)
        }
    }

    func read(_ range: Range<Int>, _ mode: ReadMode) throws(StorageError) -> [UInt8] {
        try [UInt8](capacity: range.count) { bytes throws(StorageError) in
            while !bytes.isFull {
                let count = try read(into: &bytes, at: range.lowerBound + bytes.count, mode)
                guard count > 0 else { throw StorageError(.truncated, file: name) }
            }
        }
    }

    private func read(
        into bytes: inout OutputSpan<UInt8>, at position: Int, _ mode: ReadMode
    ) throws(StorageError) -> Int {
        do throws(SystemError) {
            return try retrying { () throws(SystemError) in
                switch mode {
                case .blocking: try system.read(descriptor, into: &bytes, at: position)
                case .resident: try system.readResident(descriptor, into: &bytes, at: position)
                }
            }
        } catch {
            if mode == .resident, error.code == .wouldBlock {
                throw StorageError(.notResident, file: name)
            }
            throw StorageError(error, file: name)
        }
    }
}

/// Repeats a call while signals interrupt it.
func retrying<Result>(
    _ body: () throws(SystemError) -> Result
) throws(SystemError) -> Result {
    while true {
        do {
            return try body()
        } catch {
            if error.code != .interrupted { throw error }
        }
    }
}

extension FileSystem {
    /// Writes all of `bytes`, however many calls that takes.
    func writeAll(
        _ file: FileDescriptor, _ bytes: Span<UInt8>, at position: Int, _ mode: WriteMode
    ) throws(SystemError) {
        var done = 0
        while done < bytes.count {
            let rest = bytes.extracting(done..<bytes.count)
            done += try retrying { () throws(SystemError) in
                try write(file, rest, at: position + done, mode)
            }
        }
    }
}
