internal import StratusAssets
package import StratusBytes
internal import StratusFiles
package import StratusIndex
package import StratusJournal

/// What a fold holds under the name of an entry, where that is not what the entry says that it
/// replaces: of the versions between them none was kept.
///
/// All that the standing entry had added is taken away, and the new one adds itself whole, so that
/// the state is what it would be had every version been given.
///
/// A class, since every entry that is folded has room for one, and almost none has one.
package final class Standing {
    /// None: nothing stands there.
    package private(set) var version = Version.none
    /// Whether it is a record and not a tombstone.
    package private(set) var isRecord = false
    /// Of a record's payload, in bytes.
    package private(set) var length = 0
    package private(set) var assetBytes: Int?
    package private(set) var parent: Hash128?
    /// Field and target of each link.
    package private(set) var cascadeLinks: [(field: UInt32, target: Hash128)] = []
    /// Of a record.
    package private(set) var head: RecordHead?
    package private(set) var fields: StoredFields?
    /// Of a record: its membership in a share, as the index has it; nil: it is in none.
    package fileprivate(set) var membership: ShareMembership?

    fileprivate init() {}

    fileprivate init(_ location: EntryLocation) { version = location.version }

    fileprivate init(_ entry: JournalEntry, secret: UInt64) throws(FormatError) {
        version = entry.version
        isRecord = true
        length = entry.header.payloadLength
        let payload = entry.payload
        let span = payload.span
        var cursor = ByteCursor()
        let head = try RecordHead(span, &cursor)
        assetBytes = head.assetBytes
        self.head = head
        // What cannot be read has no rows in indexes, and is damage where it is asked for.
        fields = try? StoredFields(payload, at: cursor, end: payload.count, schema: nil)
        if let place = head.parent { parent = Hash128(span.extracting(place), seed: secret) }
        guard head.hasCascadeLinks else { return }
        var links: [(field: UInt32, target: Hash128)] = []
        try ReferenceFields.forEachCascadeLink(span, at: cursor) { field, place in
            links.append((field, Hash128(span.extracting(place), seed: secret)))
        }
        cascadeLinks = links
    }
}

extension FoldedEntry {
    /// Compares what a record or tombstone says that it replaces with what the index holds. Fails
    /// where the index or the journal cannot be read.
    package mutating func compare(
        _ payload: Span<UInt8>, with index: OrderedIndex, _ view: JournalView
    ) throws(JournalError) {
        // That the payload has no meaning is found by the projections, too.
        guard let stated = try? replaced(payload) else { return }
        let held = try location(of: stated.name, in: index)
        let isVersion = held?.version ?? .none == stated.version
        // What says nothing of shares replaces a version that is in none.
        if isVersion, !stated.concernsShares { return }
        guard let held, !held.isDeleted else {
            if !isVersion { stand(held.map { Standing($0) } ?? Standing()) }
            return
        }
        let member = try membership(of: stated.name, in: index)
        if isVersion, member.isSame(as: stated.membership) { return }
        let entry = try view.entry(at: held.offset, frameLength: held.frameLength)
        do throws(FormatError) {
            let standing = try Standing(entry, secret: secret)
            standing.membership = member
            stand(standing)
        } catch {
            throw JournalError(entry.damage(JournalDamage.Kind(error)))
        }
    }

    /// What a record or tombstone says that it replaces.
    private struct Replaced {
        var name: Hash128
        var version: Version
        var membership: ShareMembership?
        /// Whether it says anything of the membership of a version that is there.
        var concernsShares: Bool
    }

    private mutating func replaced(_ payload: Span<UInt8>) throws(FormatError) -> Replaced {
        if header.kind == .tombstone {
            let tombstone = try tombstone(payload)
            let membership = tombstone.entry.membership
            return Replaced(
                name: tombstone.name, version: tombstone.entry.previous, membership: membership,
                concernsShares: membership != nil)
        }
        let record = try record(payload)
        return Replaced(
            name: record.name, version: record.head.previous,
            membership: record.head.replacedMembership,
            concernsShares: record.head.isUpdate && record.head.concernsShares)
    }

    private func location(
        of name: Hash128, in index: OrderedIndex
    ) throws(JournalError) -> EntryLocation? {
        do throws(IndexError) {
            return try index.value(of: .record(zone, name), .blocking).map { EntryLocation($0) }
        } catch {
            throw JournalError(error)
        }
    }

    private func membership(
        of name: Hash128, in index: OrderedIndex
    ) throws(JournalError) -> ShareMembership? {
        do throws(IndexError) {
            return try index.value(of: .member(zone, name), .blocking)
                .map { ShareMembership($0) }
        } catch {
            throw JournalError(error)
        }
    }
}

extension ShareMembership? {
    /// Whether both are the same membership, or none: share 0 is none.
    fileprivate func isSame(as other: ShareMembership?) -> Bool {
        if self?.share ?? 0 == 0 { return other?.share ?? 0 == 0 }
        return self == other
    }
}

extension FoldedEntry {
    /// Finds the records of a members entry that are not, or no longer, there in the version that
    /// it names, and those that are in another share than it says that they leave. Fails where the
    /// index cannot be read.
    package mutating func compareMembers(
        _ payload: Span<UInt8>, with index: OrderedIndex
    ) throws(JournalError) {
        // That the payload has no meaning is found by the projection, too.
        guard let members = try? MembersEntry(payload) else { return }
        for item in members.items {
            let name = hash(item.name)
            let held = try location(of: name, in: index)
            guard let held, held.version == item.version else {
                outdate(name)
                continue
            }
            let stated = members.formerMembership(of: item)
            if let member = try membership(of: name, in: index), member != stated {
                stand(member, of: name)
            }
        }
    }

    /// Finds the records of an entry of built rows that are not, or no longer, there in the version
    /// that it names. Fails where the index cannot be read.
    package mutating func compareBuiltRows(
        _ payload: Span<UInt8>, with index: OrderedIndex
    ) throws(JournalError) {
        // That the payload has no meaning is found by the projection, too.
        guard let rows = try? BuiltRowsEntry(payload) else { return }
        for record in rows.records {
            let held = try location(of: record.name, in: index)
            if held?.version != record.version { outdate(record.name) }
        }
    }
}
