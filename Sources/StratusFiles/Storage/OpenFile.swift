/// An open file or directory of a store; every transfer is repeated until it is whole.
final class OpenFile: Sendable {
    let name: String
    private let open: OpenDescriptor

    var descriptor: FileDescriptor { open.descriptor }

    init(
        _ name: String, in directory: OpenFile, _ mode: OpenMode
    ) throws(StorageError) {
        self.name = name
        do {
            open = try OpenDescriptor(on: directory.open.system) { system throws(SystemError) in
                try system.open(name, in: directory.descriptor, mode)
            }
        } catch {
            throw StorageError(error, file: name)
        }
    }

    init(name: String, _ open: OpenDescriptor) {
        self.name = name
        self.open = open
    }

    static func directory(
        _ path: String, on system: any FileSystem
    ) throws(StorageError) -> OpenFile {
        do {
            let open = try OpenDescriptor(on: system) { system throws(SystemError) in
                try system.openDirectory(path)
            }
            return OpenFile(name: path, open)
        } catch {
            throw StorageError(error, file: path)
        }
    }

    /// One call on the file; `file` is the name that an error gives.
    func call<Result>(
        file: String? = nil,
        _ body: (any FileSystem, FileDescriptor) throws(SystemError) -> Result
    ) throws(StorageError) -> Result {
        do {
            return try open.call(body)
        } catch {
            throw StorageError(error, file: file ?? name)
        }
    }

    func status() throws(StorageError) -> FileStatus {
        try call { system, descriptor throws(SystemError) in try system.status(descriptor) }
    }

    func map(length: Int) throws(StorageError) -> any FileMapping {
        try call { system, descriptor throws(SystemError) in
            try system.map(descriptor, length: length)
        }
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
            try open.system.writeAll(descriptor, bytes, at: position, mode)
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
            return try open.call { system, descriptor throws(SystemError) in
                try system.read(descriptor, into: &bytes, at: position, mode)
            }
        } catch {
            if mode == .resident, error.code == .wouldBlock {
                throw StorageError(.notResident, file: name)
            }
            throw StorageError(error, file: name)
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
