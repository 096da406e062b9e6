internal import StratusBytes
internal import StratusFiles
internal import StratusIndex
internal import StratusJournal

/// What the index knows of operations: which were done within the last day of commits, and what
/// devices said last.
struct OperationFold: Sendable {
    private struct Done {
        var key: IndexKey
        var offset: JournalOffset
    }

    /// That of the commit at hand, whose time is not known yet.
    private var open: Done?
    /// The last one of the group, by which older ones are forgotten.
    private var last: (time: Int64, offset: JournalOffset)?
    /// Before it nothing is left to forget: what was forgotten need not be passed over again.
    private var floor = Int64.min

    /// The index was taken back.
    mutating func abandon() {
        open = nil
        last = nil
        floor = .min
    }

    mutating func apply(
        _ header: FrameHeader, at offset: JournalOffset, _ payload: Span<UInt8>, secret: UInt64,
        to index: inout OrderedIndex
    ) throws(FormatError) {
        var cursor = ByteCursor()
        _ = try OperationEntry.readIdentity(payload, &cursor)
        let name = Hash128(payload.extracting(0..<cursor.position), seed: secret)
        let key = IndexKey.operation(name).appending(header.zone)
        index.set(key, EntryPlace(header, at: offset, isDeleted: false).value)
        open = Done(key: key, offset: offset)
    }

    mutating func complete(time: Int64, _ index: inout OrderedIndex) {
        guard let done = open.take() else { return }
        index.set(.operationTime(time, done.key), IndexValue(stamp: done.offset.rawValue))
        last = (time, done.offset)
    }

    /// Forgets what is older than a day when the group ends.
    mutating func endGroup(_ index: inout OrderedIndex) throws(IndexError) {
        guard let (time, offset) = last.take() else { return }
        let limit = time.subtractingReportingOverflow(OperationEntry.lifetime)
        guard !limit.overflow, limit.partialValue > floor else { return }
        let range = IndexKey.operationTime(floor)..<IndexKey.operationTime(limit.partialValue)
        var cursor = index.cursor(range, .blocking)
        var expired: [(key: IndexKey, stamp: UInt64)] = []
        while let (key, value) = try cursor.next() { expired.append((key, value.stamp)) }
        for (key, stamp) in expired {
            let done = key.operation
            // It may have been done again since.
            if let value = try index.value(of: done, .blocking), value.stamp == stamp {
                index.remove(done, at: offset.rawValue)
            }
            index.remove(key, at: offset.rawValue)
        }
        floor = limit.partialValue
    }

    static func applyClientToken(
        _ header: FrameHeader, at offset: JournalOffset, _ payload: Span<UInt8>, secret: UInt64,
        to index: inout OrderedIndex
    ) throws(FormatError) {
        let entry = try ClientTokenEntry(payload)
        let identity = ClientTokenEntry.identity(entry.caller, entry.device)
        index.set(
            .clientToken(header.zone, Hash128(identity.span, seed: secret)),
            EntryPlace(header, at: offset, isDeleted: false).value)
    }
}

extension IndexKey {
    /// Of an operation, told by the hash of caller and operationID; its zone follows.
    static func operation(_ name: Hash128) -> IndexKey {
        KeySpace.operations.key().appending(name)
    }

    /// Where all operations begin that were committed at that time or later.
    static func operationTime(_ time: Int64) -> IndexKey {
        KeySpace.operationTimes.key().appending(UInt64(bitPattern: time) ^ 1 << 63)
    }

    /// Of the operation of that key, by the time of its commit.
    static func operationTime(_ time: Int64, _ operation: IndexKey) -> IndexKey {
        operationTime(time).appending(operation.uint64(at: 5)).appending(operation.uint64(at: 13))
            .appending(operation.uint32(at: 21))
    }

    /// The operation that one by time is of.
    fileprivate var operation: IndexKey {
        KeySpace.operations.key().appending(uint64(at: 13)).appending(uint64(at: 21))
            .appending(uint32(at: 29))
    }

    static func clientToken(_ zone: UInt32, _ device: Hash128) -> IndexKey {
        KeySpace.clientTokens.key(zone: zone).appending(device)
    }
}
