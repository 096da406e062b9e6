internal import StratusAssets
internal import StratusBytes
internal import StratusJournal
internal import StratusEngine

/// Turns the fields of records, one record after the other, into field tables and values.
///
/// Most records of a batch have the same fields in the same order: their numbers, once looked up,
/// are kept as a shape and only compared for the next one.
struct FieldEncoder {
    let batch: RecordBatch
    var numbers: NumberAssignment

    /// Where the value of a field comes from.
    fileprivate enum Source {
        /// The bytes of the version that is replaced.
        case stored(Range<Int>)
        /// What was encoded of the record at hand.
        case sent(Range<Int>)
    }

    fileprivate struct Field {
        var number: UInt32
        var kind: FieldKind
        var source: Source

        /// Of the encoded value, in bytes.
        var length: Int {
            switch source {
            case .stored(let range), .sent(let range): range.count
            }
        }

        func value(sent: [UInt8], stored: [UInt8]) -> EncodedValue {
            switch source {
            case .stored(let range):
                EncodedValue(kind: kind, bytes: stored, range: range, isKept: true)
            case .sent(let range): EncodedValue(kind: kind, bytes: sent, range: range)
            }
        }

        var row: FieldTable.Row { FieldTable.Row(number: number, kind: kind, length: length) }
    }

    /// A field as the last record had it at the same place, with what was found out about it.
    private struct Known {
        var key: String
        var type: UInt32
        var kind: FieldKind
        var number: UInt32
    }

    /// Of the record at hand: its fields in order of their numbers, and what its caller sent.
    private var fields: [Field] = []
    private var sent: [FieldEdits.Edit] = []
    /// The numbers of the fields that the caller set or removed, where there was a version before.
    private var replaced: [UInt32] = []
    /// The values that were sent, encoded at once: a value is dear to look at twice.
    private var values = ByteWriter(capacity: 448)
    /// Of the version that is replaced.
    private var storedBytes: [UInt8] = []
    private var shape: [Known] = []
    private var type: (name: String, number: UInt32)?

    init(batch: RecordBatch, numbers: NumberAssignment) {
        self.batch = batch
        self.numbers = numbers
    }

    /// Collects the fields to write: what the caller sends over what there is. Returns the number
    /// of the record's type.
    mutating func prepare(
        _ record: Record, _ rule: SaveRule, over stored: StoredFields?
    ) throws(EngineError) -> UInt32 {
        let type = try number(ofType: record.recordType)
        sent = record.sent(rule.policy, isInsert: stored == nil)
        fields.removeAll(keepingCapacity: true)
        values.removeAll()
        storedBytes = stored?.bytes ?? []
        fields.reserveCapacity(sent.count + (stored?.count ?? 0))
        replaced.removeAll(keepingCapacity: true)
        for index in sent.indices {
            guard let value = sent[index].value else {
                // Removing a field whose name was never used assigns no number to the name.
                let known = try numbers.known(sent[index].key, ofType: record.recordType)
                if let known { replaced.append(known) }
                continue
            }
            let kind = try batch.kind(of: sent[index], value)
            guard let number = try number(at: index, type, kind) else { continue }
            if stored != nil { replaced.append(number) }
            let start = values.count
            ValueFormat.write(value, to: &values)
            fields.append(
                Field(number: number, kind: kind, source: .sent(start..<values.count)))
        }
        if let stored, !rule.replaces { keep(stored) }
        sortByNumber()
        if let limit = batch.limits?.profile.bytesPerRecord,
            fields.reduce(0, { $1.kind.isAsset ? $0 : $0 + $1.length }) > limit
        {
            throw .refused(
                .limitExceeded, "the record is larger than the maximum of \(limit) bytes")
        }
        return type
    }

    /// Adds the stored fields that nothing takes the place of. Both lists are in order of numbers.
    private mutating func keep(_ stored: StoredFields) {
        replaced.sort()
        var next = 0
        stored.forEach { field in
            while next < replaced.count, replaced[next] < field.number { next += 1 }
            if next == replaced.count || replaced[next] != field.number {
                fields.append(
                    Field(number: field.number, kind: field.kind, source: .stored(field.range)))
            }
            return true
        }
    }

    /// What is written of the record; `bytes` are those of the version that is replaced.
    func table(over bytes: [UInt8]) -> Table {
        Table(fields: fields, sent: values.bytes, stored: bytes)
    }

    /// A field table with its values.
    struct Table {
        fileprivate let fields: [Field]
        fileprivate let sent: [UInt8]
        fileprivate let stored: [UInt8]

        /// Of all values, in bytes.
        var length: Int { fields.reduce(0) { $0 + $1.length } }

        /// The values must fit an entry.
        func write(to writer: inout ByteWriter) {
            FieldTable.write(count: fields.count, to: &writer) { fields[$0].row }
            for field in fields {
                switch field.source {
                case .stored(let range): writer.append(stored.span.extracting(range))
                case .sent(let range): writer.append(sent.span.extracting(range))
                }
            }
        }
    }

