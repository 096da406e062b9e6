package import StratusBytes
package import StratusIndex
package import StratusJournal

/// Which of the past is kept, as entries have said.
package struct KeptHistory: Equatable, Sendable {
    package private(set) var policy = HistoryPolicy.none
    /// From here on the policy keeps every state.
    private var begin = JournalOffset.zero
    /// Of an age: the greatest time of a commit, in microseconds since 1970. Clocks may go back.
    private var latest = Int64.min
    /// Of an age: where commits end, the last one of each 256th of the age, in their order. All but
    /// the first are younger than the age.
    private var ends: [End] = []
    /// What is seen from the marks: each the last offset before one, in their order.
    private var marks: [UInt64] = []

    private struct End: Equatable {
        /// Which 256th of the age, counted from 1970.
        var part: Int64
        var place: JournalOffset
    }

    private static let partCount: Int64 = 256

    package init() {}

    /// Whether every state from ``floor`` on may be read later.
    package var isKept: Bool { policy != .none }

    /// From here on every state is kept; nil where none is. Never goes back.
    package var floor: JournalOffset? { isKept ? begin : nil }

    /// What is needed for it.
    package var points: NeededPoints {
        NeededPoints(marks: marks, floor: floor?.previous.rawValue)
    }

    mutating func set(_ entry: HistoryPolicyEntry) {
        (policy, begin) = (entry.policy, entry.start)
        (latest, ends) = (.min, [])
    }

    /// A commit ends right behind its last entry, before `place`.
    mutating func note(end place: JournalOffset, at time: Int64) {
        switch policy {
        case .none, .everything: return
        case .bytes(let count):
            let units = UInt64(count / JournalOffset.unit)
            begin = max(begin, JournalOffset(rawValue: place.rawValue - min(units, place.rawValue)))
        case .age(let age):
            latest = max(latest, time)
            let length = max(1, age / Self.partCount)
            let part = Self.part(latest, length)
            if ends.last?.part == part { ends.removeLast() }
            ends.append(End(part: part, place: place))
            // All of the part is older than the age.
            let (limit, overflow) = latest.subtractingReportingOverflow(age)
            if overflow { return }
            let old = ends.prefix { $0.part < Self.part(limit, length) }
            guard let last = old.last else { return }
            begin = max(begin, last.place)
            ends.removeFirst(old.count - 1)
        }
    }

    /// A commit may have been left out, none with a later time.
    mutating func passOver(latest time: Int64) {
        if case .age = policy { latest = max(latest, time) }
    }

    private static func part(_ time: Int64, _ length: Int64) -> Int64 {
        let (quotient, rest) = time.quotientAndRemainder(dividingBy: length)
        return rest < 0 ? quotient - 1 : quotient
    }

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
        policy.write(to: &writer)
        writer.varint(begin.rawValue)
        writer.int64(latest)
        writer.varint(ends.count)
        for end in ends {
            writer.int64(end.part)
            writer.varint(end.place.rawValue)
        }
        writer.varint(marks.count)
        var last: UInt64 = 0
        for mark in marks {
            writer.varint(mark - last)
            last = mark
        }
    }

    package init(_ bytes: Span<UInt8>, _ cursor: inout ByteCursor) throws(FormatError) {
        policy = try HistoryPolicy(bytes, &cursor)
        begin = try Self.offset(bytes, &cursor)
        latest = try cursor.int64(bytes)
        for _ in 0..<(try cursor.count(bytes, upTo: cursor.remaining(bytes))) {
            let end = End(part: try cursor.int64(bytes), place: try Self.offset(bytes, &cursor))
            guard ends.last.map({ $0.part < end.part }) ?? true else { throw .value("part") }
            ends.append(end)
        }
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

    private static func offset(
        _ bytes: Span<UInt8>, _ cursor: inout ByteCursor
    ) throws(FormatError) -> JournalOffset {
        let offset = JournalOffset(rawValue: try cursor.varint(bytes))
        guard offset.rawValue < JournalOffset.limit else { throw .value("offset") }
        return offset
    }
}
