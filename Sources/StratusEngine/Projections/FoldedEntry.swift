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
    /// Whether the record or the tombstone says anything of shares; nil: it is not decoded yet.
    private var statesShares: Bool?
    /// What stands in the place of what the entry says that it replaces; nil: just that.
    private var standing: Standing?
    /// The names whose records have other versions than the entry says of them.
    private var outdated: Set<Hash128> = []
    /// The memberships of records that are others than the entry says of them.
    private var standingMemberships: [Hash128: ShareMembership] = [:]

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

    /// Says what stands in the place of what the entry says that it replaces.
    mutating func stand(_ standing: Standing) {
        self.standing = standing
        foldedRecord?.standing = standing
        foldedTombstone?.standing = standing
    }

    mutating func outdate(_ name: Hash128) { outdated.insert(name) }
    func isOutdated(_ name: Hash128) -> Bool { outdated.contains(name) }

    mutating func stand(_ membership: ShareMembership, of name: Hash128) {
        standingMemberships[name] = membership
    }
    func standingMembership(of name: Hash128) -> ShareMembership? { standingMemberships[name] }

    package func hash(_ name: Span<UInt8>) -> Hash128 { Hash128(name, seed: secret) }
    package func hash(_ name: String) -> Hash128 { Hash128(name, seed: secret) }

    package mutating func record(_ payload: Span<UInt8>) throws(FormatError) -> FoldedRecord {
        if let foldedRecord { return foldedRecord }
        var cursor = ByteCursor()
        let head = try RecordHead(payload, &cursor)
        let record = FoldedRecord(
            head: head, name: hash(payload.extracting(head.name)), fields: cursor,
            standing: standing)
        foldedRecord = record
        statesShares = head.concernsShares
        return record
    }

    package mutating func tombstone(_ payload: Span<UInt8>) throws(FormatError) -> FoldedTombstone {
        if let foldedTombstone { return foldedTombstone }
        let entry = try Tombstone(payload)
        let tombstone = FoldedTombstone(entry: entry, name: hash(entry.name), standing: standing)
        foldedTombstone = tombstone
        statesShares = entry.membership != nil
        return tombstone
    }

    /// Whether a record or a tombstone says anything of shares, or takes the place of a member of
    /// one. Most do not, and this copies nothing of them.
    mutating func concernsShares(_ payload: Span<UInt8>) throws(FormatError) -> Bool {
        if statesShares == nil {
            if header.kind == .tombstone {
                _ = try tombstone(payload)
            } else {
                _ = try record(payload)
            }
        }
        return statesShares == true || standing?.membership != nil
    }
}

/// An object, since each projection takes it and its head is long.
package final class FoldedRecord {
    package let head: RecordHead
    /// Of the record's name.
    package let name: Hash128
    /// Where the field table begins.
    package let fields: ByteCursor
    /// Nil where what it replaces is what it says.
    package fileprivate(set) var standing: Standing?

    fileprivate init(head: RecordHead, name: Hash128, fields: ByteCursor, standing: Standing?) {
        self.head = head
        self.name = name
        self.fields = fields
        self.standing = standing
    }

    /// The version that it replaces; none: there is none.
    package var previous: Version { standing?.version ?? head.previous }
    /// Whether it replaces a record, and not a tombstone or nothing.
    package var replacesRecord: Bool { standing?.isRecord ?? head.isUpdate }
    /// The payload of the record that it replaces, in bytes.
    package var replacedLength: Int { standing?.length ?? head.replacedLength }
    /// What the assets of that record had, in bytes; nil: there were none.
    package var replacedAssetBytes: Int? {
        if let standing { standing.assetBytes } else { head.formerAssetBytes }
    }
    /// Whether parent and type are those of what it replaces unless it says otherwise.
    package var isDifference: Bool { standing == nil && head.isUpdate }
}

package struct FoldedTombstone {
    package var entry: Tombstone
    /// Of the record's name.
    package var name: Hash128
    /// Nil where what it deletes is what it says.
    package var standing: Standing?

    /// The version that it replaces; none: there is none.
    package var previous: Version { standing?.version ?? entry.previous }
    /// Whether there was a record.
    package var deletesRecord: Bool { standing?.isRecord ?? (entry.previous != .none) }
    /// What that record took, as quotas count it.
    package var takenBytes: Int {
        standing.map { $0.length + ($0.assetBytes ?? 0) } ?? entry.takenBytes
    }
    package var deletesAssets: Bool { (standing?.assetBytes ?? entry.assetBytes) != nil }
}
