internal import Synchronization

/// A storage that is only read, no faster than a rate, and that leaves nothing in the page cache that was
/// not there before: for reading a whole store beside those who use it.
package final class PacedStorage: LayeredStorage, ReadOnlyStorage {
    package let under: any Storage
    private let pace: ReadingPace

    package init(over storage: any Storage, _ pace: ReadingPace) {
        under = storage
        self.pace = pace
    }

    package func open(_ name: String) throws(StorageError) -> any StorageFile {
        PacedFile(try under.open(name), pace)
    }
}

private final class PacedFile: LayeredFile, ReadOnlyFile {
    let under: any StorageFile
    private let pace: ReadingPace

    init(_ file: any StorageFile, _ pace: ReadingPace) {
        under = file
        self.pace = pace
    }

    func read(_ range: Range<Int>, _ mode: ReadMode) throws(StorageError) -> [UInt8] {
        guard mode != .resident else { return try under.read(range, mode) }
        try pace.wait(toRead: range.count, of: name)
        return try under.read(range, .streamed)
    }
}

/// How fast is read: each read begins once all before it are paid for. What was not used of the rate is
/// not made up for later.
package final class ReadingPace: Sendable {
    /// How time goes by, in nanoseconds.
    package struct Timing: Sendable {
        package let now: @Sendable () -> UInt64
        /// Blocks the calling thread for about so long.
        package let pause: @Sendable (UInt64) -> Void

        package init(
            now: @escaping @Sendable () -> UInt64, pause: @escaping @Sendable (UInt64) -> Void
        ) {
            self.now = now
            self.pause = pause
        }

        package static let system = Timing(now: { Clock.monotonicNanoseconds }) { nanoseconds in
            Thread.pause(microseconds: UInt32(clamping: nanoseconds / 1000 + 1))
        }
    }

    private struct State {
        /// When the next read may begin.
        var next: UInt64 = 0
        var bytesRead = 0
    }

    private let bytesPerSecond: Int
    private let timing: Timing
    private let isCancelled: @Sendable () -> Bool
    private let state = Mutex(State())

    /// So often a read that waits looks whether it is still wanted, in nanoseconds.
    private static let longestPause: UInt64 = 50_000_000

    /// - Parameter isCancelled: once it is true, every read fails with `.cancelled`.
    package init(
        bytesPerSecond: Int, timing: Timing = .system,
        isCancelled: @escaping @Sendable () -> Bool = { false }
    ) {
        precondition(bytesPerSecond > 0)
        self.bytesPerSecond = bytesPerSecond
        self.timing = timing
        self.isCancelled = isCancelled
    }

    package var bytesRead: Int { state.withLock { $0.bytesRead } }

    fileprivate func wait(toRead count: Int, of file: String) throws(StorageError) {
        let duration = UInt64(Double(count) / Double(bytesPerSecond) * 1e9)
        let now = timing.now()
        let start = state.withLock { state in
            let start = max(state.next, now)
            state.next = start + duration
            state.bytesRead += count
            return start
        }
        while true {
            if isCancelled() { throw StorageError(.cancelled, file: file) }
            let now = timing.now()
            guard now < start else { return }
            timing.pause(min(start - now, Self.longestPause))
        }
    }
}
