internal import StratusFiles
internal import StratusJournal
internal import Synchronization

/// The reading side of a store that another process may be writing: reads along, writes nothing.
final class StoreFollower: Sendable {
    private struct State {
        var reader: JournalReader<StoreFold>
        /// Keeps the writer from deleting what this generation names.
        var pin: any StoragePin
        var failure: StoreError?
    }

    let report: StratusJournal.RecoveryReport
    private let storage: any Storage
    private let state: Mutex<State>
    private let published: PublishedState

    init(_ storage: any Storage) throws {
        self.storage = storage
        var state = try Self.begin(in: storage)
        try Self.read(&state, in: storage)
        report = state.reader.report
        published = PublishedState(state.reader.state)
        self.state = Mutex(state)
    }

    var current: StoreState { published.current }

    /// Reads on; returns whether anything was new. After a failure it fails the same way for ever:
    /// what was read in part is not shown as if it were whole.
    func refresh() throws -> Bool {
        let before = published.current.head
        try state.withLock { state in
            if let failure = state.failure { throw failure }
            do {
                try Self.read(&state, in: storage)
                if state.reader.report.end == before { try Self.renew(&state, in: storage) }
            } catch {
                state.failure = StoreError(translating: error)
                throw error
            }
            let new = state.reader.state
            published.publish(new.fold, new.view, head: new.head)
        }
        return published.current.head != before
    }

    /// Reads as far as belongs to the store: while somebody writes what is durable, else all.
    private static func read(_ state: inout State, in storage: any Storage) throws {
        guard try !storage.hasWriter() else { return try state.reader.read(.durable) }
        let result = Result { try state.reader.read(.toTheEnd) }
        // A writer that came meanwhile may have written while that was read, and not synced it.
        guard try storage.hasWriter() else { return try result.get() }
        state = try begin(in: storage)
        try state.reader.read(.durable)
    }

    /// Goes over to the newest generation, where there is a newer one.
    private static func renew(
        _ state: inout State, in storage: any Storage
    ) throws {
        guard let (newest, pin) = try pinNewest(in: storage),
            newest.generation != state.reader.manifest.generation
        else { return }
        do {
            try state.reader.replace(newest)
        } catch {
            guard case .historyChanged = error else { throw error }
            // What was read was lost with the machine that had written it: begin anew.
            state.reader = JournalReader(
                newest, in: storage, fold: StoreFold(secret: newest.secret))
        }
        state.pin = pin
        try read(&state, in: storage)
    }

    private static func begin(in storage: any Storage) throws -> State {
        guard let (manifest, pin) = try pinNewest(in: storage) else { throw JournalError.noStore }
        let fold = StoreFold(secret: manifest.secret)
        return State(reader: JournalReader(manifest, in: storage, fold: fold), pin: pin)
    }

    private static func pinNewest(
        in storage: any Storage
    ) throws -> (Manifest, any StoragePin)? {
        // A writer may make a newer generation between the look and the pin; it cannot go on for
        // ever, since each costs it a segment.
        for _ in 0..<100 {
            do {
                guard let manifest = try Journal.newestManifest(in: storage) else { return nil }
                return (manifest, try storage.pin(manifest.fileName))
            } catch let error as StorageError {
                if error.kind == .notFound { continue }
                throw error
            }
        }
        throw JournalError.noStore
    }
}

extension JournalReader<StoreFold> {
    /// The state that was read. A commit that is only partly there is not part of it.
    fileprivate var state: StoreState {
        StoreState(
            fold: fold.committed, view: view, head: report.end,
            identity: StoreIdentity(manifest))
    }
}
