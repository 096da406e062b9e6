internal import StratusFiles

/// The groups of a segment whose end is known, one after the other.
struct EndedGroups {
    private let segment: Manifest.Segment
    private let end: JournalOffset
    private var reader: GroupReader
    /// Over what was given.
    private(set) var chain: UInt64
    private var isEnded: Bool

    /// Up to the end that the manifest states, or to `head`, where a commit ends, if that lies
    /// before it; of the active segment, of which the manifest does not know the end, up to `head`.
    init(
        of segment: Manifest.Segment, in view: JournalView, head: JournalOffset
    ) throws(JournalError) {
        self.segment = segment
        end = segment.state == .active ? head : min(head, segment.end)
        reader = GroupReader(
            try view.files.file(of: segment, .blocking), base: segment.base, salt: segment.salt,
            limit: segment.limit, at: segment.firstGroup, chain: segment.chainAtStart)
        chain = segment.chainAtStart
        isEnded = segment.isEmpty
    }

    /// The next group, and of its frames those that lie before the end; nil behind the last one.
    /// Fails where a group is damaged, and where the chain does not lead where the manifest says.
    mutating func next() throws(JournalError) -> (JournalGroup, ArraySlice<JournalEntry>)? {
        if isEnded { return nil }
        guard reader.position < end else {
            isEnded = true
            guard chain == segment.chainAtEnd || segment.state == .active || end < segment.end
            else {
                throw JournalError(JournalDamage(.chain, file: segment.fileName, byte: 0))
            }
            return nil
        }
        let group = try readGroup()
        let frames = group.frames.prefix { $0.offset < end }
        chain = Chain.after(
            group.header.chain,
            payloadChecksums: Array(group.payloadChecksums[0...frames.count]))
        return (group, frames)
    }

    private mutating func readGroup() throws(JournalError) -> JournalGroup {
        do {
            return try reader.next()
        } catch let fault as GroupFault {
            // The group in which a stated end lies need not be whole behind it.
            guard let part = fault.part, fault.damage.offset ?? .zero >= end else {
                throw JournalError(fault.damage)
            }
            reader.resume(at: end, chain: segment.chainAtEnd)
            return part
        } catch let error as StorageError {
            throw .storage(error)
        } catch {
            throw .storage(StorageError(.inputOutput, file: segment.fileName))
        }
    }
}
