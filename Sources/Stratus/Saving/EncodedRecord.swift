internal import StratusAssets
internal import StratusBytes
internal import StratusEngine
internal import StratusJournal
internal import StratusLanguage

/// The fields of a record as its entry is to have them: what was sent, encoded, over what is kept of
/// the version that is replaced. One is used for all records of a batch, one after the other.
struct EncodedRecord {
    /// Where the value of a field comes from.
    private enum Source {
        /// The bytes of the version that is replaced.
        case stored(Range<Int>)
        /// What was encoded of the record at hand.
        case sent(Range<Int>)
    }

    private struct Field {
        var number: UInt32
        var kind: FieldKind
        var source: Source

        /// Of the encoded value, in bytes.
        var length: Int {
            switch source {
            case .stored(let range), .sent(let range): range.count
            }
        }

        var row: FieldTable.Row { FieldTable.Row(number: number, kind: kind, length: length) }
    }

    /// With the names that the batch itself brings, once these were written.
    var schema: Schema
    /// The zone, as subscriptions name it.
    let zone: AnchorZone
    /// In order of their numbers.
    private var fields: [Field] = []
    /// The values that were sent, encoded at once: a value is dear to look at twice.
    private var values = ByteWriter(capacity: 448)
    /// Of the version that is replaced.
    private var storedBytes: [UInt8] = []

    init(schema: Schema, zone: AnchorZone) {
        self.schema = schema
        self.zone = zone
    }

    /// Begins another record, of which about `count` fields are sent.
    mutating func begin(over stored: StoredFields?, count: Int) {
        fields.removeAll(keepingCapacity: true)
        values.removeAll()
        storedBytes = stored?.bytes ?? []
        fields.reserveCapacity(count + (stored?.count ?? 0))
    }

    /// Adds a field that was sent.
    mutating func add(_ number: UInt32, _ kind: FieldKind, _ value: RecordValue) {
        let start = values.count
        ValueFormat.write(value, to: &values)
        fields.append(Field(number: number, kind: kind, source: .sent(start..<values.count)))
    }

    /// Adds a field of the version that is replaced, whose value lies there at `range`.
    mutating func keep(_ number: UInt32, _ kind: FieldKind, _ range: Range<Int>) {
        fields.append(Field(number: number, kind: kind, source: .stored(range)))
    }

    /// Brings the fields in order, once all are there. By insertion: there are few, and they often
    /// come in order.
    mutating func sort() {
        guard fields.count < 32 else { return fields.sort { $0.number < $1.number } }
        for index in fields.indices.dropFirst() {
            var place = index
            while place > 0, fields[place].number < fields[place - 1].number {
                fields.swapAt(place, place - 1)
                place -= 1
            }
        }
    }

    /// Of all values, in bytes.
    var length: Int { fields.reduce(0) { $0 + $1.length } }

    var lengthWithoutAssets: Int { fields.reduce(0) { $1.kind.isAsset ? $0 : $0 + $1.length } }

    /// Writes a field table with its values, which must fit an entry.
    func write(to writer: inout ByteWriter) {
        FieldTable.write(count: fields.count, to: &writer) { fields[$0].row }
        for field in fields {
            switch field.source {
            case .stored(let range): writer.append(storedBytes.span.extracting(range))
            case .sent(let range): writer.append(values.bytes.span.extracting(range))
            }
        }
    }

    /// The references among the fields that act: those with the action deleteSelf, and the targets
    /// of those that were sent with the action validate.
    func references() throws(FormatError) -> (cascadeLinks: [CascadeLink], validated: [String]) {
        guard fields.contains(where: { $0.kind.element == .reference }) else { return ([], []) }
        return try readReferences()
    }

    private func readReferences() throws(FormatError) -> (
        cascadeLinks: [CascadeLink], validated: [String]
    ) {
        var cascadeLinks: [CascadeLink] = []
        var validated: [String] = []
        for field in fields where field.kind.element == .reference {
            let value = value(field)
            let bytes = value.bytes
            try ReferenceFields.forEach(bytes.span, in: value.range, field.kind) { action, place in
                guard action == .deleteSelf || (action == .validate && !value.isKept),
                    let target = bytes.span.text(in: place)
                else { return }
                if action == .validate { return validated.append(target) }
                cascadeLinks.append(CascadeLink(field: field.number, target: target))
            }
        }
        return (cascadeLinks.count < 2 ? cascadeLinks : CascadeLink.list(cascadeLinks), validated)
    }

    /// How the rows of these indexes, which are those of the record's type, change: the entry will have
    /// that head, and the version that is replaced has the other one and the fields `stored`.
    func indexRows(
        _ indexes: [FieldIndex], _ head: RecordHead, over former: RecordHead?,
        _ stored: StoredFields?
    ) throws(EngineError) -> IndexStatement {
        var rows = IndexStatement()
        if indexes.isEmpty { return rows }
        do throws(FormatError) {
            for index in indexes {
                var old: [IndexedValue] = []
                if let former, let stored {
                    guard
                        changes(index.field, of: stored)
                            || index.leading.contains(where: { changes($0, of: stored) })
                    else { continue }
                    old = try index.values(of: former, stored)
                }
                let new = try index.values {
                    head.encodedValue(ofColumn: $0) ?? encodedValue(of: $0)
                }
                rows.add(index, old: old, new: new)
            }
        } catch {
            throw .refused(.internalError, "a value of an index cannot be read")
        }
        return rows
    }

    /// Whether a column may have another value: a field that was sent, or is taken away.
    private func changes(_ number: UInt32, of stored: StoredFields) -> Bool {
        if let field = SystemField(column: number) { return field.changes }
        guard let field = fields.first(where: { $0.number == number }) else {
            return stored.field(number) != nil
        }
        if case .sent = field.source { return true }
        return false
    }

    /// How many bytes the assets of the record have together; nil where there are none.
    func assetBytes() throws(EngineError) -> Int? {
        var total: Int?
        for field in fields where field.kind.isAsset {
            let value = value(field)
            do throws(FormatError) {
                let length = try AssetFields.length(value.bytes.span, in: value.range, field.kind)
                total = (total ?? 0) + length
            } catch {
                throw .refused(.internalError, "an asset of the record cannot be read")
            }
            guard total ?? 0 < AssetContent.lengthLimit else {
                throw .refused(.limitExceeded, "the assets of the record are too long")
            }
        }
        return total
    }
}

extension EncodedRecord: EncodedFields {
    func encodedValue(of number: UInt32) -> EncodedValue? {
        fields.first { $0.number == number }.map { value($0) }
    }

    var encodedValues: [EncodedValue] { fields.map { value($0) } }

    private func value(_ field: Field) -> EncodedValue {
        switch field.source {
        case .stored(let range):
            EncodedValue(kind: field.kind, bytes: storedBytes, range: range, isKept: true)
        case .sent(let range): EncodedValue(kind: field.kind, bytes: values.bytes, range: range)
        }
    }
}
