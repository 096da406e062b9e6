internal import StratusEngine
internal import StratusJournal

/// The mark that a backup leaves in its store, at the very state that the archive has: this stays readable
/// there, such as to be compared with later ones, or to bring a zone back without the archive.
///
/// It takes the place of earlier marks of its name once the archive is there; so each kind of backup should
/// have a name of its own. A mark keeps its state until it is removed, with the room that this takes in the
/// store, and each archive has the states at the marks that it finds. It forgets no less for a mark: for how
/// long an archive can be gone on from, the deletion policy says.
public enum BackupMark: Hashable, Sendable {
    /// None is left.
    case none
    /// One by the name `backup`, where that can be: of a container that only reads, or of a store that cannot
    /// be written any more, the archive is made without it.
    case standard
    /// One by this name, without which there is no archive.
    case named(String)

    var name: String? {
        switch self {
        case .none: nil
        case .standard: "backup"
        case .named(let name): name
        }
    }
}

/// The process that writes a store, as far as a backup of it needs that one.
package protocol BackupWriter: Sendable {
    /// Marks this moment; returns the offset of the mark.
    nonisolated(nonsending) func leaveMark(_ name: String) async throws(StoreError) -> UInt64
    nonisolated(nonsending) func removeMark(
        _ name: String, at offset: UInt64
    ) async throws(StoreError)
    /// So that what was committed is read fast.
    nonisolated(nonsending) func checkpoint() async throws(StoreError)
    /// The store with everything that was acknowledged, held like that of another process: what it
    /// needs stays, whatever is compacted or collected meanwhile.
    nonisolated(nonsending) func steadyContainer() async throws(StoreError) -> Container
}

/// So often a mark is made anew where the store was changed right behind it in a way that a copy up
/// to it cannot have.
private let markTries = 20

extension BackupWriter {
    /// Gives `body` a source for an archive and, with a name, the mark at which that is to end: it is made
    /// for it. It takes the place of earlier ones of the name once `body` has done its work; where `body`
    /// fails, it is removed. `unmarked` is told why there is none, where that is no failure.
    nonisolated(nonsending) func archiving<Result>(
        marking mark: BackupMark, unmarked: (StoreError) -> Void = { _ in },
        _ body: nonisolated(nonsending) (Container, Mark?) async throws(StoreError) -> Result
    ) async throws(StoreError) -> Result {
        guard let name = mark.name else { return try await body(steadyContainer(), nil) }
        let (source, place): (Container, Mark)
        do throws(StoreError) {
            (source, place) = try await self.source(marking: name)
        } catch {
            guard mark == .standard, error.code != .operationCancelled else { throw error }
            unmarked(error)
            return try await body(steadyContainer(), nil)
        }
        do throws(StoreError) {
            let result = try await body(source, place)
            // One that cannot be removed goes with the next archive that is marked so.
            let marks = (try? await source.marks()) ?? []
            for old in marks where old.name == name && old.offset < place.offset {
                try? await removeMark(name, at: old.offset)
            }
            return result
        } catch {
            try? await removeMark(name, at: place.offset)
            throw error
        }
    }

    /// The store at a mark that is made. It may have what was committed since, too.
    private nonisolated(nonsending) func source(
        marking name: String
    ) async throws(StoreError) -> (container: Container, mark: Mark) {
        // So that the next one has little to write, and little is committed behind the mark meanwhile.
        try await checkpoint()
        for _ in 0..<markTries {
            let offset = try await leaveMark(name)
            do throws(StoreError) {
                let source = try await steadyContainer()
                if let mark = try await source.steadyMark(at: offset) { return (source, mark) }
            } catch {
                try? await removeMark(name, at: offset)
                throw error
            }
            try? await removeMark(name, at: offset)
        }
        throw StoreError(
            .serviceUnavailable,
            "no mark could be made: assets are collected, marks removed or deletions forgotten all the "
                + "time; try again when that has ended")
    }

    /// As of ``Container/backup(of:to:since:keepingHistory:contentHashes:marking:progress:hashing:)``.
    package nonisolated(nonsending) func backup(
        _ request: BackupRequest, to path: String, marking mark: BackupMark
    ) async throws(StoreError) -> Archive {
        try await archiving(marking: mark, unmarked: request.unmarked) {
            source, mark async throws(StoreError) -> Archive in
            try await source.archive(request, at: mark, to: path)
        }
    }

    package nonisolated(nonsending) func backup(
        _ request: BackupRequest, marking mark: BackupMark,
        into write: @escaping @Sendable ([UInt8]) throws -> Void
    ) async throws(StoreError) {
        try await archiving(marking: mark, unmarked: request.unmarked) {
            source, mark async throws(StoreError) in
            try await source.archive(request, at: mark, into: write)
        }
    }
}

extension Container: BackupWriter {
    package nonisolated(nonsending) func leaveMark(
        _ name: String
    ) async throws(StoreError) -> UInt64 {
        try await mark(name).offset
    }

    package nonisolated(nonsending) func removeMark(
        _ name: String, at offset: UInt64
    ) async throws(StoreError) {
        try await answer { () async throws(EngineError) in
            _ = try await engine().commit(MarkRemoval(offset: JournalOffset(rawValue: offset)))
        }
    }

    package nonisolated(nonsending) func steadyContainer() async throws(StoreError) -> Container {
        try await answer { () async throws(EngineError) -> Container in try await steadySource() }
    }

    /// The mark at `offset`; nil where a copy that ends there would need later entries.
    fileprivate nonisolated(nonsending) func steadyMark(
        at offset: UInt64
    ) async throws(StoreError) -> Mark? {
        try await answer { () async throws(EngineError) -> Mark? in
            try await threads.run { [self] in
                let mark = try reading.waiting.marks().first { $0.offset == offset }
                guard let mark, try isSteady(since: mark) else { return nil }
                return mark
            }
        }
    }

    /// Whether nothing that the state at a mark needs was moved, reclaimed or forgotten behind it: a copy
    /// that ends there would need later entries to say so.
    private func isSteady(since mark: Mark) throws -> Bool {
        let then = reading.waiting.looking(from: JournalOffset(rawValue: mark.offset))
        var log = log(from: mark.offset)
        while let entry = try log.nextLine()?.entry {
            switch entry.kind {
            case .horizon, .participationHorizon, .markRemoval, .reclaimedChunks: return false
            case .chunks: if try then.isMoving(entry) { return false }
            default: continue
            }
        }
        return true
    }
}

extension StoreReading {
    /// Whether an entry says of one of its chunks that it lies elsewhere by now.
    fileprivate func isMoving(_ entry: JournalEntry) throws(EngineError) -> Bool {
        var rows: [ChunkEntry.Row] = []
        let isWhole: Void? = entry.withPayload { payload in
            try? ChunkEntry.forEach(payload) { rows.append(($0, $1)) }
        }
        if isWhole == nil { throw .damaged(entry) }
        for (address, place) in rows {
            if let old = try location(of: address), old != place { return true }
        }
        return false
    }
}
