import Stratus
import StratusFiles
import Synchronization

/// What was found when the stores of a command were opened, as far as its user must know: that commits
/// which were acknowledged may be lost.
final class Openings: Sendable {
    private struct State {
        /// Nil until the command runs.
        var output: Output?
        /// The stores that were told of.
        var paths: Set<String> = []
    }

    private let state = Mutex(State())

    /// From now on it is told to `output`, once of a store.
    func report(to output: Output) { state.withLock { $0.output = output } }

    var foundPossibleLoss: Bool { state.withLock { !$0.paths.isEmpty } }

    /// The store at `path` was opened.
    func note(_ container: Container, at path: String, forWriting: Bool = false) {
        let report = container.recoveryReport
        guard report.possibleLoss else { return }
        let output = state.withLock { state in
            state.paths.insert(path).inserted ? state.output : nil
        }
        let place =
            report.damage.map { ": \($0.kind), file \($0.file), byte \($0.byte)" } ?? ""
        let end = forWriting ? "was ended there, at" : "is read up to"
        output?.warning(
            "store.possible-loss",
            "the last writes to \(path) may be lost\(place); the journal \(end) offset "
                + "\(report.end)")
    }
}