    /// The references among the fields that act: those with the action deleteSelf, and the targets
    /// of those that were sent with the action validate. `bytes` are those of the version that is
    /// replaced.
    func references(
        from bytes: [UInt8]
    ) throws(FormatError) -> (cascadeLinks: [CascadeLink], validated: [String]) {
        guard fields.contains(where: { $0.kind.element == .reference }) else { return ([], []) }
        var cascadeLinks: [CascadeLink] = []
        var validated: [String] = []
        for field in fields where field.kind.element == .reference {
            let (bytes, range, isSent) =
                switch field.source {
                case .stored(let range): (bytes, range, false)
                case .sent(let range): (values.bytes, range, true)
                }
            try ReferenceFields.forEach(bytes.span, in: range, field.kind) { action, place in
                guard action == .deleteSelf || (action == .validate && isSent),
                    let target = bytes.span.text(in: place)
                else { return }
                if action == .validate { return validated.append(target) }
                cascadeLinks.append(CascadeLink(field: field.number, target: target))
            }
        }
        return (cascadeLinks.count < 2 ? cascadeLinks : CascadeLink.list(cascadeLinks), validated)
    }

    /// How the rows of these indexes, which are those of the record's type, change. `stored` are the
    /// fields of the version that is replaced.
    func indexRows(
        _ indexes: [FieldIndex], over stored: StoredFields?
    ) throws(EngineError) -> IndexStatement {
        var rows = IndexStatement()
        if indexes.isEmpty { return rows }
        let (sent, kept) = (values.bytes, stored?.bytes ?? [])
        do throws(FormatError) {
            for index in indexes {
                var new: (FieldKind, Range<Int>)?
                if let field = fields.first(where: { $0.number == index.field }) {
                    guard case .sent(let range) = field.source else { continue }
                    new = (field.kind, range)
                }
                let old = stored?.field(index.field).map { ($0.kind, $0.range) }
                if stored != nil, old == nil, new == nil { continue }
                rows.add(
                    index,
                    old: stored == nil ? [] : try index.form.values(of: old, in: kept.span),
                    new: try index.form.values(of: new, in: sent.span))
            }
        } catch {
            throw .refused(.internalError, "a value of an index cannot be read")
        }
        return rows
    }

    /// How many bytes the assets of the record have together; nil where there are none. `bytes` are
    /// those of the version that is replaced.
    func assetBytes(from bytes: [UInt8]) throws(EngineError) -> Int? {
        var total: Int?
        for field in fields where field.kind.isAsset {
            let (bytes, range) =
                switch field.source {
                case .stored(let range): (bytes, range)
                case .sent(let range): (values.bytes, range)
                }
            do throws(FormatError) {
                let length = try AssetFields.length(bytes.span, in: range, field.kind)
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

    private mutating func number(ofType name: String) throws(EngineError) -> UInt32 {
        if let type, type.name == name { return type.number }
        let number = try numbers.type(name) ?? 0
        type = (name, number)
        return number
    }

    /// The number of the field that was sent as the `index`th, which may hold a value of `kind`.
    private mutating func number(
        at index: Int, _ type: UInt32, _ kind: FieldKind
    ) throws(EngineError) -> UInt32? {
        let key = sent[index].key
        if index < shape.count, shape[index].type == type, shape[index].kind == kind,
            shape[index].key == key
        {
            return shape[index].number
        }
        guard let number = try numbers.field(key, ofType: self.type?.name ?? "") else {
            return nil
        }
        try numbers.fix(kind, of: Schema.Column(type: type, field: number), key)
        guard batch.items.count > 1 else { return number }
        let known = Known(key: key, type: type, kind: kind, number: number)
        if index < shape.count {
            shape[index] = known
        } else if index == shape.count, !numbers.isIncomplete {
            shape.append(known)
        }
        return number
    }

    /// By insertion: there are few, and they often come in order.
    private mutating func sortByNumber() {
        guard fields.count < 32 else { return fields.sort { $0.number < $1.number } }
        for index in fields.indices.dropFirst() {
            var place = index
            while place > 0, fields[place].number < fields[place - 1].number {
                fields.swapAt(place, place - 1)
                place -= 1
            }
        }
    }
}

extension FieldEncoder: EncodedFields {
    /// The fields of the record at hand.
    struct Encoded: EncodedFields {
        fileprivate let fields: [Field]
        fileprivate let sent: [UInt8]
        fileprivate let stored: [UInt8]

        func encodedValue(of number: UInt32) -> EncodedValue? {
            fields.first { $0.number == number }.map { $0.value(sent: sent, stored: stored) }
        }

        var encodedValues: [EncodedValue] {
            fields.map { $0.value(sent: sent, stored: stored) }
        }
    }

    var kept: Encoded { Encoded(fields: fields, sent: values.bytes, stored: storedBytes) }

    func encodedValue(of number: UInt32) -> EncodedValue? {
        fields.first { $0.number == number }.map {
            $0.value(sent: values.bytes, stored: storedBytes)
        }
    }

    var encodedValues: [EncodedValue] {
        fields.map { $0.value(sent: values.bytes, stored: storedBytes) }
    }
}
