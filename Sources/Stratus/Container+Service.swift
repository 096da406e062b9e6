package import StratusFiles
internal import StratusEngine

// How the process that has a store open is reached by others of the same machine.
extension Container {
    /// Listens for other processes of this machine, which find the way in the store's directory.
    ///
    /// - Throws: ``StoreError`` with `permissionFailure` where the container was opened for reading.
    package func listener() throws(StoreError) -> LocalListener {
        try answer { () throws(EngineError) in
            _ = try engine()
            guard let storage = foundation.storage as? LocalStorage else {
                throw .refused(.invalidArguments, "the store does not lie in a directory")
            }
            do throws(StorageError) {
                return try storage.listen()
            } catch {
                throw EngineError(error)
            }
        }
    }

    /// Shows what is durable to readers in other processes, at once and not a moment after the last
    /// commit: who was answered may look for it. Blocks the calling thread.
    package func announceDurableNow() {
        if case .writing(let engine) = access { engine.announceDurableNow() }
    }

    /// Removes the file by which other processes find the listener.
    package func forgetListener() { (foundation.storage as? LocalStorage)?.forgetListener() }

    /// A connection to the process that has the store in the directory `path` open; nil where none
    /// has, or it does not listen.
    package static func service(at path: String) throws(StoreError) -> LocalConnection? {
        try answering { () throws(EngineError) in
            do throws(StorageError) {
                return try LocalStorage(at: path, .reading).connect()
            } catch {
                throw EngineError(error)
            }
        }
    }
}
