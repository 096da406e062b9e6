package import StratusFiles
package import StratusJournal
internal import Synchronization

/// The reading side of a store that another process may be writing: reads along, writes nothing.
package final class StoreFollower: Sendable {
    fileprivate struct State {
        var reader: JournalReader<StoreFold>
        /// Keeps the writer from deleting what this generation names.
        var pin: any StoragePin
        var failure: EngineError?
        /// Of this reading of the journal: another one may find other entries at the same offsets.
        let cache = StateCache()
    }

    package let report: StratusJournal.RecoveryReport
    package let published: PublishedState
    private let foundation: StoreFoundation
    private let state: Mutex<State>

    package init(_ foundation: StoreFoundation) throws {
        self.foundation = foundation
        var state = try Self.begin(foundation)
        try Self.read(&state, foundation)
        report = state.reader.report
        published = PublishedState(state.current(foundation))
        foundation.assets.attach(published, StoreIdentity(state.reader.manifest))
        self.state = Mutex(state)
    }

    /// Reads on; returns whether anything was new. After a failure it fails the same way for ever:
    /// what was read in part is not shown as if it were whole.
    package func refresh() throws -> Bool {
        let before = published.current.head
        try state.withLock { state in
            if let failure = state.failure { throw failure }
            do {
                try Self.read(&state, foundation)
                if state.reader.report.end == before { try Self.renew(&state, foundation) }
            } catch {
                state.failure = EngineError(translating: error)
                throw error
            }
            published.publish(state.current(foundation))
        }
        return published.current.head != before
    }

    /// Where the reading of what is shown began; nil: at the beginning of the journal. Waits for a
    /// refresh that is under way.
    package var checkpoint: JournalOffset? { state.withLock { $0.reader.report.checkpoint } }

    /// Reads what belongs to the store: all, or only what is durable while there is a writer.
    private static func read(_ state: inout State, _ foundation: StoreFoundation) throws {
        let storage = foundation.storage
        guard try !storage.hasWriter() else { return try state.reader.read(.durable) }
        var whole = state
        let result = Result { try whole.reader.read(.toTheEnd) }
        // A writer that came meanwhile may have written while that was read, and not synced it. The state
        // from before that reading stays: the writer opened the journal with all of it.
        guard try storage.hasWriter() else {
            try result.get()
            state = whole
            return
        }
        try state.reader.read(.durable)
    }

    /// Goes over to the newest generation, where there is a newer one.
    private static func renew(_ state: inout State, _ foundation: StoreFoundation) throws {
        guard let (newest, pin) = try pinNewest(in: foundation.storage),
            newest.generation != state.reader.manifest.generation
        else { return }
        // A newer checkpoint holds on disk what is held in memory here; another one of the same place has
        // other tables, and those that are read here may go.
        if newest.checkpoint == state.reader.manifest.checkpoint,
            let reader = try state.reader.goingOn(in: newest)
        {
            (state.reader, state.pin) = (reader, pin)
            return try read(&state, foundation)
        }
        var renewed = try begin(newest, pin, foundation)
        try read(&renewed, foundation)
        // A writer that is opening the store has said of nothing yet that it is durable, and what is shown
        // may have been read to the end before it came. It begins by stating where the journal ends.
        let isBehind = renewed.reader.report.end < state.reader.report.end
        if isBehind, state.reader.endsInActiveSegment(of: newest) { return }
        state = renewed
    }

    private static func begin(_ foundation: StoreFoundation) throws -> State {
        guard let (manifest, pin) = try pinNewest(in: foundation.storage) else {
            throw JournalError.noStore
        }
        return try begin(manifest, pin, foundation)
    }

    private static func begin(
        _ manifest: Manifest, _ pin: any StoragePin, _ foundation: StoreFoundation
    ) throws -> State {
        let beginnings = try foundation.beginnings(of: manifest, spills: foundation.rebuilds)
        let reader = JournalReader(
            manifest, in: foundation.storage, cache: foundation.cache, fold: beginnings.empty,
            resuming: beginnings.resuming)
        return State(reader: reader, pin: pin)
    }

    /// The newest generation, which the writer keeps while it is pinned.
    package static func pinNewest(
        in storage: any Storage
    ) throws -> (Manifest, any StoragePin)? {
        // A writer may make a newer generation between the look and the pin; it cannot go on for
        // ever, since each costs it a segment or a checkpoint.
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

extension StoreFollower.State {
    /// The state that was read. A commit that is only partly there is not part of it.
    fileprivate func current(_ foundation: StoreFoundation) -> StoreState {
        var fold = reader.fold.committed
        fold.history.begin(at: foundation.historyFloor)
        return StoreState(
            fold: fold, view: reader.view, head: reader.report.end,
            identity: StoreIdentity(reader.manifest), assets: foundation.assets, cache: cache,
            pin: pin, selection: foundation.selection)
    }
}

extension JournalReader {
    /// The same reading of `newer`; nil where what was read of the journal is not part of that: it was
    /// lost with the machine that had written it, or compacted since.
    fileprivate func goingOn(in newer: Manifest) throws(JournalError) -> JournalReader? {
        var reader = self
        do {
            try reader.replace(newer)
            return reader
        } catch {
            guard case .historyChanged = error else { throw error }
            return nil
        }
    }
}
