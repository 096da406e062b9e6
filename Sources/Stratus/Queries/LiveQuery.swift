internal import StratusEngine

/// The first records that a query finds, and then what becomes of them with every commit, in the order
/// of the query. Beyond CloudKit.
///
/// Changes are found when they are asked for, never ahead: a slow reader gets them in fewer and larger
/// steps and never falls behind. Waiting costs nothing; a commit that changes something in the zone or
/// database of the query ends it, and what it costs then follows what was changed and, where no zone
/// is named, how many there are. (In the shared database the query is asked anew.)
///
/// The sequence ends when its task is cancelled or the container closed. It throws what the query
/// throws: ``StoreError`` with `zoneNotFound` once the zone is deleted. In a container opened for
/// reading only it goes on with every ``Container/refresh()``.
public struct LiveQuery: AsyncSequence, Sendable {
    fileprivate let database: Database
    fileprivate let request: LiveRequest

    /// Begins with the first records, as those that were added to nothing.
    public func makeAsyncIterator() -> Iterator { Iterator(query: self) }

    /// The changes, one after the other.
    public struct Iterator: AsyncIteratorProtocol {
        private let query: LiveQuery
        private var result: LiveResult?
        private var isDone = false

        fileprivate init(query: LiveQuery) { self.query = query }

        /// The next change; the first one also where nothing is found.
        public mutating func next(
            isolation actor: isolated (any Actor)? = #isolation
        ) async throws(StoreError) -> QueryChanges? {
            do throws(EngineError) {
                while !isDone, !Task.isCancelled {
                    let step = try await query.database.step(query.request, from: result)
                    let isFirst = result == nil
                    result = step.result
                    if isFirst || !step.changes.isEmpty { return step.changes }
                    let published = query.database.container.published
                    guard
                        await published.change(of: step.result.watched, since: step.result.head)
                    else { break }
                }
            } catch {
                isDone = true
                throw StoreError(error)
            }
            isDone = true
            return nil
        }
    }
}

/// What became of the first records that a query finds.
public struct QueryChanges: Sendable {
    /// A record of the result.
    public struct Place: Sendable {
        /// Where it stands in the result as it is now, from 0 on.
        public var index: Int
        /// As it is now.
        public var record: Record
    }

    /// A record that was in the result before.
    public struct PreviousPlace: Hashable, Sendable {
        /// Where it stood in the result before.
        public var index: Int
        /// Which one.
        public var recordID: Record.ID
    }

    /// Records that are not in the result any more: deleted, changed so that the query does not find
    /// them, or behind the last one that was asked for. In the order before.
    public internal(set) var removed: [PreviousPlace] = []
    /// Records that were not in the result before, in the order of now.
    public internal(set) var added: [Place] = []
    /// Records that were in the result and were saved since, in the order of now. Where one stood
    /// before, ``previousIndexes`` says.
    public internal(set) var changed: [Place] = []
    /// For each of ``changed`` where it stood before.
    public internal(set) var previousIndexes: [Int] = []

    /// Whether the result is as it was.
    public var isEmpty: Bool { removed.isEmpty && added.isEmpty && changed.isEmpty }

    /// Makes the result of before that of now.
    public func apply(to records: inout [Record]) {
        let gone = Set(removed.map(\.index) + previousIndexes)
        var rest = records.indices.filter { !gone.contains($0) }.map { records[$0] }
        for place in (added + changed).sorted(by: { $0.index < $1.index }) {
            rest.insert(place.record, at: place.index)
        }
        records = rest
    }
}

extension Database {
    /// The first records that a query finds, and then what becomes of them.
    ///
    /// - Parameters:
    ///   - zoneID: where to look, as of
    ///     ``records(matching:inZoneWith:desiredKeys:resultsLimit:from:skippingDamaged:)``.
    ///   - desiredKeys: the fields that the records have; nil: all.
    ///   - resultsLimit: the most records in the result, which is in memory: 1,000 where nothing is
    ///     said, and at most 10,000.
    public func liveRecords(
        matching query: Query, inZoneWith zoneID: RecordZone.ID? = nil,
        desiredKeys: [String]? = nil, resultsLimit: Int? = nil
    ) -> LiveQuery {
        LiveQuery(
            database: self,
            request: LiveRequest(
                query: query, zone: zoneID, desiredKeys: desiredKeys,
                limit: Page(resultsLimit).limit))
    }
}
