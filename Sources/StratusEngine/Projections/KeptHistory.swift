package import StratusBytes
package import StratusIndex
package import StratusJournal

/// Which of the past is kept, as entries have said.
package struct KeptHistory: Equatable, Sendable {
    private var window = KeptWindow(.none)
    /// What is seen from the marks: each the last offset before one, in their order.
    private var marks: [UInt64] = []
    /// From here on everything is there that entries say is kept: an archive has less of the past
    /// than its journal says.
    private var beginning = JournalOffset.zero

    package init() {}

    package var policy: RetentionPolicy { window.policy }

    /// Whether every state from ``floor`` on may be read later.
    package var isKept: Bool { policy != .none }

    /// From here on every state is kept; nil where none is. Never goes back.
    package var floor: JournalOffset? { isKept ? max(window.begin, beginning) : nil }

    /// What is needed for it.
    package var points: NeededPoints {
        NeededPoints(marks: marks, floor: floor?.previous.rawValue)
    }

    /// Nothing from before `offset` is there but what marks keep, whatever entries say.
    mutating func begin(at offset: JournalOffset) { beginning = offset }

    mutating func set(_ entry: HistoryPolicyEntry) { window.set(entry.policy, from: entry.start) }

    mutating func note(end place: JournalOffset, at time: Int64) {
        window.note(end: place, at: time)
    }

    mutating func passOver(latest time: Int64) { window.passOver(latest: time) }

    mutating func addMark(at offset: JournalOffset) {
        let (place, isThere) = mark(at: offset)
        if !isThere { marks.insert(offset.previous.rawValue, at: place) }
    }

    mutating func removeMark(at offset: JournalOffset) {
        let (place, isThere) = mark(at: offset)
        if isThere { marks.remove(at: place) }
    }

    private func mark(at offset: JournalOffset) -> (place: Int, isThere: Bool) {
        let point = offset.previous.rawValue
        let place = marks.place(of: point)
        return (place, place < marks.count && marks[place] == point)
    }
}

// In the state of a checkpoint: `Formats/Index.md`, "State".
extension KeptHistory {
    package func write(to writer: inout ByteWriter) {
        window.write(to: &writer)
        writer.varint(marks.count)
        var last: UInt64 = 0
        for mark in marks {
            writer.varint(mark - last)
            last = mark
        }
    }

    package init(_ bytes: Span<UInt8>, _ cursor: inout ByteCursor) throws(FormatError) {
        window = try KeptWindow(bytes, &cursor)
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
    }
}
