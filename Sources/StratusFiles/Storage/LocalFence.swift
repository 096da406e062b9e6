/// What a writer's right to a directory rests on: that its path leads to the directory it locked,
/// and that the files it relies on are there under their names.
final class LocalFence: StorageFence {
    private let path: String
    private let directory: OpenFile
    private let locked: FileStatus
    /// Open, so that no other file can get their identity.
    private let files: [OpenFile]
    private let held: [FileStatus]
    private let absent: String

    init(
        at path: String, _ directory: OpenFile, holding names: [String], without absent: String
    ) throws(StorageError) {
        self.path = path
        self.directory = directory
        self.absent = absent
        locked = try directory.status()
        var files: [OpenFile] = []
        var held: [FileStatus] = []
        for name in names {
            let file = try OpenFile(name, in: directory, .reading)
            held.append(try file.status())
            files.append(file)
        }
        self.files = files
        self.held = held
    }

    func check() throws(StorageError) {
        try compare(locked, path) { system, _ throws(SystemError) in
            try system.status(ofPath: path)
        }
        for (file, status) in zip(files, held) {
            try compare(status, file.name) { system, descriptor throws(SystemError) in
                try system.status(of: file.name, in: descriptor)
            }
        }
        do throws(StorageError) {
            _ = try directory.call(file: absent) { system, descriptor throws(SystemError) in
                try system.status(of: absent, in: descriptor)
            }
        } catch {
            if error.kind == .notFound { return }
            throw error
        }
        throw StorageError(.fencedOut, file: absent)
    }

    private func compare(
        _ expected: FileStatus, _ name: String,
        _ find: (any FileSystem, FileDescriptor) throws(SystemError) -> FileStatus
    ) throws(StorageError) {
        do throws(StorageError) {
            let found = try directory.call(file: name, find)
            guard found.isSameFile(as: expected) else { throw StorageError(.fencedOut, file: name) }
        } catch {
            guard error.kind == .notFound else { throw error }
            throw StorageError(.fencedOut, file: name)
        }
    }
}
