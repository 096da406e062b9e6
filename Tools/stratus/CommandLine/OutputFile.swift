internal import StratusFiles
internal import Synchronization

/// The file that `--output` names. It is there once the command has ended well, or waits for
/// something and has sent off what it found; before that, and where the command fails or the process
/// is stopped, what was there stays as it was.
final class OutputFile: Sendable {
    private enum Target: Sendable {
        /// What has no name yet, or none but its own.
        case file(FreshFile, isThere: Bool)
        /// What must be written to as it is: a pipe, a device, a link.
        case stream(Terminal.Stream)
    }

    private struct State: Sendable {
        var target: Target
        var length = 0
    }

    private let path: String
    private let state: Mutex<State>

    init(_ path: String) throws(ToolError) {
        self.path = path
        do throws(SystemError) {
            try FileBounds.checkOutsideStores(path, on: LinuxFileSystem())
        } catch {
            throw Self.failure(error, path)
        }
        if let file = FreshFile(replacing: path, on: LinuxFileSystem()) {
            state = Mutex(State(target: .file(file, isThere: false)))
            return
        }
        do throws(SystemError) {
            state = Mutex(State(target: .stream(try Terminal.open(path))))
        } catch {
            throw Self.failure(error, path)
        }
    }

    /// Writes all the bytes; false where their reader has gone.
    func write(_ bytes: [UInt8]) throws(ToolError) -> Bool {
        try withState { state throws(SystemError) in
            switch state.target {
            case .file(let file, _):
                try file.write([bytes[...]], at: state.length)
                state.length += bytes.count
                return true
            case .stream(let stream): return try Terminal.write(bytes.span, to: stream)
            }
        }
    }

    /// From now on the file is there, with what was written to it.
    func publish() throws(ToolError) {
        try withState { state throws(SystemError) in
            guard case .file(let file, isThere: false) = state.target else { return }
            try file.replace()
            state.target = .file(file, isThere: true)
        }
    }

    /// Some file systems report only here that a write failed.
    func close() throws(ToolError) {
        try withState { state throws(SystemError) in
            if case .stream(let stream) = state.target { try Terminal.close(stream) }
        }
    }

    private func withState<Result: Sendable>(
        _ body: (inout State) throws(SystemError) -> Result
    ) throws(ToolError) -> Result {
        do throws(SystemError) {
            return try state.withLock { state throws(SystemError) in try body(&state) }
        } catch {
            throw Self.failure(error, path)
        }
    }

    private static func failure(_ error: SystemError, _ path: String) -> ToolError {
        ToolError(error, "cannot write the output", path)
    }
}
