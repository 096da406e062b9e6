internal import Glibc
internal import Synchronization

/// What a command-line tool needs of the operating system beside the files of a store: its
/// arguments, its streams, the signals that ask it to stop, and its end.
package struct Terminal: Sendable {
    /// Where text leaves the process.
    package struct Stream: Sendable {
        fileprivate let descriptor: Int32

        package static let output = Stream(descriptor: STDOUT_FILENO)
        package static let error = Stream(descriptor: STDERR_FILENO)
    }

    /// The arguments after the program's name; nil for one that is not UTF-8, because the text of
    /// it would name another file.
    package static var arguments: [String?] {
        (1..<max(1, Int(CommandLine.argc))).map { place in
            // Safe: the runtime keeps argc C strings there as long as the process runs.
            guard let argument = unsafe CommandLine.unsafeArgv[place] else { return nil }
            return unsafe String(validatingCString: argument)
        }
    }

    package static func isTerminal(_ stream: Stream) -> Bool {
        isatty(stream.descriptor) == 1
    }

    /// How wide the terminal is; nil where `stream` is none, or does not know.
    package static func columns(_ stream: Stream) -> Int? {
        var size = winsize()
        // Safe: the structure is what this request fills, and it outlives the call.
        let result = unsafe ioctl(stream.descriptor, UInt(TIOCGWINSZ), &size)
        return result == 0 && size.ws_col > 0 ? Int(size.ws_col) : nil
    }

    /// Makes a write to a pipe without a reader an answer of ``write(_:to:)`` instead of the
    /// process's end. Called once, before anything is written.
    package static func ignoreBrokenPipes() {
        _ = signal(SIGPIPE, SIG_IGN)
    }

    /// Makes standard streams that the process was started without lead nowhere, so that no file
    /// that it opens is taken for one. Called once, before any is opened.
    package static func openStandardStreams() {
        while true {
            // Safe: the path is a C string for the length of the call.
            let opened = unsafe Glibc.open("/dev/null", O_RDWR)
            if opened > STDERR_FILENO { _ = Glibc.close(opened) }
            if opened < 0 || opened > STDERR_FILENO { return }
        }
    }

    package static func exit(_ status: Int32) -> Never {
        Glibc.exit(status)
    }
}

extension Terminal {
    /// Opens the file at `path` for writing, emptied, or made where there is none.
    package static func open(_ path: String) throws(SystemError) -> Stream {
        // Safe: the string is a C string for the length of the call.
        let opened = unsafe Glibc.open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o666)
        guard opened >= 0 else { throw SystemError(number: errno, in: "open") }
        return Stream(descriptor: opened)
    }

    /// Closes what ``open(_:)`` opened: some file systems report only here that a write failed.
    package static func close(_ stream: Stream) throws(SystemError) {
        guard Glibc.close(stream.descriptor) == 0 else {
            throw SystemError(number: errno, in: "close")
        }
    }

    /// Writes all of `bytes`. False where the reader of a pipe has gone: a quiet end, no failure.
    package static func write(
        _ bytes: Span<UInt8>, to stream: Stream
    ) throws(SystemError) -> Bool {
        var written = 0
        while written < bytes.count {
            let rest = bytes.extracting(written...)
            // Safe: the call reads no more than the span holds.
            let result = unsafe rest.withUnsafeBytes { buffer in
                unsafe Glibc.write(stream.descriptor, buffer.baseAddress, buffer.count)
            }
            if result >= 0 {
                written += result
                continue
            }
            switch errno {
            case EINTR: continue
            case EPIPE: return false
            // A process that shares the stream made it non-blocking; this write waits all the same.
            case EAGAIN: waitUntilWritable(stream)
            default: throw SystemError(number: errno, in: "write")
            }
        }
        return true
    }

    /// Waits for standard input and returns at most `count` bytes of it: none at its end, nil where
    /// the process was asked to stop meanwhile.
    package static func read(upTo count: Int) throws(SystemError) -> [UInt8]? {
        while requestedStop == nil {
            var request = pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0)
            // Safe: one structure, as the count says, and it outlives the call. A signal that came
            // before it does not end it, so that it must end by itself.
            let ready = unsafe poll(&request, 1, 200)
            if ready == 0 || (ready < 0 && errno == EINTR) { continue }
            guard ready > 0 else { throw SystemError(number: errno, in: "poll") }
            var bytes = [UInt8](repeating: 0, count: count)
            // Safe: the call writes no more than the array holds.
            let result = unsafe bytes.withUnsafeMutableBytes { buffer in
                unsafe Glibc.read(STDIN_FILENO, buffer.baseAddress, buffer.count)
            }
            if result >= 0 {
                bytes.removeLast(count - result)
                return bytes
            }
            guard errno == EINTR || errno == EAGAIN else {
                throw SystemError(number: errno, in: "read")
            }
        }
        return nil
    }

    private static func waitUntilWritable(_ stream: Stream) {
        var request = pollfd(fd: stream.descriptor, events: Int16(POLLOUT), revents: 0)
        // Safe: one structure, as the count says, and it outlives the call.
        _ = unsafe poll(&request, 1, -1)
    }
}

/// The signals that ask the process to stop.
private let stopSignals = [SIGINT, SIGTERM, SIGHUP]

/// The last signal that asked the process to stop, or 0.
private let stopSignal = Atomic<Int32>(0)

extension Terminal {
    /// From now on the first SIGINT, SIGTERM and SIGHUP only raise a flag, so that a command can end
    /// at a point of its choice; the second of a kind ends the process at once. Where the process
    /// was started to outlive its terminal (nohup), SIGHUP stays ignored.
    package static func catchStopSignals() {
        // Touched here first: a handler must not be what initialises it.
        stopSignal.store(0, ordering: .relaxed)
        var action = sigaction()
        // Safe: the handler only stores to an atomic that lives as long as the process.
        unsafe action.__sigaction_handler.sa_handler = { number in
            stopSignal.store(number, ordering: .relaxed)
        }
        action.sa_flags = SA_RESTART | Int32(bitPattern: UInt32(SA_RESETHAND))
        for number in stopSignals where number != SIGHUP || !isIgnored(number) {
            // Safe: the structure outlives the call, and the old action is not asked for.
            _ = unsafe sigaction(number, &action, nil)
        }
    }

    /// Lets the calling thread receive the signals of ``catchStopSignals()``. Called once, by the
    /// main thread: the threads of the pool block them, and so would a process that one of them
    /// started.
    package static func receiveStopSignals() {
        var signals = sigset_t()
        // Safe: the set is initialised by the first call, and outlives the others.
        unsafe sigemptyset(&signals)
        for number in stopSignals { unsafe sigaddset(&signals, number) }
        _ = unsafe pthread_sigmask(SIG_UNBLOCK, &signals, nil)
    }

    private static func isIgnored(_ number: Int32) -> Bool {
        var action = sigaction()
        // Safe: the structure outlives the call; the handler is compared and not called.
        return unsafe sigaction(number, nil, &action) == 0
            && unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self)
                == unsafeBitCast(SIG_IGN, to: Int.self)
    }

    /// The number of the signal that asked the process to stop, nil while none has.
    package static var requestedStop: Int32? {
        let number = stopSignal.load(ordering: .relaxed)
        return number == 0 ? nil : number
    }
}
