internal import StratusBytes
internal import StratusFiles

/// Looks for frames of a segment where its groups stop being whole: at every place, since nothing
/// tells where they begin.
struct FrameSearch {
    /// What lies at a place that does not begin with eight zeros.
    struct Place {
        var offset: JournalOffset
        /// A frame's header for just this place.
        var frame: FrameHeader?
        /// What a group frame says that is whole.
        var group: GroupHeader?
    }

    let file: any StorageFile
    let segment: Manifest.Segment

    /// The most that is read at once; reads overlap by a group frame.
    private static let readLength = 1 << 20

    /// Gives `body` the places from `start` on and before `end`, until it returns false.
    func forEachPlace(
        from start: JournalOffset, before end: JournalOffset, _ body: (Place) -> Bool
    ) throws(StorageError) {
        let end = min(end.bytes(since: segment.base), file.length & ~(JournalOffset.unit - 1))
        var position = start.bytes(since: segment.base)
        while position < end {
            let next = min(position + Self.readLength, end)
            let bytes = try file.read(position..<min(next + GroupHeader.frameLength, end))
            let span = bytes.span
            for place in stride(from: 0, to: next - position, by: JournalOffset.unit) {
                // Zeros are the usual case, and no frame begins with them.
                if span.uint64(at: place) == 0 { continue }
                let offset = segment.base.advanced(byBytes: position + place)
                if !body(self.place(at: offset, span, place)) { return }
            }
            position = next
        }
    }

    /// The first whole group behind `place`, and the chain before it.
    func nextGroup(
        behind place: JournalOffset, before end: JournalOffset
    ) throws(StorageError) -> (offset: JournalOffset, chain: UInt64)? {
        var found: (offset: JournalOffset, chain: UInt64)?
        try forEachPlace(from: place, before: end) { here in
            guard here.offset > place, let group = here.group else { return true }
            found = (here.offset, group.chain)
            return false
        }
        return found
    }

    /// A frame whose header is whole.
    struct Frame {
        var offset: JournalOffset
        var header: FrameHeader
        /// Nil where its payload is not whole.
        var entry: JournalEntry?
    }

    /// The frames at `start` and behind it whose headers are whole, though their group is not. Group
    /// frames are left out where they are whole.
    func frames(
        from start: JournalOffset, before end: JournalOffset
    ) throws(StorageError) -> [Frame] {
        var frames: [Frame] = []
        try forEachPlace(from: start, before: end) { here in
            if let header = here.frame, here.group == nil {
                frames.append(Frame(offset: here.offset, header: header))
            }
            return true
        }
        for place in frames.indices {
            let (offset, header) = (frames[place].offset, frames[place].header)
            let start = offset.bytes(since: segment.base)
            guard header.kind != .group, offset.advanced(byBytes: header.frameLength) <= end
            else { continue }
            let bytes = try file.read(start..<start + header.frameLength)
            guard (try? header.verifyPayload(bytes.span, at: 0)) != nil else { continue }
            frames[place].entry = JournalEntry(
                offset: offset, header: header, source: .segment(segment.base), place: 0,
                bytes: bytes)
        }
        return frames
    }

    /// The frames behind `place` that are whole, though their group is not.
    func wholeFrames(
        behind place: JournalOffset, before end: JournalOffset
    ) throws(StorageError) -> [JournalEntry] {
        try frames(from: place.next, before: end).compactMap(\.entry)
    }

    private func place(at offset: JournalOffset, _ bytes: Span<UInt8>, _ start: Int) -> Place {
        var found = Place(offset: offset)
        found.frame = try? FrameHeader(
            bytes, at: start, end: .max, offset: offset, salt: segment.salt)
        guard let frame = found.frame, frame.kind == .group,
            (try? frame.verifyPayload(bytes, at: start)) != nil
        else { return found }
        let payload = start + FrameFormat.headerLength
        found.group = try? GroupHeader(
            bytes.extracting(payload..<payload + frame.payloadLength))
        return found
    }
}
