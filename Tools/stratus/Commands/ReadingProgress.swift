import StratusFiles
import Synchronization

/// How far the journal was read, as a thread of the store tells it.
final class ReadingProgress: Sendable {
    private let progress: Mutex<Progress>

    init(_ title: String, _ invocation: Invocation, _ output: Output) {
        progress = Mutex(
            Progress(
                title, .bytes, invocation.progress, to: output, at: Clock.monotonicNanoseconds))
    }

    @Sendable func update(_ done: Int, of total: Int) {
        progress.withLock {
            $0.update(
                UInt64(max(0, done)), of: UInt64(max(0, total)), at: Clock.monotonicNanoseconds)
        }
    }

    func finish() { progress.withLock { $0.finish(at: Clock.monotonicNanoseconds) } }
}
