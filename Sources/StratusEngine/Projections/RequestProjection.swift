package import StratusBytes
internal import StratusFiles
package import StratusIndex
package import StratusJournal

extension EntryKind {
    package static let request = EntryKind(rawValue: 61)
    package static let requestState = EntryKind(rawValue: 62)
}

extension KeySpace {
    /// The requests that have not ended.
    package static var requests: KeySpace { KeySpace(49, "requests") }
    /// The last state of a request; one that has ended is marked as deleted.
    package static var requestStates: KeySpace { KeySpace(50, "requestStates") }
    /// When a row of the other two goes; the first word is ``RequestProjection/Removal``.
    package static var requestTimes: KeySpace {
        KeySpace(51, "requestTimes", names: .nothing, mayComeBack: true, isRestated: true)
    }
}

/// Which request: the user who asked, and the hash of the operationID.
package struct RequestName: Hashable, Sendable {
    package var caller: Hash128
    package var id: Hash128

    package init(caller: Hash128, id: Hash128) {
        self.caller = caller
        self.id = id
    }
}

/// The long-lived requests, and what became of them.
///
/// The row of an ended request goes when the request is delivered or cancelled. The row of its last
/// state stays as long as any request is kept: so an index that is made anew of a journal where the
/// entry of the request is left never has the request without its end.
struct RequestProjection: Projection {
    package static let entries = [
        EntryForm(.request, "request"), EntryForm(.requestState, "request state"),
    ]
    package static let keyspaces: [KeySpace] = [.requests, .requestStates, .requestTimes]

    /// What goes at a time.
    private enum Removal {
        /// The request of that stamp.
        static let request: UInt64 = 0
        /// The request that finished with the state of that stamp.
        static let result: UInt64 = 1
        /// The state of that stamp.
        static let state: UInt64 = 2
    }

    private struct Change {
        var name: RequestName
        var offset: JournalOffset
        /// What a state says of the commit of its request; nil of a request.
        var submitted: Int64?
        var isEnd: Bool
    }

    /// Those of the open commit, whose time is not known yet.
    private var open: [Change] = []
    /// The last one of the group, and the greatest time that they tell of, which decides how old the
    /// others are.
    private var last: (time: Int64, offset: JournalOffset)?
    /// Nothing goes before this time: what has gone need not be passed over again.
    private var floor = Int64.min

    package mutating func rollBack() { self = RequestProjection() }

    package mutating func apply(
        _ entry: inout FoldedEntry, _ payload: Span<UInt8>, to state: inout FoldState
    ) throws(FormatError) {
        if entry.header.kind == .request {
            // The rest is read when it is asked for.
            var cursor = ByteCursor()
            let (caller, id) = try OperationEntry.readIdentity(payload, &cursor)
            let name = RequestName(caller: caller, id: entry.hash(id))
            state.index.set(.request(name), entry.location())
            state.index.remove(.requestState(name), at: entry.stamp)
            open.append(Change(name: name, offset: entry.offset, submitted: nil, isEnd: false))
            return
        }
        let change = try RequestStateEntry(payload)
        guard change.request < entry.offset else { throw .value("offset") }
        let name = RequestName(caller: change.caller, id: entry.hash(change.id))
        let isEnd = change.state.isEnd
        if isEnd { state.index.remove(.request(name), at: entry.stamp) }
        state.index.set(.requestState(name), entry.location(isDeleted: isEnd))
        open.append(
            Change(name: name, offset: entry.offset, submitted: change.submitted, isEnd: isEnd))
    }

    package mutating func completeCommit(at time: Int64, in state: inout FoldState) {
        for change in open {
            // Never before the request itself, whatever the clock says by now.
            let begin = max(time, change.submitted ?? time)
            let end = begin.addingReportingOverflow(RequestEntry.lifetime).partialValue
            let removal = change.submitted == nil ? Removal.request : Removal.state
            note(removal, of: change, at: end, in: &state)
            if change.submitted != nil, !change.isEnd {
                let end = time.addingReportingOverflow(OperationEntry.lifetime).partialValue
                note(Removal.result, of: change, at: end, in: &state)
            }
            // What goes by a time that a state only tells of goes for good: entries that were
            // committed at such a time may be dropped.
            last = (max(begin, last?.time ?? begin), change.offset)
        }
        open = []
    }

