internal import StratusBytes
internal import StratusJournal
internal import StratusEngine

extension JournalEntry {
    /// The head of the record that the entry holds, and where its fields begin.
    func recordHead() throws(EngineError) -> (head: RecordHead, fields: ByteCursor) {
        do throws(FormatError) {
            var cursor = ByteCursor(at: payloadRange.lowerBound)
            let head = try RecordHead(
                bytes.span.extracting(0..<payloadRange.upperBound), &cursor)
            return (head, cursor)
        } catch {
            throw .damaged(self)
        }
    }

    /// The name of the record that the entry holds; nil where it cannot be read.
    var recordName: String? {
        withPayload { bytes in
            var cursor = ByteCursor()
            return try? RecordHead(bytes, &cursor).name(in: bytes)
        }
    }

    /// Of the entry of a root, which begins with `head`: the name of its share's record.
    func shareRecordName(_ head: RecordHead) throws(EngineError) -> String? {
        do throws(FormatError) {
            let bytes = bytes
            return try head.shareRecord(in: bytes.span)
        } catch {
            throw .damaged(self)
        }
    }

    /// The tombstone of the record that the entry holds, which has all of its links. The values of
    /// the fields need not make sense, so that a damaged record can be deleted.
    func tombstone(
        by author: Author, now: Int64, _ reading: StoreReading
    ) throws(EngineError) -> Tombstone {
        let schema = reading.schema
        let (head, fields) = try recordHead()
        guard schema.name(head.type) != nil else { throw .damaged(self) }
        let span = bytes.span.extracting(0..<payloadRange.upperBound)
        do throws(FormatError) {
            var tombstone = Tombstone(
                type: head.type, name: try head.name(in: span), previous: version, by: author,
                deleted: max(now, head.modified + 1))
            tombstone.replacedLength = payloadRange.count
            tombstone.assetBytes = head.assetBytes
            tombstone.parent = try head.parent(in: span)
            if head.hasCascadeLinks { tombstone.cascadeLinks = try cascadeLinks(from: fields) }
            let indexes = reading.indexes.of(type: head.type)
            if !indexes.isEmpty, let stored = try? storedFields(at: fields) {
                tombstone.indexRows = try IndexStatement(
                    allOf: head, stored, indexes, isRemoved: true)
            }
            return tombstone
        } catch {
            throw .damaged(self)
        }
    }

    /// The fields of the record that the entry holds, which begin at `fields`.
    func storedFields(at fields: ByteCursor) throws(FormatError) -> StoredFields {
        try StoredFields(bytes, at: fields, end: payloadRange.upperBound, schema: nil)
    }

    /// The cascade links of the record that the entry holds, whose fields begin at `fields`.
    func cascadeLinks(from fields: ByteCursor) throws(FormatError) -> [CascadeLink] {
        let span = bytes.span.extracting(0..<payloadRange.upperBound)
        var links: [CascadeLink] = []
        try ReferenceFields.forEachCascadeLink(span, at: fields) { field, place in
            if let target = span.text(in: place) {
                links.append(CascadeLink(field: field, target: target))
            }
        }
        return CascadeLink.list(links)
    }
}
