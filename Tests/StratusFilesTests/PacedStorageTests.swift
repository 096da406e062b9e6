import StratusFiles
import Support
import Synchronization
import Testing

/// Reads at a stated rate.
struct PacedStorageTests {
    /// A clock that advances by pauses and by ``goOn(_:)`` alone.
    private final class FakeTime: Sendable {
        let nanoseconds = Mutex<UInt64>(1)

        func goOn(_ count: UInt64) { nanoseconds.withLock { $0 += count } }

        var timing: ReadingPace.Timing {
            ReadingPace.Timing(now: { self.nanoseconds.withLock { $0 } }) { self.goOn($0) }
        }
    }

    private let time = FakeTime()

    private func pace(_ bytesPerSecond: Int) -> ReadingPace {
        ReadingPace(bytesPerSecond: bytesPerSecond, timing: time.timing)
    }

    private func storage(_ bytes: [UInt8]) throws -> MemoryStorage {
        let memory = MemoryStorage()
        try memory.put("a", bytes)
        return memory
    }

    @Test func `what is read is what is there, in the time that the rate gives it`() throws {
        var generator = SeededGenerator(seed: 1)
        let bytes = generator.bytes(3_000)
        let pace = pace(1_000)
        let file = try PacedStorage(over: storage(bytes), pace).open("a")
        for start in stride(from: 0, to: 3_000, by: 500) {
            let range = start..<start + 500
            #expect(try file.read(range, .blocking) == Array(bytes[range]))
        }
        // Six reads, of which the last one is paid for by those who come after.
        #expect(time.nanoseconds.withLock { $0 } == 1 + 5 * 500_000_000)
        #expect(pace.bytesRead == 3_000)
    }

    @Test func `what was not used of the rate is not made up for`() throws {
        let file = try PacedStorage(over: storage([1, 2, 3, 4]), pace(1)).open("a")
        _ = try file.read(0..<1, .blocking)
        time.goOn(100_000_000_000)
        _ = try file.read(0..<2, .blocking)
        #expect(time.nanoseconds.withLock { $0 } == 1 + 100_000_000_000)
        _ = try file.read(0..<1, .blocking)
        #expect(time.nanoseconds.withLock { $0 } == 1 + 102_000_000_000)
    }

    @Test func `a read that waits ends when it is not wanted any more`() throws {
        let (time, end) = (time, UInt64(10_000_000_000))
        let pace = ReadingPace(bytesPerSecond: 1, timing: time.timing) {
            time.nanoseconds.withLock { $0 } >= end
        }
        let file = try PacedStorage(over: storage([1, 2, 3]), pace).open("a")
        #expect(try file.read(0..<3, .blocking) == [1, 2, 3])
        let next = try PacedStorage(over: storage([UInt8](repeating: 0, count: 99)), pace).open("a")
        #expect(try next.read(0..<99, .blocking).count == 99)
        #expect(throws: StorageError(.cancelled, file: "a")) { try file.read(0..<1, .blocking) }
        // Not a minute and a half later.
        #expect(time.nanoseconds.withLock { $0 } < end + 1_000_000_000)
    }

    @Test func `nothing is written through it`() throws {
        let memory = try storage([1, 2, 3])
        let paced = PacedStorage(over: memory, pace(1_000))
        #expect(throws: StorageError(.permission, file: "b")) { try paced.put("b", [1]) }
        #expect(throws: StorageError(.permission, file: "a")) { _ = try paced.delete("a") }
        #expect(throws: StorageError(.permission, file: "a")) {
            try paced.open("a").append([4].span, at: 0, .kept)
        }
        #expect(try memory.list() == ["a"] && memory.open("a").read(0..<3) == [1, 2, 3])
    }
}
