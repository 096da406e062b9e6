internal import StratusFiles

/// What lies behind a place where the groups of a segment stop being whole.
struct TailEvidence: Equatable {
    /// Nothing but zeros.
    var isZero = true
    /// Behind the last byte that is not zero.
    var end: JournalOffset
    /// A whole group frame, and one that says that the place was durable.
    var hasLaterGroup = false
    var saysDurable = false
    /// A whole frame of the group that is not.
    var hasLaterFrame = false
    /// At the place itself, a whole frame of another segment's life.
    var isStale = false
}

extension TailEvidence {
    /// Looks through everything from `place` to the end of the segment.
    ///
    /// - Parameter others: segments whose frames old blocks may hold.
    init(
        behind place: JournalOffset, in file: any StorageFile, of segment: Manifest.Segment,
        others: [Manifest.Segment]
    ) throws(StorageError) {
        end = place
        let start = place.bytes(since: segment.base)
        let header = try file.read(
            start..<max(start, min(start + FrameFormat.greatestHeaderLength, file.length)))
        isStale = others.contains { other in
            let offset = other.base.advanced(byBytes: start)
            let frame = try? FrameHeader(
                header.span, at: 0, end: .max, offset: offset, salt: other.salt)
            return frame != nil
        }
        let search = FrameSearch(file: file, segment: segment)
        var found = self
        try search.forEachPlace(from: place, before: segment.limit) { here in
            found.isZero = false
            found.end = here.offset.advanced(byBytes: JournalOffset.unit)
            if here.offset > place { found.note(here, behind: place) }
            return true
        }
        self = found
    }

    private mutating func note(_ here: FrameSearch.Place, behind place: JournalOffset) {
        guard let frame = here.frame else { return }
        if frame.kind == .group {
            guard let group = here.group else { return }
            hasLaterGroup = true
            if group.durableThrough > place { saysDurable = true }
        } else if !hasLaterGroup {
            hasLaterFrame = true
        }
    }
}
