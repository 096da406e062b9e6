public import FoundationEssentials
internal import StratusIndex
internal import StratusJournal
internal import StratusEngine

/// A named point of a store's history: everything that had been acknowledged when it was made lies
/// before it. The state at a mark is kept until the mark is removed.
public struct Mark: Hashable, Sendable {
    /// What the caller called it; need not be unique.
    public var name: String
    /// When it was made.
    public var date: Date
    /// Where the journal stood, as an offset. No other mark has the same.
    public var offset: UInt64
    /// The chain over the journal up to there: another journal with the same value there has the
    /// same history.
    public var chain: UInt64
}

extension Container {
    /// Marks this moment with a name of at most 255 bytes of UTF-8.
    ///
    /// - Throws: ``StoreError`` with `invalidArguments` where the name is empty or too long.
    @discardableResult
    public nonisolated(nonsending) func mark(_ name: String) async throws(StoreError) -> Mark {
        try await answer { () async throws(EngineError) -> Mark in
            guard !name.isEmpty, name.utf8.count <= NameRules.limit else {
                throw .refused(.invalidArguments, "a mark's name has 1 to 255 bytes")
            }
            let committed = try await engine().commit(MarkRequest(name: name))
            guard case .staged(let place)? = committed.draft.results.first,
                let payload = committed.draft.buffer.payload(at: place),
                let entry = try? MarkEntry(payload.span)
            else { throw .refused(.internalError, "the mark was not staged") }
            return Mark(entry)
        }
    }

    /// Removes a mark. The state there is then kept no longer, unless something else keeps it.
    ///
    /// - Throws: ``StoreError`` with `unknownItem` where the store has no such mark.
    public nonisolated(nonsending) func removeMark(_ mark: Mark) async throws(StoreError) {
        try await removeMark(mark.name, at: mark.offset)
    }

    /// All marks, in the order they were made.
    public nonisolated(nonsending) func marks() async throws(StoreError) -> [Mark] {
        try await answer { () async throws(EngineError) -> [Mark] in
            try await read { reading throws(EngineError) in try reading.marks() }
        }
    }
}

extension StoreReading {
    func marks() throws(EngineError) -> [Mark] {
        var places: [EntryLocation] = []
        try scan(KeySpace.marks.range()) { _, value in
            let place = EntryLocation(value)
            if !place.isDeleted { places.append(place) }
            return true
        }
        var marks: [Mark] = []
        for place in places {
            let entry = try entry(place)
            guard let mark = entry.withPayload({ try? MarkEntry($0) }) else {
                throw .damaged(entry)
            }
            marks.append(Mark(mark))
        }
        return marks
    }
}

extension Mark {
    fileprivate init(_ entry: MarkEntry) {
        name = entry.name
        date = Date(timeIntervalSince1970: Double(entry.time) / 1_000_000)
        offset = entry.offset.rawValue
        chain = entry.chain
    }
}

/// Only the committer knows where the journal stands.
private struct MarkRequest: Transaction {
    let name: String

    var beginsGroup: Bool { true }

    func draft(
        _ reading: StoreReading, _ context: PreparationContext, sink: PartSink
    ) throws(EngineError) -> Draft? {
        var draft = Draft(reading)
        guard let position = context.position else { return nil }
        let mark = MarkEntry(
            time: context.now, offset: position.offset, chain: position.chain, name: name)
        try draft.buffer.add(.mark) { mark.write(to: &$0) }
        draft.results = [.staged(place: 0)]
        return draft
    }
}

struct MarkRemoval: Transaction {
    let offset: JournalOffset

    func draft(
        _ reading: StoreReading, _ context: PreparationContext, sink: PartSink
    ) throws(EngineError) -> Draft? {
        let key = IndexKey.mark(offset)
        guard let value = try reading.value(key), !EntryLocation(value).isDeleted else {
            throw .refused(.unknownItem, "the store has no mark at that offset")
        }
        var draft = Draft(reading)
        draft.readSet = [key]
        let entry = MarkRemovalEntry(offset: offset)
        try draft.buffer.add(.markRemoval) { entry.write(to: &$0) }
        return draft
    }
}
