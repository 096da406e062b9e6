internal import FoundationEssentials
internal import Glibc
internal import Synchronization

/// `stratus` as a process of its own: what a test writes is its standard input, and what it writes
/// to standard output comes back line by line. Messages go to the standard error of the tests.
package final class ToolProcess: Sendable {
    private struct State {
        var input: Int32
        var hasEnded = false
    }

    private let process: pid_t
    private let output: Int32
    private let state: Mutex<State>

    private struct Failure: Error {
        var what: String
    }

    /// Starts the tool, or another program, that was built with the tests.
    ///
    /// - Parameters:
    ///   - environment: what it has beside the environment of the tests, or instead.
    ///   - isSilent: what it writes goes nowhere, its messages too.
    package init(
        _ arguments: [String] = [], program name: String = "stratus",
        environment: [String: String] = [:], isSilent: Bool = false
    ) throws {
        let program = try Self.program(name)
        // Of two that are started at once neither gets an end of the other's pipes.
        let (process, input, output) = try Self.starting.withLock { _ in
            let (input, output) = (try Self.makePipe(), try Self.makePipe())
            defer { for end in [input.read, output.write] { _ = close(end) } }
            let process = try Self.spawn(
                program, arguments, environment, input: input.read,
                output: isSilent ? nil : output.write)
            return (process, input.write, output.read)
        }
        self.process = process
        self.output = output
        state = Mutex(State(input: input))
    }

    private static let starting = Mutex(())

    private static func makePipe() throws -> (read: Int32, write: Int32) {
        var ends: [Int32] = [0, 0]
        // Safe: the call fills the two integers that it is given.
        guard unsafe pipe(&ends) == 0 else { throw Failure(what: "pipe: \(errno)") }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        return (ends[0], ends[1])
    }

    // Safe: the structure is initialised first and destroyed last, and every string ends with a zero
    // and outlives the call.
    private static func spawn(
        _ program: String, _ arguments: [String], _ environment: [String: String], input: Int32,
        output: Int32?
    ) throws -> pid_t {
        var actions = unsafe posix_spawn_file_actions_t()
        var process: pid_t = 0
        unsafe posix_spawn_file_actions_init(&actions)
        defer { unsafe posix_spawn_file_actions_destroy(&actions) }
        unsafe posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO)
        if let output {
            unsafe posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO)
        } else {
            for descriptor in [STDOUT_FILENO, STDERR_FILENO] {
                unsafe posix_spawn_file_actions_addopen(
                    &actions, descriptor, "/dev/null", O_WRONLY, 0)
            }
        }
        let environment = ProcessInfo.processInfo.environment
            .merging(environment) { _, given in given }.map { "\($0.key)=\($0.value)" }
        let result = unsafe withStrings([program] + arguments) { words in
            unsafe withStrings(environment) { environment in
                unsafe posix_spawn(&process, program, &actions, nil, words, environment)
            }
        }
        guard result == 0 else { throw Failure(what: "posix_spawn \(program): \(result)") }
        return process
    }

    deinit {
        closeInput()
        if state.withLock({ !$0.hasEnded }) {
            send(SIGKILL)
            _ = wait()
        }
        _ = close(output)
    }

    /// Beside the program of the tests.
    private static func program(_ name: String) throws -> String {
        let tests = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        return tests.split(separator: "/", omittingEmptySubsequences: false).dropLast()
            .joined(separator: "/") + "/" + name
    }

    private static func withStrings<Result>(
        _ texts: [String], _ body: ([UnsafeMutablePointer<CChar>?]) -> Result
    ) -> Result {
        // Safe: each copy is freed once, after the call.
        let copies = unsafe texts.map { unsafe strdup($0) }
        defer { unsafe copies.forEach { unsafe free($0) } }
        return unsafe body(copies + [nil])
    }

    package func write(_ line: String) {
        let bytes = Array((line + "\n").utf8)
        state.withLock { state in
            // Safe: the call reads no more than the array holds.
            _ = unsafe bytes.withUnsafeBytes { buffer in
                unsafe Glibc.write(state.input, buffer.baseAddress, buffer.count)
            }
        }
    }

    /// The next line of its output, without its end; what there is at the end of the output.
    package func readLine() -> String {
        var line: [UInt8] = []
        var byte: UInt8 = 0
        // Safe: one byte is asked for, and there is room for it.
        while unsafe read(output, &byte, 1) == 1, byte != UInt8(ascii: "\n") { line.append(byte) }
        return String(decoding: line, as: UTF8.self)
    }

    package func send(_ signal: Int32) { _ = kill(process, signal) }

    package var processID: Int { Int(process) }

    package func closeInput() {
        state.withLock { state in
            if state.input >= 0 { _ = close(state.input) }
            state.input = -1
        }
    }

    /// Waits for its end. Its exit code, or 128 and the number of the signal that ended it, as a
    /// shell has it.
    package func wait() -> Int32 {
        var status: Int32 = 0
        // Safe: the status is what the call fills.
        while unsafe waitpid(process, &status, 0) < 0, errno == EINTR {}
        state.withLock { $0.hasEnded = true }
        return Self.code(status)
    }

    private static func code(_ status: Int32) -> Int32 {
        let signal = status & 0x7f
        return signal == 0 ? (status >> 8) & 0xff : 128 + signal
    }

    /// How a process went that was measured.
    package struct Measurement: Sendable {
        /// As ``wait()`` returns it.
        package var code: Int32
        /// The most memory that it took besides that of files, in bytes, as far as it was seen.
        package var memory: Int
        package var seconds: Double
    }

    /// Waits for its end, and looks every few milliseconds at the memory that it takes. After `limit`
    /// seconds it is killed.
    package func waitMeasuring(limit: Double) -> Measurement {
        let begin = ContinuousClock.now
        func seconds() -> Double { (ContinuousClock.now - begin) / .seconds(1) }
        var memory = 0
        var status: Int32 = 0
        while true {
            memory = max(memory, anonymousMemory ?? 0)
            // Safe: the status is what the call fills.
            if unsafe waitpid(process, &status, WNOHANG) == process { break }
            if seconds() > limit { send(SIGKILL) }
            usleep(2_000)
        }
        state.withLock { $0.hasEnded = true }
        return Measurement(code: Self.code(status), memory: memory, seconds: seconds())
    }

    /// What the process takes now besides pages of files, in bytes.
    private var anonymousMemory: Int? {
        // Until it has this name it may still have the memory of the process that started it.
        guard let text = try? String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8),
            text.hasPrefix("Name:\tstratus\n"),
            let line = text.split(separator: "\n").first(where: { $0.hasPrefix("RssAnon:") }),
            let number = line.split(whereSeparator: { !$0.isNumber }).first.flatMap({ Int($0) })
        else { return nil }
        return number << 10
    }
}
