internal import StratusFiles
internal import StratusJournal
internal import Synchronization

/// The whole store at one moment: all that is read from it is of that state, whatever is written
/// meanwhile.
///
/// A snapshot is an offset. Held long it costs no memory; what it needs is kept until it is
/// released.
public final class Snapshot: Sendable {
    private let container: Container
    private let point: JournalOffset

    init(_ container: Container, at point: JournalOffset) {
        self.container = container
        self.point = point
    }

    deinit { container.snapshots.release(point) }

    /// Where the journal ended, as an offset.
    public var offset: UInt64 { point.rawValue }

    /// The database that everybody reads, asked by `user`; nil asks as nobody.
    public func publicDatabase(as user: String? = nil) -> DatabaseSnapshot {
        DatabaseSnapshot(.held(self), .public, user.map(container.userID))
    }

    /// The database that belongs to `user`.
    public func privateDatabase(for user: String) -> DatabaseSnapshot {
        let user = container.userID(user)
        return DatabaseSnapshot(.held(self), .private(owner: user), user)
    }

    var reading: StoreReading { StoreReading(container.state, .blocking, at: point) }
}

extension Container {
    /// The store as it is now, to be read without suspending.
    public func snapshot() -> Snapshot { Snapshot(self, at: snapshots.hold { state.head }) }
}

/// The points of the snapshots that are held.
final class HeldSnapshots: Sendable {
    private let counts = Mutex<[JournalOffset: Int]>([:])

    /// Holds the point that `head` gives. Nothing is published meanwhile.
    func hold(_ head: () -> JournalOffset) -> JournalOffset {
        counts.withLock { counts in
            let point = head()
            counts[point, default: 0] += 1
            return point
        }
    }

    func release(_ point: JournalOffset) {
        counts.withLock { counts in
            let count = counts[point] ?? 0
            counts[point] = count > 1 ? count - 1 : nil
        }
    }

    /// Gives `body` the points, in order; none comes or goes meanwhile.
    func withPoints<Result>(_ body: ([JournalOffset]) -> Result) -> Result {
        counts.withLock { body($0.keys.sorted()) }
    }
}
