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
    /// The record at hand, with what was encoded of it.
    private(set) var record: EncodedRecord

    /// A field as the last record had it at the same place, with what was found out about it.
    private struct Known {
        var key: String
        var type: UInt32
        var kind: FieldKind
        var number: UInt32
    }

    /// What the caller sent of the record at hand.
    private var sent: [FieldEdits.Edit] = []
    /// The numbers of the fields that the caller set or removed, where there was a version before.
    private var replaced: [UInt32] = []
    private var shape: [Known] = []
    private var type: (name: String, number: UInt32)?

    init(batch: RecordBatch, numbers: NumberAssignment, schema: Schema, zone: AnchorZone) {
        self.batch = batch
        self.numbers = numbers
        record = EncodedRecord(schema: schema, zone: zone)
    }

    /// Assigns the numbers that the batch needs: ahead of its records.
    mutating func writeNumbers(to draft: inout Draft) throws(EngineError) {
        try numbers.write(to: &draft)
        record.schema = draft.schema
    }

    /// Collects the fields to write: what the caller sends over what there is. Returns the number
    /// of the record's type.
    mutating func prepare(
        _ record: Record, _ rule: SaveRule, over stored: StoredFields?
    ) throws(EngineError) -> UInt32 {
        let type = try number(ofType: record.recordType)
        sent = record.sent(rule.policy, isInsert: stored == nil)
        self.record.begin(over: stored, count: sent.count)
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
            self.record.add(number, kind, value)
        }
        if let stored, !rule.replaces { keep(stored) }
        self.record.sort()
        if let limit = batch.limits?.profile.bytesPerRecord,
            self.record.lengthWithoutAssets > limit
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
                record.keep(field.number, field.kind, field.range)
            }
            return true
        }
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
}
