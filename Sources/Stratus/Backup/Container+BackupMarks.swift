internal import StratusEngine
internal import StratusJournal

// Marks of the states that archives end with.
extension Container {
    /// So often a mark is made anew where the store was changed right behind it in a way that a copy up
    /// to it cannot have.
    private static let markTries = 20

    /// Gives `body` a source for an archive and, with a name, the mark at which that is to end: it is made
    /// for it. It takes the place of earlier ones of the name once `body` has done its work; where `body`
    /// fails, it is removed.
    nonisolated(nonsending) func archiving<Result>(
        marking name: String?,
        _ body: nonisolated(nonsending) (Container, Mark?) async throws(EngineError) -> Result
    ) async throws(EngineError) -> Result {
        guard let name else { return try await body(steadySource(), nil) }
        let (source, mark) = try await markedSource(name)
        do throws(EngineError) {
            let result = try await body(source, mark)
            await removeMarks(named: name, before: mark)
            return result
        } catch {
            // Where it cannot be removed, it goes with the next archive that is marked so.
            try? await removeMark(mark)
            throw error
        }
    }

    /// The store at a mark that is made, as ``steadySource()`` holds it. It may have what was committed
    /// since, too.
    private nonisolated(nonsending) func markedSource(
        _ name: String
    ) async throws(EngineError) -> (source: Container, mark: Mark) {
        // So that the next one has little to write, and little is committed behind the mark meanwhile.
        try await engine().writeCheckpoint()
        for _ in 0..<Self.markTries {
            let mark = try await marked(name)
            do throws(EngineError) {
                let source = try await steadySource()
                if try await source.threads.run({ try source.isSteady(since: mark) }) {
                    return (source, mark)
                }
            } catch {
                try? await removeMark(mark)
                throw error
            }
            try? await removeMark(mark)
        }
        throw .refused(
            .serviceUnavailable,
            "no mark could be made: assets are collected, marks removed or deletions forgotten all the "
                + "time; try again when that has ended")
    }

    private nonisolated(nonsending) func marked(_ name: String) async throws(EngineError) -> Mark {
        do throws(StoreError) {
            return try await mark(name)
        } catch {
            throw .refused(error)
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

    /// Removes the earlier ones of that name. One that cannot be removed goes with the next archive that
    /// is marked so.
    private nonisolated(nonsending) func removeMarks(
        named name: String, before last: Mark
    ) async {
        guard let marks = try? await marks() else { return }
        for mark in marks where mark.name == name && mark.offset < last.offset {
            try? await removeMark(mark)
        }
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
