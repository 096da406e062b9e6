internal import Synchronization

/// How fast merges may write, so that they leave the disk to commits and readers.
///
/// What was not spent is not saved up, but for a short burst. What is decided never depends on it,
/// only when it is done.
package final class WriteBudget: Sendable {
    /// In bytes per second: several times what the index of the fastest writer grows by.
    package static let usual = 64 << 20
    /// In nanoseconds: so much may be written ahead of time.
    package static let burst: UInt64 = 50_000_000

    private let bytesPerSecond: UInt64
    /// When all that was written so far would have been written at that pace.
    private let covered = Mutex<UInt64>(0)

    package init(bytesPerSecond: Int = usual) {
        self.bytesPerSecond = UInt64(max(1, bytesPerSecond))
    }

    /// Takes note of `bytes` that were written at `now`, in nanoseconds; returns how long to wait
    /// before more is.
    package func spend(_ bytes: Int, at now: UInt64) -> UInt64 {
        let duration = UInt64(max(0, bytes)) * 1_000_000_000 / bytesPerSecond
        return covered.withLock { covered in
            covered = max(covered, now) + duration
            let ahead = covered - now
            return ahead > Self.burst ? ahead - Self.burst : 0
        }
    }
}
