// The chain at earlier places, by which the histories of two journals are compared.
extension JournalView {
    /// The chain right before `offset`, at which no commit is open; nil amid what was compacted, of
    /// which it is not known any more.
    ///
    /// - Throws: ``JournalError/historyChanged`` where the journal has no such place: it lies in a gap.
    package func chain(before offset: JournalOffset) throws(JournalError) -> UInt64? {
        if let chain = try chainAtEdge(before: offset) { return chain }
        guard let segment = segment(at: offset.previous)?.listed, !segment.isCompacted else {
            return nil
        }
        var groups = try EndedGroups(of: segment, in: self, head: offset)
        while try groups.next() != nil {}
        return groups.chain
    }

    /// The same where a segment begins or ends; nil amid one.
    func chainAtEdge(before offset: JournalOffset) throws(JournalError) -> UInt64? {
        // A checkpoint lies there where a segment was begun for what follows it.
        if let begun = segments.first(where: { $0.first == offset })?.listed, !begun.isCompacted {
            return begun.chainBefore
        }
        guard let segment = segment(at: offset.previous)?.listed else { throw .historyChanged }
        let next = segments.first { $0.base == offset }?.listed
        return segment.end == offset ? segment.chainAtEnd : next?.chainBefore
    }
}

extension Manifest.Segment {
    /// The chain that leads to it, which passes by what holds nothing.
    var chainBefore: UInt64 { isEmpty ? chainAtEnd : chainAtStart }
}
