internal import CLinux
internal import Glibc

/// Where times come from. Order never comes from them.
package struct Clock: Sendable {
    /// Microseconds since 1970, UTC.
    package let now: @Sendable () -> Int64
    /// Nanoseconds since some moment, never going back.
    package let monotonic: @Sendable () -> UInt64

    package init(
        now: @escaping @Sendable () -> Int64,
        monotonic: @escaping @Sendable () -> UInt64 = { Clock.monotonicNanoseconds }
    ) {
        self.now = now
        self.monotonic = monotonic
    }

    /// The machine's.
    package static let system = Clock {
        var time = timespec()
        // Safe: the structure outlives the call.
        unsafe clock_gettime(CLOCK_REALTIME, &time)
        return Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1_000
    }

    /// Nanoseconds since some moment, never going back: for waiting and measuring only.
    package static var monotonicNanoseconds: UInt64 {
        var time = timespec()
        // Safe: the structure outlives the call.
        unsafe clock_gettime(CLOCK_MONOTONIC, &time)
        return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
    }

    /// How far the local time is ahead of UTC at a moment, in seconds: by TZ in the environment, or
    /// else by the time zone of the system; 0 where the calendar does not reach.
    package static func localOffset(secondsSince1970 seconds: Int) -> Int {
        var moment = time_t(seconds)
        // Safe: all of it is zero, its pointer too.
        var parts = unsafe tm()
        // Safe: the call reads the one and fills the other, and both outlive it.
        guard unsafe localtime_r(&moment, &parts) != nil else { return 0 }
        return unsafe parts.tm_gmtoff
    }
}

/// Where salts and identifiers come from.
package struct Randomness: Sendable {
    package let next: @Sendable () -> UInt64

    package init(next: @escaping @Sendable () -> UInt64) { self.next = next }

    /// The kernel's.
    package static let system = Randomness {
        var value: UInt64 = 0
        // Safe: eight bytes are asked for, the room there is. A request this small is never cut
        // short once the kernel has gathered entropy, for which the call waits.
        let count = unsafe withUnsafeMutableBytes(of: &value) {
            unsafe clinux_random($0.baseAddress, $0.count)
        }
        precondition(count == 8, "the kernel gives no random bytes")
        return value
    }
}

/// Who this process is, for the message that another writer gets.
package enum ProcessIdentity {
    package static var current: String {
        var name = [CChar](repeating: 0, count: 65)
        // Safe: the array has room for what is asked, and its last byte stays zero.
        unsafe gethostname(&name, 64)
        let host = String(
            decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return "process \(getpid()) on \(host)"
    }
}
