internal import StratusBytes

// How a process that has a store open is reached by others of the same machine.
extension LocalStorage {
    /// Says under which name the process listens that has the store open. It is there as long as that
    /// listens, or until the next writer after a crash.
    package static let listenerFile = "listener"

    /// Waits for others from here on. Only who holds the lock of the store may.
    package func listen() throws(StorageError) -> LocalListener {
        guard fileSystem is LinuxFileSystem else {
            throw StorageError(.notFound, file: Self.listenerFile)
        }
        // Random, so that no other process can have bound it; of this directory, so that a copy of the
        // store does not lead here.
        let number = Hex.encode(Randomness.system.next()) + Hex.encode(Randomness.system.next())
        let name = try socketPrefix + number
        let listener: LocalListener
        do throws(SystemError) {
            listener = try LocalListener(name: name)
        } catch {
            throw StorageError(error, file: Self.listenerFile)
        }
        try put(Self.listenerFile, Array(name.utf8))
        return listener
    }

    /// Removes the file that names the listener.
    package func forgetListener() {
        guard fileSystem is LinuxFileSystem else { return }
        _ = try? directory.call(file: Self.listenerFile) { system, descriptor throws(SystemError) in
            try system.unlink(Self.listenerFile, in: descriptor)
        }
    }

    /// A connection to the process that has the store open; nil where it does not listen.
    package func connect() throws(StorageError) -> LocalConnection? {
        let bytes: [UInt8]
        do throws(StorageError) {
            let file = try open(Self.listenerFile)
            bytes = try file.read(0..<min(file.length, 256))
        } catch {
            if error.kind == .notFound { return nil }
            throw error
        }
        let name = String(decoding: bytes, as: UTF8.self)
        guard name.hasPrefix(try socketPrefix) else { return nil }
        do throws(SystemError) {
            return try LocalConnection.open(name)
        } catch {
            throw StorageError(error, file: Self.listenerFile)
        }
    }

    private var socketPrefix: String {
        get throws(StorageError) {
            let status = try directory.status()
            return "stratus-\(Hex.encode(status.device))-\(Hex.encode(status.inode))-"
        }
    }
}
