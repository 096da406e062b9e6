import Glibc
import Synchronization

/// Threads of their own, for calls that block.
enum Threads {
    private final class Work: Sendable {
        let body: @Sendable (Int) throws -> Void
        let index: Int
        let failure = Mutex<(any Error)?>(nil)

        init(_ index: Int, _ body: @escaping @Sendable (Int) throws -> Void) {
            self.index = index
            self.body = body
        }

        func run() {
            do { try body(index) } catch { failure.withLock { $0 = error } }
        }
    }

    /// Runs `body` on so many threads and waits for all.
    static func run(_ count: Int, _ body: @escaping @Sendable (Int) throws -> Void) throws {
        let works = (0..<count).map { Work($0, body) }
        var threads: [pthread_t] = []
        for work in works {
            var thread = pthread_t()
            let result = pthread_create(
                &thread, nil,
                { argument in
                    guard let argument else { return nil }
                    Unmanaged<Work>.fromOpaque(argument).takeRetainedValue().run()
                    return nil
                }, Unmanaged.passRetained(work).toOpaque())
            guard result == 0 else { throw BenchmarkError("no thread") }
            threads.append(thread)
        }
        for thread in threads { pthread_join(thread, nil) }
        for work in works {
            if let error = work.failure.withLock({ $0 }) { throw error }
        }
    }
}
