public import Stratus
package import StratusFiles

extension Gateway {
    /// Connections that are served at once; more wait.
    private static let connectionLimit = 16
    private static let bufferLength = 256 << 10

    /// Answers requests of other processes of this machine until the task is cancelled: through it
    /// `stratus put`, `delete`, `load`, `revert` and `restore` change a store that this process has
    /// open.
    ///
    /// They find it by the file `listener` in the store's directory. Only processes of the same user, or
    /// of the system's, are answered. They may do what the gateway is granted: those commands need
    /// ``Grant/maintenance`` and, for the files that they name, ``Grant/files(under:)``.
    ///
    /// - Throws: ``StoreError`` with `permissionFailure` where the container was opened for reading, or
    ///   why the system gives no connections.
    public nonisolated(nonsending) func listen() async throws(StoreError) {
        try await serve(container.listener())
    }

    /// The same of a listener of the container.
    package nonisolated(nonsending) func serve(
        _ listener: LocalListener
    ) async throws(StoreError) {
        defer { container.forgetListener() }
        let failure = await withTaskCancellationHandler {
            await withTaskGroup(of: Void.self) { group -> (any Error)? in
                var failure: (any Error)?
                var running = 0
                let threads = IOThreads(count: 1)
                accepting: while true {
                    switch await threads.outcome(of: { try listener.accept() }) {
                    case .success(let connection?):
                        if running == Self.connectionLimit {
                            await group.next()
                            running -= 1
                        }
                        running += 1
                        group.addTask {
                            await serve(connection)
                            listener.release(connection)
                        }
                    case .success(nil): break accepting
                    case .failure(let error as SystemError) where error.isTransient:
                        // There may be descriptors or memory again soon.
                        try? await Task.sleep(for: .milliseconds(100))
                    case .failure(let error):
                        failure = error
                        break accepting
                    }
                }
                listener.stop()
                await group.waitForAll()
                return failure
            }
        } onCancel: {
            listener.stop()
        }
        if let failure { throw StoreError(translating: failure) }
    }

    /// Answers one request after the other. A connection that fails ends alone.
    private func serve(_ connection: LocalConnection) async {
        let threads = IOThreads(count: 1)
        let server = RequestServer(gateway: self, refreshes: false) {
            try connection.read(upTo: Self.bufferLength)
        } write: { line, _ in
            let bytes = line + [UInt8(ascii: "\n")]
            // Who does not read must not keep a thread that others run on.
            try await threads.outcome { [container] in
                container.announceDurableNow()
                try connection.write(bytes.span)
            }.get()
        }
        try? await server.serve()
    }
}

extension SystemError {
    /// Whether the same call may succeed later.
    fileprivate var isTransient: Bool { code == .tooManyFiles || code == .tooManyThreads }
}
