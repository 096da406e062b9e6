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
    package private(set) var type: UInt32 = 0
    package private(set) var fields: StoredFields?

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
        type = head.type
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
        let name: Hash128
        let stated: Version
        do throws(FormatError) {
            if header.kind == .tombstone {
                let tombstone = try tombstone(payload)
                (name, stated) = (tombstone.name, tombstone.entry.previous)
            } else {
                let record = try record(payload)
                (name, stated) = (record.name, record.head.previous)
            }
        } catch {
            return
        }
        let held: EntryLocation?
        do throws(IndexError) {
            held = try index.value(of: .record(zone, name), .blocking).map { EntryLocation($0) }
        } catch {
            throw JournalError(error)
        }
        if held?.version ?? .none == stated { return }
        guard let held, !held.isDeleted else {
            return stand(held.map { Standing($0) } ?? Standing())
        }
        let entry = try view.entry(at: held.offset, frameLength: held.frameLength)
        do throws(FormatError) {
            stand(try Standing(entry, secret: secret))
        } catch {
            throw JournalError(entry.damage(JournalDamage.Kind(error)))
        }
    }
}

extension FoldedEntry {
    /// Finds the records of an entry of built rows that are not, or no longer, there in the version
    /// that it names. Fails where the index cannot be read.
    package mutating func compareBuiltRows(
        _ payload: Span<UInt8>, with index: OrderedIndex
    ) throws(JournalError) {
        // That the payload has no meaning is found by the projection, too.
        guard let rows = try? BuiltRowsEntry(payload) else { return }
        do throws(IndexError) {
            for record in rows.records {
                let held = try index.value(of: .record(zone, record.name), .blocking)
                    .map { EntryLocation($0) }
                if held?.version != record.version { outdate(record.name) }
            }
        } catch {
            throw JournalError(error)
        }
    }
}
