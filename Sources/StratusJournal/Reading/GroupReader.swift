internal import StratusBytes
package import StratusFiles

/// A group as it was read, with every frame verified.
package struct JournalGroup: Sendable {
    package var offset: JournalOffset
    package var header: GroupHeader
    /// The frames behind the group frame.
    package var frames: [JournalEntry]
    /// The chain after this group.
    package var chain: UInt64
    /// The payload checksums of all frames, the group frame's first.
    package var payloadChecksums: [UInt64]

    package var end: JournalOffset { offset.advanced(byBytes: header.lengthInBytes) }
}

/// A group is not whole.
struct GroupFault: Error {
    var damage: JournalDamage
    /// The group as far as it is whole: nil where the group frame itself is not.
    var part: JournalGroup?
}

/// Reads the groups of one segment, in order; reads 1 MiB at a time, and less where it passes over groups.
package struct GroupReader {
    let file: any StorageFile
    let base: JournalOffset
    let salt: UInt64
    /// No group reaches beyond; may grow while a writer goes on.
    package var limit: JournalOffset
    /// The next group begins here.
    package private(set) var position: JournalOffset
    /// The chain over all groups before.
    package private(set) var chain: UInt64
    package private(set) var epoch: UInt32 = 0
    /// Up to where the last group says that the journal was durable.
    private(set) var statedDurable = JournalOffset.zero
    private var window: [UInt8] = []
    private var windowStart = 0
    private static let windowLength = 1 << 20
    /// Of what is read ahead where groups are passed over, in bytes.
    private static let leastPeek = 4 << 10

    package init(
        _ file: any StorageFile, base: JournalOffset, salt: UInt64, limit: JournalOffset,
        at position: JournalOffset, chain: UInt64
    ) {
        self.file = file
        self.base = base
        self.salt = salt
        self.limit = limit
        self.position = position
        self.chain = chain
    }

    /// Forgets what was read ahead, since a writer may have written there.
    package mutating func refresh() { window = [] }

    /// Whether the next group is whole now, read anew.
    var findsGroup: Bool {
        var reader = self
        reader.refresh()
        return (try? reader.next()) != nil
    }

    /// Goes on at the group that begins at `offset`, before or behind what was read.
    mutating func resume(at offset: JournalOffset, chain: UInt64) {
        position = offset
        self.chain = chain
        refresh()
    }

    /// The next group; nothing has moved where it is not whole.
    mutating func next() throws -> JournalGroup {
        let offset = position
        let place = try load(GroupHeader.frameLength, at: offset)
        let frame = try frame(at: place, offset: offset, limit: place + limit.bytes(since: offset))
        guard frame.kind == .group else { throw fault(.group("kind"), at: offset) }
        guard let header = groupHeader(at: place, of: frame),
            header.lengthInBytes <= limit.bytes(since: offset),
            header.durableThrough <= offset, header.epoch >= epoch
        else { throw fault(.group("fields"), at: offset) }
        guard header.chain == chain else { throw fault(.chain, at: offset) }
        let start = try load(header.lengthInBytes, at: offset)
        var group = JournalGroup(
            offset: offset, header: header, frames: [], chain: chain,
            payloadChecksums: [frame.payloadChecksum])
        group.frames.reserveCapacity(Int(min(header.frameCount, 1 << 16)))
        try readFrames(of: &group, from: start + frame.frameLength)
        group.chain = Chain.after(chain, payloadChecksums: group.payloadChecksums)
        position = group.end
        chain = group.chain
        epoch = header.epoch
        statedDurable = header.durableThrough
        return group
    }

    /// Up to where the groups from here on say that the journal is durable: everything before is
    /// there whole, whatever happens to the machine.
    mutating func durableThrough() throws -> JournalOffset {
        var end = position
        var offset = position
        while let header = try peek(at: offset) {
            end = max(end, header.durableThrough)
            offset = offset.advanced(byBytes: header.lengthInBytes)
        }
        return end
    }

    /// Goes on to the group that holds `offset`, or to the last one before it that is whole,
    /// without reading what lies between.
    mutating func skip(to offset: JournalOffset) throws {
        while let header = try peek(at: position) {
            chain = header.chain
            epoch = header.epoch
            let end = position.advanced(byBytes: header.lengthInBytes)
            if end > offset { return }
            position = end
        }
    }

    /// Where the next group begins, which is passed over; nil where none is whole.
    mutating func skipGroup() throws(StorageError) -> JournalOffset? {
        guard let header = try peek(at: position) else { return nil }
        defer { position = position.advanced(byBytes: header.lengthInBytes) }
        return position
    }

    /// What the group frame at `offset` says, where a whole one lies there.
    mutating func peek(at offset: JournalOffset) throws(StorageError) -> GroupHeader? {
        guard offset.advanced(byBytes: GroupHeader.frameLength) <= limit else { return nil }
        let place = try load(GroupHeader.frameLength, at: offset, ahead: peekLength(at: offset))
        guard
            let frame = try? frame(
                at: place, offset: offset, limit: place + limit.bytes(since: offset)),
            frame.kind == .group
        else { return nil }
        return groupHeader(at: place, of: frame)
    }

    private func readFrames(of group: inout JournalGroup, from start: Int) throws {
        let groupStart = start - GroupHeader.frameLength
        let end = groupStart + group.header.lengthInBytes
        var place = start
        while place < end {
            let offset = group.offset.advanced(byBytes: place - groupStart)
            do {
                let frame = try frame(at: place, offset: offset, limit: end)
                guard frame.kind != .group else { throw fault(.group("kind"), at: offset) }
                group.payloadChecksums.append(frame.payloadChecksum)
                group.frames.append(
                    JournalEntry(
                        offset: offset, header: frame, source: .segment(base), place: place,
                        bytes: window))
                place += frame.frameLength
            } catch let fault as GroupFault {
                throw GroupFault(damage: fault.damage, part: group)
            }
        }
        guard group.frames.count == group.header.frameCount else {
            throw GroupFault(
                damage: damage(.group("frameCount"), at: group.offset), part: group)
        }
    }

    private func groupHeader(at place: Int, of frame: FrameHeader) -> GroupHeader? {
        let start = place + FrameFormat.headerLength
        return try? GroupHeader(window.span.extracting(start..<start + frame.payloadLength))
    }

    private func frame(
        at place: Int, offset: JournalOffset, limit: Int
    ) throws(GroupFault) -> FrameHeader {
        do {
            let header = try FrameHeader(
                window.span, at: place, end: limit, offset: offset, salt: salt)
            try header.verifyPayload(window.span, at: place)
            return header
        } catch {
            throw GroupFault(damage: damage(.frame(error), at: offset))
        }
    }

    /// How much to read for a look at a group: little behind a long group, whose frames are not wanted,
    /// and twice as much each time where groups are short and follow in what is read.
    private func peekLength(at offset: JournalOffset) -> Int {
        let gap = offset.bytes(since: base) - (windowStart + window.count)
        guard (-window.count...window.count).contains(gap) else { return Self.leastPeek }
        return min(max(2 * window.count, Self.leastPeek), Self.windowLength)
    }

    /// Makes sure that `count` bytes from `offset` on, or as many as there are before the limit,
    /// lie in the window; returns their place in it.
    private mutating func load(
        _ count: Int, at offset: JournalOffset, ahead: Int = windowLength
    ) throws(StorageError) -> Int {
        let start = offset.bytes(since: base)
        let end = min(start + count, limit.bytes(since: base))
        if start < windowStart || end > windowStart + window.count {
            let wanted = max(end, min(start + ahead, limit.bytes(since: base)))
            window = try file.read(start..<wanted)
            windowStart = start
        }
        return start - windowStart
    }

    private func fault(_ kind: JournalDamage.Kind, at offset: JournalOffset) -> GroupFault {
        GroupFault(damage: damage(kind, at: offset))
    }

    private func damage(_ kind: JournalDamage.Kind, at offset: JournalOffset) -> JournalDamage {
        JournalDamage(
            kind, file: file.name, byte: offset.bytes(since: base), offset: offset)
    }
}
