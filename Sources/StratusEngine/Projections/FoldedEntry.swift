package import StratusBytes
package import StratusIndex
package import StratusJournal

/// An entry as the fold gives it to projections. Its head is decoded once for all of them.
package struct FoldedEntry: ~Copyable {
    package let header: FrameHeader
    package let offset: JournalOffset
    /// Seeds the hashes of names.
    package let secret: UInt64
    private var foldedRecord: FoldedRecord?
    private var foldedTombstone: FoldedTombstone?

    package init(_ header: FrameHeader, at offset: JournalOffset, secret: UInt64) {
        self.header = header
        self.offset = offset
        self.secret = secret
    }

    package var zone: UInt32 { header.zone }
    /// Of what the index keeps of the entry.
    package var stamp: UInt64 { offset.rawValue }

    /// The entry as what the index finds.
    package func location(isDeleted: Bool = false) -> IndexValue {
        EntryLocation(header, at: offset, isDeleted: isDeleted).value
    }

    package func hash(_ name: Span<UInt8>) -> Hash128 { Hash128(name, seed: secret) }
    package func hash(_ name: String) -> Hash128 { Hash128(name, seed: secret) }

    package mutating func record(_ payload: Span<UInt8>) throws(FormatError) -> FoldedRecord {
        if let foldedRecord { return foldedRecord }
        var cursor = ByteCursor()
        let head = try RecordHead(payload, &cursor)
        let record = FoldedRecord(
            head: head, name: hash(payload.extracting(head.name)), fields: cursor)
        foldedRecord = record
        return record
    }

    package mutating func tombstone(_ payload: Span<UInt8>) throws(FormatError) -> FoldedTombstone {
        if let foldedTombstone { return foldedTombstone }
        let entry = try Tombstone(payload)
        let tombstone = FoldedTombstone(entry: entry, name: hash(entry.name))
        foldedTombstone = tombstone
        return tombstone
    }
}

package struct FoldedRecord {
    package var head: RecordHead
    /// Of the record's name.
    package var name: Hash128
    /// Where the field table begins.
    package var fields: ByteCursor
}

package struct FoldedTombstone {
    package var entry: Tombstone
    /// Of the record's name.
    package var name: Hash128
}
