import Stratus
import StratusFiles
import Synchronization

/// How far long work has come, as threads of the store tell it: in one part, or in several that follow
/// each other.
final class ReadingProgress: Sendable {
    private struct Part {
        var title: String
        var progress: Progress
        var hasEnded = false
    }

    private let title: String
    private let unit: Progress.Unit
    private let mode: Progress.Mode
    private let output: Output
    private let current: Mutex<Part>
    /// Whether any of it is shown: a total that takes reading is of no use otherwise.
    let isShown: Bool

    /// - Parameter writesResults: whether results are written meanwhile, which on a terminal say
    ///   themselves how far the work has come.
    init(
        _ title: String, in unit: Progress.Unit = .bytes, _ invocation: Invocation,
        _ output: Output, writesResults: Bool = false
    ) {
        self.title = title
        self.unit = unit
        self.output = output
        let isSeen = writesResults && output.settings.resultsAreOnTerminal
        mode = isSeen && invocation.progress == .auto ? .never : invocation.progress
        let progress = Self.begin(title, unit, mode, output)
        isShown = progress.isShown
        current = Mutex(Part(title: title, progress: progress))
    }

    private static func begin(
        _ title: String, _ unit: Progress.Unit, _ mode: Progress.Mode, _ output: Output
    ) -> Progress {
        Progress(title, unit, mode, to: output, at: Clock.monotonicNanoseconds)
    }

    /// Tells of the first part.
    @Sendable func update(_ done: Int, of total: Int) { tell(title, unit, done, of: total) }

    /// The same, of what is counted; the total is nil where it is not known.
    @Sendable func count(_ done: Int, of total: Int? = nil) { tell(title, unit, done, of: total) }

    /// What tells of another part, which begins when it is first told of, and ends the one before.
    func part(
        _ title: String, _ unit: Progress.Unit = .bytes
    ) -> @Sendable (_ done: Int, _ total: Int?) -> Void {
        { [self] done, total in tell(title, unit, done, of: total) }
    }

    private func tell(_ title: String, _ unit: Progress.Unit, _ done: Int, of total: Int?) {
        guard isShown else { return }
        let now = Clock.monotonicNanoseconds
        current.withLock { part in
            if part.title != title {
                part.progress.finish(at: now)
                part = Part(title: title, progress: Self.begin(title, unit, mode, output))
            }
            part.progress.update(
                UInt64(max(0, done)), of: total.map { UInt64(max(0, $0)) }, at: now)
        }
    }

    /// Ends what is told; once more it does nothing.
    func finish() {
        current.withLock { part in
            if part.hasEnded { return }
            part.hasEnded = true
            part.progress.finish(at: Clock.monotonicNanoseconds)
        }
    }
}
