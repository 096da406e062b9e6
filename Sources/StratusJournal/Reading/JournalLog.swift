internal import StratusFiles

/// The frames of a journal in order of their offsets, read from the files.
package struct JournalLog: Sendable {
    /// A frame and where it lies.
    package struct Line: Sendable {
        package var entry: JournalEntry
        package var file: String
        /// In bytes from the start of the file.
        package var byte: Int
        /// The group it was written with; nil where its group frame is damaged, and in a compacted
        /// segment, which keeps none.
        package var group: GroupHeader?
    }

    private let view: JournalView
    private let end: JournalOffset
    private let skipsDamaged: Bool
    /// What was skipped and not taken yet.
    private var skipped: [JournalDamage] = []
    private var segment = 0
    private var reader: GroupReader?
    private var compacted: CompactedReader?
    private var lines: [Line] = []
    private var next = 0
    private var from: JournalOffset

    /// The frames of `view` from `start` on, before `end`; where damaged ones are skipped, it goes
    /// on at the next whole frame.
    package init(
        _ view: JournalView, from start: JournalOffset, to end: JournalOffset,
        skipsDamaged: Bool = false
    ) {
        self.view = view
        self.end = end
        self.skipsDamaged = skipsDamaged
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

    /// The damage that was skipped since the last call.
    package mutating func takeSkipped() -> [JournalDamage] {
        defer { skipped = [] }
        return skipped
    }

    private mutating func readGroup() throws -> Bool {
        while segment < view.segments.count {
            let place = view.segments[segment]
            if place.listed.isCompacted {
                if try readBlock(of: place) { return true }
                segment += 1
                continue
            }
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
                lines = fault.part.map { Self.lines(of: $0, in: place, before: stop) } ?? []
                if let offset = fault.damage.offset, offset < stop {
                    guard skipsDamaged else { throw JournalError(fault.damage) }
                    skipped.append(fault.damage)
                    try goOn(behind: offset, of: reader, in: place, before: stop)
                } else {
                    self.reader = nil
                    segment += 1
                }
            }
            next = 0
            return true
        }
        return false
    }

    /// Reads the next block of a compacted segment that holds anything; returns whether there is one.
    private mutating func readBlock(of place: JournalView.Segment) throws -> Bool {
        if place.base >= end { return false }
        if compacted?.compacted.header.number != place.listed.number {
            do throws(JournalError) {
                var reader = CompactedReader(try view.files.compacted(place.listed, .blocking))
                try reader.skip(to: from)
                compacted = reader
            } catch {
                try skip(error)
                return false
            }
        }
        while true {
            do throws(JournalError) {
                guard let entries = try compacted?.nextBlock() else { return false }
                lines = entries.map {
                    Line(entry: $0, file: $0.fileName, byte: $0.byte, group: nil)
                }
                next = 0
                return true
            } catch {
                try skip(error)
            }
        }
    }

    /// Notes damage where it is skipped.
    private mutating func skip(_ error: JournalError) throws(JournalError) {
        guard skipsDamaged, case .damaged(let damage) = error else { throw error }
        skipped.append(damage)
    }

    /// Goes on behind a damaged place with the frames that are whole up to the next whole group, and
    /// at that.
    private mutating func goOn(
        behind offset: JournalOffset, of reader: GroupReader, in place: JournalView.Segment,
        before stop: JournalOffset
    ) throws {
        let search = FrameSearch(file: reader.file, segment: place.listed)
        let next = try search.nextGroup(behind: offset, before: stop)
        let (last, group) = (lines.last?.entry.offset ?? offset, lines.last?.group)
        let start = max(offset, last)
        let file = place.listed.fileName
        for entry in try search.wholeFrames(behind: start, before: next?.offset ?? stop) {
            lines.append(Self.line(of: entry, group, in: place, file))
        }
        if let next {
            self.reader = reader
            self.reader?.resume(at: next.offset, chain: next.chain)
        } else {
            self.reader = nil
            segment += 1
        }
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
        // Made once: a commit found by its time or offset may lie behind many frames.
        let file = place.listed.fileName
        return group.frames.prefix { $0.offset < end }.map {
            line(of: $0, group.header, in: place, file)
        }
    }

    private static func line(
        of entry: JournalEntry, _ group: GroupHeader?, in place: JournalView.Segment, _ file: String
    ) -> Line {
        Line(entry: entry, file: file, byte: entry.offset.bytes(since: place.base), group: group)
    }
}
