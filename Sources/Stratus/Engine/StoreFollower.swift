internal import StratusFiles
internal import StratusJournal
internal import Synchronization

/// The reading side of a store that another process may be writing: reads along, writes nothing.
final class StoreFollower: Sendable {
    private struct State {
        var reader: JournalReader<StoreFold>
        /// Keeps the writer from deleting what this generation names.
        var pin: any StoragePin
    }

    let report: StratusJournal.RecoveryReport
    private let storage: any Storage
    private let state: Mutex<State>
    private let published: PublishedState

    init(_ storage: any Storage) throws {
        self.storage = storage
        var (reader, pin) = try Self.begin(in: storage)
        try reader.read(storage.hasWriter() ? .durable : .toTheEnd)
        report = reader.report
        published = PublishedState(reader.reading)
        state = Mutex(State(reader: reader, pin: pin))
    }

    var current: StoreReading { published.current }

    /// Reads on; returns whether anything was new.
    func refresh() throws -> Bool {
        let before = published.current.head
        try state.withLock { state in
            let tail: JournalReader<StoreFold>.Tail =
                try storage.hasWriter() ? .durable : .toTheEnd
            try state.reader.read(tail)
            if state.reader.report.end == before { try Self.renew(&state, in: storage, tail) }
            let reading = state.reader.reading
            published.publish(reading.state, reading.view, head: reading.head)
        }
        return published.current.head != before
    }

    /// Goes over to the newest generation, where there is a newer one.
    private static func renew(
        _ state: inout State, in storage: any Storage, _ tail: JournalReader<StoreFold>.Tail
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
        try state.reader.read(tail)
    }

    private static func begin(
        in storage: any Storage
    ) throws -> (JournalReader<StoreFold>, any StoragePin) {
        guard let (manifest, pin) = try pinNewest(in: storage) else { throw JournalError.noStore }
        let fold = StoreFold(secret: manifest.secret)
        return (JournalReader(manifest, in: storage, fold: fold), pin)
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
    fileprivate var reading: StoreReading {
        StoreReading(
            state: fold.committed, view: view, head: report.end,
            identity: StoreIdentity(manifest))
    }
}
