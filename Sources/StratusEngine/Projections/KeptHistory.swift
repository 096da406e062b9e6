package import StratusBytes
package import StratusIndex
package import StratusJournal

/// Which of the past is kept, as entries have said.
package struct KeptHistory: Equatable, Sendable {
    package private(set) var policy = HistoryPolicy.none
    /// The policy keeps nothing from before.
    package private(set) var start = JournalOffset.zero
    /// What is seen from the marks: each the last offset before one, in their order.
    private var marks: [UInt64] = []

    package init() {}

    /// Whether every state from ``start`` on may be read later.
    package var isKept: Bool { policy != .none }

    /// What is needed for it, where the policy is known to keep nothing from before `floor`.
    package func points(from floor: JournalOffset = .zero) -> NeededPoints {
        points(floor: isKept ? max(start, floor) : nil)
    }

    /// The marks, and all from `floor` on.
    package func points(floor: JournalOffset?) -> NeededPoints {
        NeededPoints(marks: marks, floor: floor?.previous.rawValue)
    }

    mutating func set(_ entry: HistoryPolicyEntry) { (policy, start) = (entry.policy, entry.start) }

    mutating func addMark(at offset: JournalOffset) {
        let point = offset.previous.rawValue
        let place = marks.place(of: point)
        if place == marks.count || marks[place] != point { marks.insert(point, at: place) }
    }

    mutating func removeMark(at offset: JournalOffset) {
        let point = offset.previous.rawValue
        let place = marks.place(of: point)
        if place < marks.count, marks[place] == point { marks.remove(at: place) }
    }
}

// In the state of a checkpoint: `Formats/Index.md`, "State".
extension KeptHistory {
    package func write(to writer: inout ByteWriter) {
        policy.write(to: &writer)
        writer.varint(start.rawValue)
        writer.varint(marks.count)
        var last: UInt64 = 0
        for mark in marks {
            writer.varint(mark - last)
            last = mark
        }
    }

    package init(_ bytes: Span<UInt8>, _ cursor: inout ByteCursor) throws(FormatError) {
        policy = try HistoryPolicy(bytes, &cursor)
        start = JournalOffset(rawValue: try cursor.varint(bytes))
        let count = try cursor.count(bytes, upTo: cursor.remaining(bytes))
        var last: UInt64 = 0
        for place in 0..<count {
            let (mark, overflow) = last.addingReportingOverflow(try cursor.varint(bytes))
            guard !overflow, mark < JournalOffset.limit, place == 0 || mark > last else {
                throw .value("mark")
            }
            marks.append(mark)
            last = mark
        }
        guard start.rawValue < JournalOffset.limit else { throw .value("start") }
    }
}
