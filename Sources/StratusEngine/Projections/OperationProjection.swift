package import StratusBytes
internal import StratusFiles
package import StratusIndex
package import StratusJournal

extension EntryKind {
    package static let operation = EntryKind(rawValue: 40)
    package static let clientToken = EntryKind(rawValue: 41)
}

extension KeySpace {
    package static var clientTokens: KeySpace { KeySpace(12, "clientTokens") }
    package static var operations: KeySpace { KeySpace(28, "operations") }
    package static var operationTimes: KeySpace {
        KeySpace(29, "operationTimes", names: .elsewhere, isRestated: true)
    }
}

/// The operations with an ID that were committed within the last day, or for a long-lived request
/// within the last week, and the client token of each device.
struct OperationProjection: Projection {
    package static let entries = [
        EntryForm(.operation, "operation", isInZone: true),
        EntryForm(.clientToken, "client token", isInZone: true),
    ]
    package static let keyspaces: [KeySpace] = [.clientTokens, .operations, .operationTimes]

    private struct Done {
        var key: IndexKey
        var offset: JournalOffset
        /// What it says of itself; nil where it makes no sense, which is found where it is asked for.
        var entry: OperationEntry?
    }

    /// That of the open commit, whose time is not known yet.
    private var open: Done?
    /// The last one of the group, which decides how old the others are.
    private var last: (time: Int64, offset: JournalOffset)?
    /// There is none from before this time: what was removed need not be passed over again.
    private var floor = Int64.min

    package mutating func rollBack() { self = OperationProjection() }

    package mutating func apply(
        _ entry: inout FoldedEntry, _ payload: Span<UInt8>, to state: inout FoldState
    ) throws(FormatError) {
        if entry.header.kind == .clientToken {
            let token = try ClientTokenEntry(payload)
            let device = ClientTokenEntry.identity(token.caller, token.device)
            state.index.set(
                .clientToken(entry.zone, entry.hash(device.span)), entry.location())
            return
        }
        var cursor = ByteCursor()
        _ = try OperationEntry.readIdentity(payload, &cursor)
        let name = entry.hash(payload.extracting(0..<cursor.position))
        let key = IndexKey.operation(name).appending(entry.zone)
        state.index.set(key, entry.location())
        open = Done(key: key, offset: entry.offset, entry: try? OperationEntry(payload))
    }

    package mutating func completeCommit(at time: Int64, in state: inout FoldState) {
        guard let done = open.take() else { return }
        // As if all were known for a day.
        let since = done.entry.map { $0.end(time) &- OperationEntry.lifetime } ?? time
        state.index.set(
            .operationTime(since, done.key), IndexValue(stamp: done.offset.rawValue))
        last = (time, done.offset)
        // A clock may have gone back.
        floor = min(floor, since)
    }

    /// Removes the operations that were committed more than a day before the last one, and those of
    /// long-lived requests that were more than a week.
    package mutating func endGroup(in state: inout FoldState) throws(IndexError) {
        guard let (time, offset) = last.take() else { return }
        let limit = time.subtractingReportingOverflow(OperationEntry.lifetime)
        guard !limit.overflow, limit.partialValue > floor else { return }
        let range = IndexKey.operationTime(floor)..<IndexKey.operationTime(limit.partialValue)
        var cursor = state.index.cursor(range, .blocking)
        var expired: [(key: IndexKey, stamp: UInt64)] = []
        while let (key, value) = try cursor.next() { expired.append((key, value.stamp)) }
        for (key, stamp) in expired {
            let done = key.operation
            // It may have been done again since.
            if let value = try state.index.value(of: done, .blocking), value.stamp == stamp {
                state.index.remove(done, at: offset.rawValue)
            }
            state.index.remove(key, at: offset.rawValue)
        }
        floor = limit.partialValue
    }

    package static func validate(
        _ payload: Span<UInt8>, of entry: JournalEntry, _ numbers: inout NumberCheck
    ) throws(FormatError) {
        if entry.kind == .operation {
            _ = try OperationEntry(payload)
        } else {
            _ = try ClientTokenEntry(payload)
        }
    }

    package static func describe(
        _ payload: Span<UInt8>, _ kind: EntryKind, _ schema: Schema
    ) throws(FormatError) -> EntryDescription {
        if kind == .operation {
            let operation = try OperationEntry(payload)
            return EntryDescription(detail: "\(operation.id), \(operation.outcomes.count) items")
        }
        let token = try ClientTokenEntry(payload)
        return EntryDescription(detail: "\(token.device), \(token.token.count) bytes")
    }
}

extension IndexKey {
    /// Of an operation, told by the hash of caller and operationID; its zone follows.
    package static func operation(_ name: Hash128) -> IndexKey {
        KeySpace.operations.key().appending(name)
    }

    /// Where all operations begin that were committed at that time or later.
    package static func operationTime(_ time: Int64) -> IndexKey {
        KeySpace.operationTimes.key().appending(UInt64(bitPattern: time) ^ 1 << 63)
    }

    /// Of the operation of that key, by the time of its commit.
    package static func operationTime(_ time: Int64, _ operation: IndexKey) -> IndexKey {
        operationTime(time).appending(operation.uint64(at: 5)).appending(operation.uint64(at: 13))
            .appending(operation.uint32(at: 21))
    }

    /// The operation that one by time is of.
    fileprivate var operation: IndexKey {
        KeySpace.operations.key().appending(uint64(at: 13)).appending(uint64(at: 21))
            .appending(uint32(at: 29))
    }

    package static func clientToken(_ zone: UInt32, _ device: Hash128) -> IndexKey {
        KeySpace.clientTokens.key(zone: zone).appending(device)
    }
}
