package import StratusBytes
package import StratusJournal

/// How much is kept of something that lies behind the newest state.
package enum RetentionPolicy: Equatable, Sendable {
    case none
    /// So many microseconds before the last commit.
    case age(Int64)
    /// So many bytes of journal.
    case bytes(Int)
    case everything

    package func write(to writer: inout ByteWriter) {
        switch self {
        case .none: writer.uint8(0)
        case .age(let microseconds):
            writer.uint8(1)
            writer.varint(Int(microseconds))
        case .bytes(let count):
            writer.uint8(2)
            writer.varint(count)
        case .everything: writer.uint8(3)
        }
    }

    package init(_ bytes: Span<UInt8>, _ cursor: inout ByteCursor) throws(FormatError) {
        switch try cursor.uint8(bytes) {
        case 0: self = .none
        case 1: self = .age(Int64(try cursor.count(bytes, upTo: Self.limit)))
        case 2: self = .bytes(try cursor.count(bytes, upTo: Self.limit))
        case 3: self = .everything
        default: throw .newer("policy")
        }
    }

    /// Of an age, in microseconds, or a number of bytes.
    package static let limit = 1 << 60
}

/// The entry of a history policy: `Formats/Record.md`, "History policy".
package struct HistoryPolicyEntry: Equatable, Sendable {
    package var policy: RetentionPolicy
    /// What was before is not kept, whatever the policy says: it may be gone.
    package var start: JournalOffset

    package init(policy: RetentionPolicy, start: JournalOffset) {
        self.policy = policy
        self.start = start
    }

    package func write(to writer: inout ByteWriter) {
        writer.uint64(start.rawValue)
        policy.write(to: &writer)
    }

    package init(_ bytes: Span<UInt8>) throws(FormatError) {
        var cursor = ByteCursor()
        start = JournalOffset(rawValue: try cursor.uint64(bytes))
        guard start.rawValue < JournalOffset.limit else { throw .value("start") }
        policy = try RetentionPolicy(bytes, &cursor)
        try cursor.end(bytes)
    }
}

/// The entry of a deletion policy: `Formats/Record.md`, "Deletion policy".
package struct DeletionPolicyEntry: Equatable, Sendable {
    package var policy: RetentionPolicy

    /// That of a store of which nothing was said: ninety days.
    package static let standard = RetentionPolicy.age(90 * 86_400 * 1_000_000)

    package init(policy: RetentionPolicy) { self.policy = policy }

    package func write(to writer: inout ByteWriter) { policy.write(to: &writer) }

    package init(_ bytes: Span<UInt8>) throws(FormatError) {
        var cursor = ByteCursor()
        policy = try RetentionPolicy(bytes, &cursor)
        try cursor.end(bytes)
    }
}
