internal import StratusFiles

/// The frames of a journal in order of their offsets, read from the files.
package struct JournalLog: Sendable {
    /// A frame and where it lies.
    package struct Line: Sendable {
        package var entry: JournalEntry
        package var file: String
        /// In bytes from the start of the file.
        package var byte: Int
        /// The group it was written with.
        package var group: GroupHeader
    }

    private let view: JournalView
    private let end: JournalOffset
    private var segment = 0
    private var reader: GroupReader?
    private var lines: [Line] = []
    private var next = 0
    private var from: JournalOffset

    /// The frames of `view` from `start` on, before `end`.
    package init(_ view: JournalView, from start: JournalOffset, to end: JournalOffset) {
        self.view = view
        self.end = end
        from = start
        segment = view.segments.firstIndex { $0.limit > start } ?? view.segments.count
    }

    /// The next frame, or nil at the end.
    package mutating func nextLine() throws -> Line? {
        while true {
            while next < lines.count {
                let line = lines[next]
                next += 1
                if line.entry.offset >= end { return nil }
                if line.entry.offset >= from { return line }
            }
            guard try readGroup() else { return nil }
        }
    }

    private mutating func readGroup() throws -> Bool {
        while segment < view.segments.count {
            let place = view.segments[segment]
            let stop = min(place.end, end)
            var reader = try reader ?? begin(place)
            if reader.position >= stop {
                self.reader = nil
                segment += 1
                continue
            }
            do {
                let group = try reader.next()
                self.reader = reader
                lines = Self.lines(of: group, in: place, before: stop)
            } catch let fault as GroupFault {
                // The group in which a stated end lies need not be whole behind it.
                guard let part = fault.part, fault.damage.offset ?? .zero >= stop else {
                    throw JournalError(fault.damage)
                }
                lines = Self.lines(of: part, in: place, before: stop)
                self.reader = nil
                segment += 1
            }
            next = 0
            return true
        }
        return false
    }

    private func begin(_ place: JournalView.Segment) throws -> GroupReader {
        let segment = place.listed
        var reader = GroupReader(
            try view.files.file(of: segment, .blocking), base: segment.base, salt: segment.salt,
            limit: segment.limit, at: segment.firstGroup, chain: segment.chainAtStart)
        try reader.skip(to: from)
        return reader
    }

    private static func lines(
        of group: JournalGroup, in place: JournalView.Segment, before end: JournalOffset
    ) -> [Line] {
        group.frames.prefix { $0.offset < end }.map {
            Line(
                entry: $0, file: place.listed.fileName, byte: $0.offset.bytes(since: place.base),
                group: group.header)
        }
    }
}
