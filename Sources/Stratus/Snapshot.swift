internal import StratusFiles
internal import StratusJournal
internal import StratusEngine

/// The whole store at one moment: all that is read from it is of that state, whatever is written
/// meanwhile.
///
/// A snapshot is an offset. Held long it costs no memory; what it needs is kept until it is
/// released.
public final class Snapshot: Sendable {
    let container: Container
    private let point: JournalOffset
    /// Where the next commit begins, or the journal ended.
    let end: JournalOffset
    /// Where another process writes, which knows nothing of this snapshot, the state itself.
    private let fixed: StoreState?

    init(_ container: Container) {
        self.container = container
        (point, fixed) = container.published.hold()
        end = point
    }

    /// Of an earlier state; nil where what it needs may be gone.
    init?(_ container: Container, _ state: PastState) {
        guard let held = container.published.hold(state) else { return nil }
        self.container = container
        (point, fixed) = held
        end = state.end
    }

    deinit { container.published.release(point) }

    /// Where the journal ended, as an offset; of an earlier state, right behind its last entry or, where
    /// that is kept no more, at the mark or the floor of the history that it is kept for.
    public var offset: UInt64 { point.rawValue }

    /// The public database, read by `user` or, where that is nil, by an anonymous caller.
    public func publicDatabase(as user: String? = nil) -> DatabaseSnapshot {
        DatabaseSnapshot(self, .public, container.principal(user))
    }

    /// The database that belongs to `user`. Of an empty name every read is `invalidArguments`.
    public func privateDatabase(for user: String) -> DatabaseSnapshot {
        DatabaseSnapshot(
            self, .private(owner: container.userID(user)), container.principal(user))
    }

    /// The public database, read by the program that opened the container.
    package func publicDatabase(asHost user: String) -> DatabaseSnapshot {
        DatabaseSnapshot(self, .public, container.host(user))
    }

    /// The private one for the program that opened the container, whatever the state of the user's account.
    package func privateDatabase(asHost user: String) -> DatabaseSnapshot {
        DatabaseSnapshot(
            self, .private(owner: container.userID(user)), container.host(user))
    }

    /// What others share with `user`, likewise.
    package func sharedDatabase(asHost user: String) -> DatabaseSnapshot {
        DatabaseSnapshot(self, .shared(user: container.userID(user)), container.host(user))
    }

    /// Whether it has what there is of a zone. False for a zone that an archive was made without:
    /// whether there was such a zone is then not known.
    ///
    /// - Parameter owner: of the zone; nil: it is one of the public database.
    public func covers(zone name: String, of owner: String?) -> Bool {
        state.selection?.contains(name, of: owner.map(container.userID)) ?? true
    }

    /// The state that it looks into: of a container that was opened for reading always the same.
    var state: StoreState { fixed ?? container.state }

    func reading(_ mode: ReadMode = .blocking) -> StoreReading {
        StoreReading(state, mode, at: point)
    }

    /// What callers may do; nil: as much as they like.
    var profile: Profile? { container.limits?.profile }
}

extension Container {
    /// The store as it is now, to be read without suspending.
    public func snapshot() -> Snapshot { Snapshot(self) }
}