    /// Something goes at `time`.
    private mutating func note(
        _ removal: UInt64, of change: Change, at time: Int64, in state: inout FoldState
    ) {
        state.index.set(
            .requestTime(time, change.name),
            IndexValue(stamp: change.offset.rawValue, first: removal))
        floor = min(floor, time)
    }

    /// Removes what is over by the time of the last commit.
    package mutating func endGroup(in state: inout FoldState) throws(IndexError) {
        guard let (time, offset) = last.take(), time > floor else { return }
        let range = IndexKey.requestTimes(from: floor)..<IndexKey.requestTimes(from: time)
        var cursor = state.index.cursor(range, .blocking)
        var due: [(key: IndexKey, value: IndexValue)] = []
        while let row = try cursor.next() { due.append(row) }
        for (key, row) in due {
            let name = key.timedRequest
            let request = try state.index.value(of: .request(name), .blocking)
            let last = try state.index.value(of: .requestState(name), .blocking)
            switch row.first {
            case Removal.state:
                if last?.stamp == row.stamp {
                    state.index.remove(.requestState(name), at: offset.rawValue)
                    // Where both go at one time they have one row in the order of times.
                    if request != nil { state.index.remove(.request(name), at: offset.rawValue) }
                }
            case Removal.result:
                // Another request may have come under the name, with no state yet.
                if last?.stamp == row.stamp, request != nil {
                    state.index.remove(.request(name), at: offset.rawValue)
                }
            default:
                if request?.stamp == row.stamp {
                    state.index.remove(.request(name), at: offset.rawValue)
                }
            }
            state.index.remove(key, at: offset.rawValue)
        }
        floor = time
    }

    package static func validate(
        _ payload: Span<UInt8>, of entry: JournalEntry, _ numbers: inout NumberCheck
    ) throws(FormatError) {
        if entry.kind == .request {
            let request = try RequestEntry(payload)
            guard request.point <= entry.offset else { throw .value("offset") }
        } else {
            guard try RequestStateEntry(payload).request < entry.offset else {
                throw .value("offset")
            }
        }
    }

    package static func describe(
        _ payload: Span<UInt8>, _ kind: EntryKind, _ schema: Schema
    ) throws(FormatError) -> EntryDescription {
        if kind == .request {
            let request = try RequestEntry(payload)
            return EntryDescription(detail: "\(request.id), \(request.body.summary)")
        }
        let change = try RequestStateEntry(payload)
        let state =
            switch change.state {
            case .finished(let failures):
                failures.isEmpty ? "finished" : "finished with failures"
            case .delivered: "delivered"
            case .cancelled: "cancelled"
            }
        return EntryDescription(detail: "\(change.id), \(state)")
    }
}

extension RequestBody {
    /// What is asked for, in a few words.
    fileprivate var summary: String {
        switch call {
        case .modify(let modification): "changes \(modification.items.count) records"
        case .move(let names, _): "moves \(names.count) records"
        case .records(let names, _): "looks up \(names.count) records"
        case .query(let query): "queries \(query.recordType)"
        case .zoneChanges(let zones): "changes of \(zones.count) zones"
        case .databaseChanges: "changes of the database"
        case .zones(let items): "changes \(items.count) zones"
        case .subscriptions(let items): "changes \(items.count) subscriptions"
        }
    }
}

extension IndexKey {
    package static func request(_ name: RequestName) -> IndexKey {
        requests(of: name.caller).appending(name.id)
    }

    /// Where the requests of a user begin.
    package static func requests(of caller: Hash128) -> IndexKey {
        KeySpace.requests.key().appending(caller)
    }

    package static func requestState(_ name: RequestName) -> IndexKey {
        KeySpace.requestStates.key().appending(name.caller).appending(name.id)
    }

    /// Where all begins that goes at that time or later.
    fileprivate static func requestTimes(from time: Int64) -> IndexKey {
        KeySpace.requestTimes.key().appending(UInt64(bitPattern: time) ^ 1 << 63)
    }

    fileprivate static func requestTime(_ time: Int64, _ name: RequestName) -> IndexKey {
        requestTimes(from: time).appending(name.caller).appending(name.id)
    }

    /// The request that a row by time is of.
    fileprivate var timedRequest: RequestName {
        RequestName(
            caller: Hash128(high: uint64(at: 13), low: uint64(at: 21)),
            id: Hash128(high: uint64(at: 29), low: uint64(at: 37)))
    }
}
