package import StratusBytes
package import StratusJournal

/// Which of the past is kept beside what named marks and open snapshots see.
package enum HistoryPolicy: Equatable, Sendable {
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
    package var policy: HistoryPolicy
    /// What was before is not kept, whatever the policy says: it may be gone.
    package var start: JournalOffset

    package init(policy: HistoryPolicy, start: JournalOffset) {
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
        policy = try HistoryPolicy(bytes, &cursor)
        try cursor.end(bytes)
    }
}
