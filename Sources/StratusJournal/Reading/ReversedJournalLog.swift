/// The frames of a journal against the order of their offsets: what came last first.
///
/// The journal is read forward, a stretch at a time, whose frames are in memory.
package struct ReversedJournalLog: Sendable {
    private let view: JournalView
    private let start: JournalOffset
    private let skipsDamaged: Bool
    /// Where the stretch begins that was read last, whose frames were not all given.
    private var end: JournalOffset
    private var lines: [JournalLog.Line] = []
    /// What is damaged there, and was not told yet.
    private var damage: [JournalDamage] = []
    /// Of all damage what has no offset.
    private var noted: [JournalDamage] = []

    /// As a difference of offsets: a MiB. A frame is longer at times, and lies where it begins.
    private static let stretch: UInt64 = 1 << 17

    /// The frames of `view` before `end`, from the last one back to `start`; where damaged ones are
    /// skipped, it goes on before them.
    package init(
        _ view: JournalView, from start: JournalOffset, to end: JournalOffset,
        skipsDamaged: Bool = false
    ) {
        self.view = view
        self.start = start
        self.end = end
        self.skipsDamaged = skipsDamaged
    }

    /// The frame before, or nil at the beginning.
    package mutating func nextLine() throws -> JournalLog.Line? {
        while lines.isEmpty {
            if !skipsDamaged, let first = damage.first { throw JournalError(first) }
            guard end > start else { return nil }
            try readStretch()
        }
        if !skipsDamaged, let last = damage.last, isReached(last) { throw JournalError(last) }
        return lines.removeLast()
    }

    /// The damage that was skipped since the last call.
    package mutating func takeSkipped() -> [JournalDamage] {
        var reached: [JournalDamage] = []
        while skipsDamaged, let last = damage.last, isReached(last) {
            reached.append(damage.removeLast())
        }
        return reached
    }

    /// Whether damage lies behind what is given next.
    private func isReached(_ damage: JournalDamage) -> Bool {
        guard let offset = damage.offset, let line = lines.last else { return true }
        return offset > line.entry.offset
    }

    private mutating func readStretch() throws {
        let begin = max(
            start, JournalOffset(rawValue: max(end.rawValue, Self.stretch) - Self.stretch))
        var log = JournalLog(view, from: begin, to: end, skipsDamaged: true)
        while let line = try log.nextLine() { lines.append(line) }
        for found in log.takeSkipped() {
            // What lies before the stretch, or has no offset, another one comes upon, too.
            if let offset = found.offset {
                if offset >= begin { damage.append(found) }
            } else if !noted.contains(found) {
                noted.append(found)
                damage.append(found)
            }
        }
        end = begin
    }
}
