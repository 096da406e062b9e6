package import StratusAssets
package import StratusFiles
package import StratusIndex
package import StratusJournal

/// Why the state or the engine of a store does not answer.
///
/// What stands on the engine refuses for reasons of its own, which go through it unread. The doors
/// of the library turn all of them into the error that callers see.
package enum EngineError: Error {
    /// The answer lies on the disk, and the call may not wait for that: it is repeated on a thread
    /// that may.
    case wouldBlock
    /// The journal or the index failed.
    case journal(JournalError)
    /// Chunks of assets cannot be read or written.
    case chunk(ChunkError)
    /// The store has a chunk no longer that an asset names.
    case chunkGone
    /// The system failed in something that concerns no file.
    case system(SystemError)
    /// The call was cancelled before anything was committed.
    case cancelled
    /// The call failed with the journal while its commit was being written.
    case committing(JournalError)
    /// What was asked for is being done for another caller.
    case busy(String)
    /// The journal has no room to go on.
    case noRoom
    /// What stands on the engine refuses.
    case other(any Error)

    package static let closed = EngineError.journal(.closed)

    package var wouldBlock: Bool { if case .wouldBlock = self { true } else { false } }

    package init(_ error: JournalError) {
        if case .storage(let error) = error {
            self.init(error)
        } else {
            self = .journal(error)
        }
    }

    package init(_ error: StorageError) {
        self = error.kind == .notResident ? .wouldBlock : .journal(.storage(error))
    }

    package init(_ error: IndexError) { self.init(JournalError(error)) }

    package init(_ error: ChunkError) {
        if case .storage(let error) = error {
            self.init(error)
        } else {
            self = .chunk(error)
        }
    }

    package init(_ error: SystemError) { self = .system(error) }

    /// Any error of the layers below, or of what stands on the engine.
    package init(translating error: any Error) {
        switch error {
        case let error as EngineError: self = error
        case let error as JournalError: self.init(error)
        case let error as StorageError: self.init(error)
        case let error as IndexError: self.init(error)
        case let error as ChunkError: self.init(error)
        case let error as SystemError: self.init(error)
        case let damage as JournalDamage: self.init(JournalError(damage))
        default: self = .other(error)
        }
    }
}
