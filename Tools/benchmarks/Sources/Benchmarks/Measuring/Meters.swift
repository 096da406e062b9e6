import FoundationEssentials
import Glibc

/// Nanoseconds of a clock that only goes forward.
func nanoseconds() -> UInt64 {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
}

func now() -> Double { Double(nanoseconds()) / 1e9 }

/// User and system time of this process in seconds: the sum that getrusage gives, in nanoseconds
/// where that has microseconds.
func cpuTime() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
}

/// The threads of this process that have a lower priority than itself: those in which stores merge tables
/// and rewrite their journals.
struct BackgroundThreads {
    private let clocks: [clockid_t]

    init() {
        let tasks = "/proc/self/task"
        let threads = (try? FileManager.default.contentsOfDirectory(atPath: tasks)) ?? []
        let own = getpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0)
        clocks = threads.compactMap { thread in
            // The name in parentheses may have any character; the nice value is the 17th word behind it.
            let text = kernelText("\(tasks)/\(thread)/stat")
            let words = text.split(separator: ")").last?.split(separator: " ") ?? []
            guard words.count > 16, let nice = Int32(words[16]), nice > own,
                let number = Int32(thread)
            else { return nil }
            // As the kernel numbers the clock of a thread's CPU time.
            return ~number << 3 | 6
        }
    }

    /// The CPU time of all of them in seconds.
    var cpuTime: Double {
        clocks.reduce(0) { sum, clock in
            var time = timespec()
            guard clock_gettime(clock, &time) == 0 else { return sum }
            return sum + Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
        }
    }
}

/// The text of a small file of the kernel's.
func kernelText(_ path: String) -> String {
    guard let file = fopen(path, "r") else { return "" }
    defer { fclose(file) }
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 65536)
    while true {
        let count = fread(&buffer, 1, buffer.count, file)
        if count == 0 { return String(decoding: bytes, as: UTF8.self) }
        bytes += buffer[..<count]
    }
}

/// The block device under a directory, for what really goes to it. Where the file system hides its
/// device all figures are 0.
struct Device {
    /// Major and minor number.
    let number: String
    private var path: String { "/sys/dev/block/\(number)/stat" }

    init(under directory: String) {
        var status = stat()
        stat(directory, &status)
        let major = (status.st_dev >> 8) & 0xfff
        let minor = (status.st_dev & 0xff) | ((status.st_dev >> 12) & 0xfff00)
        number = "\(major):\(minor)"
    }

    private func field(_ number: Int) -> Int {
        let fields = kernelText(path).split { $0 == " " || $0 == "\n" }
        return fields.count > number ? Int(fields[number]) ?? 0 : 0
    }

    /// The seventh number counts sectors of 512 bytes.
    var bytesWritten: Int { field(6) * 512 }
    /// Flushes of the device's own cache.
    var flushes: Int { field(15) }
}

enum Memory {
    /// A line of /proc/self/status, in bytes.
    static func status(_ name: String) -> Int {
        for line in kernelText("/proc/self/status").split(separator: "\n")
        where line.hasPrefix(name + ":") {
            let number = line.split { $0 == " " || $0 == "\t" }.dropFirst().first
            return (number.flatMap { Int($0) } ?? 0) * 1024
        }
        return 0
    }

    /// Makes the peak what is in use now.
    static func resetPeak() {
        guard let file = fopen("/proc/self/clear_refs", "w") else { return }
        fputs("5", file)
        fclose(file)
    }
}

enum Disk {
    /// Whether files in a directory are kept in memory only.
    static func isMemory(_ directory: String) -> Bool {
        let device = Device(under: directory).number
        return kernelText("/proc/self/mountinfo").split(separator: "\n").contains { line in
            let words = line.split(separator: " ")
            return words.count > 2 && words[2] == device && words.contains("tmpfs")
        }
    }

    /// The bytes that the files below a directory occupy.
    static func bytes(below directory: String) -> Int {
        let names = (try? FileManager.default.subpathsOfDirectory(atPath: directory)) ?? []
        return names.reduce(0) { sum, name in
            var status = stat()
            guard lstat(directory + "/" + name, &status) == 0 else { return sum }
            return sum + Int(status.st_blocks) * 512
        }
    }

    static func remove(_ path: String) { try? FileManager.default.removeItem(atPath: path) }

    static func make(_ path: String) throws {
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    /// Empties the page cache, if this process may.
    static func dropCaches() -> Bool {
        sync()
        guard let file = fopen("/proc/sys/vm/drop_caches", "w") else { return false }
        let isWritten = fputs("3", file) >= 0
        return fclose(file) == 0 && isWritten
    }
}
