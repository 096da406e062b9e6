import FoundationEssentials
import Glibc

/// This executable once more, or another build of it, with other arguments and its output read here.
final class ChildProcess {
    private var pid: pid_t = 0
    private var output: Int32 = -1

    init(_ arguments: [String], executable: String = "/proc/self/exe") throws {
        var ends: [Int32] = [0, 0]
        guard pipe(&ends) == 0 else { throw BenchmarkError("no pipe") }
        defer { Glibc.close(ends[1]) }
        output = ends[0]
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO)
        let environment = ProcessInfo.processInfo.environment.map { "\($0.key)=\($0.value)" }
        let result = Self.withTexts(["Benchmarks"] + arguments) { arguments in
            Self.withTexts(environment) { environment in
                posix_spawn(&pid, executable, &actions, nil, arguments, environment)
            }
        }
        guard result == 0 else { throw BenchmarkError("cannot start a process") }
    }

    deinit { Glibc.close(output) }

    /// C's form of a list of texts, for a call.
    private static func withTexts<Result>(
        _ texts: [String], _ body: ([UnsafeMutablePointer<CChar>?]) -> Result
    ) -> Result {
        let copies = texts.map { strdup($0) }
        defer { for copy in copies { free(copy) } }
        return body(copies + [nil])
    }

    /// The next bytes of its output; nil at the end.
    func read() -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: 65536)
        let count = Glibc.read(output, &bytes, bytes.count)
        return count > 0 ? Array(bytes[..<count]) : nil
    }

    func readAll() -> String {
        var all: [UInt8] = []
        while let bytes = read() { all += bytes }
        return String(decoding: all, as: UTF8.self)
    }

    func kill() { Glibc.kill(pid, SIGKILL) }

    /// The status it ended with.
    func wait() -> Int32 {
        var status: Int32 = 0
        while waitpid(pid, &status, 0) < 0 && errno == EINTR {}
        return status
    }
}
