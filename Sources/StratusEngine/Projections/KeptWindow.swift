package import StratusBytes
package import StratusJournal

/// Which of what lies behind the newest state a policy keeps: all from an offset on, which never goes
/// back.
package struct KeptWindow: Equatable, Sendable {
    package private(set) var policy: RetentionPolicy
    /// From here on the policy keeps everything.
    package private(set) var begin = JournalOffset.zero
    /// Of an age: the greatest time of a commit, in microseconds since 1970. Clocks may go back.
    private var latest = Int64.min
    /// Of an age: where commits end, the last one of each 256th of the age but the latest, in their
    /// order. All but the first are younger than the age.
    private var ends: [End] = []
    /// Of the latest: each commit changes it, and copies no list.
    private var last: End?

    private struct End: Equatable {
        /// Which 256th of the age, counted from 1970.
        var part: Int64
        var place: JournalOffset
    }

    private static let partCount: Int64 = 256

    package init(_ policy: RetentionPolicy) { self.policy = policy }

    /// Keeps by another policy, from `begin` on.
    mutating func set(_ policy: RetentionPolicy, from begin: JournalOffset) {
        self = KeptWindow(policy)
        self.begin = begin
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
            if let last, last.part != part { ends.append(last) }
            last = End(part: part, place: place)
            // All of the part is older than the age.
            let (limit, overflow) = latest.subtractingReportingOverflow(age)
            if overflow { return }
            let old = ends.prefix { $0.part < Self.part(limit, length) }
            guard let latest = old.last else { return }
            begin = max(begin, latest.place)
            if old.count > 1 { ends.removeFirst(old.count - 1) }
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
}

// In the state of a checkpoint: `Formats/Index.md`, "State".
extension KeptWindow {
    package func write(to writer: inout ByteWriter) {
        policy.write(to: &writer)
        writer.varint(begin.rawValue)
        writer.int64(latest)
        let ends = ends + [last].compactMap(\.self)
        writer.varint(ends.count)
        for end in ends {
            writer.int64(end.part)
            writer.varint(end.place.rawValue)
        }
    }

    package init(_ bytes: Span<UInt8>, _ cursor: inout ByteCursor) throws(FormatError) {
        policy = try RetentionPolicy(bytes, &cursor)
        begin = try Self.offset(bytes, &cursor)
        latest = try cursor.int64(bytes)
        for _ in 0..<(try cursor.count(bytes, upTo: cursor.remaining(bytes))) {
            let end = End(part: try cursor.int64(bytes), place: try Self.offset(bytes, &cursor))
            guard ends.last.map({ $0.part < end.part }) ?? true else { throw .value("part") }
            ends.append(end)
        }
        last = ends.popLast()
    }

    private static func offset(
        _ bytes: Span<UInt8>, _ cursor: inout ByteCursor
    ) throws(FormatError) -> JournalOffset {
        let offset = JournalOffset(rawValue: try cursor.varint(bytes))
        guard offset.rawValue < JournalOffset.limit else { throw .value("offset") }
        return offset
    }
}
