public import FoundationEssentials
internal import StratusEngine

// A property of a value is a field of the record, under the name of its coding key.
//
// It may be: text, an integer that fits 64 bits, a Bool (0 or 1), a Double or Float, a Date, Data,
// a UUID or URL (as text), a Location, a Reference, a RecordValue, an enumeration over one of
// these, an array of these, and an optional of all. A value with properties of its own is none: a
// record is flat.
extension Record {
    /// A new record with the fields of `value`.
    ///
    /// - Throws: ``StoreError`` with `invalidArguments` where ``encode(_:)`` does.
    public init(
        encoding value: some Encodable, recordType: String,
        recordID: ID = ID(recordName: UUID().uuidString)
    ) throws(StoreError) {
        self.init(recordType: recordType, recordID: recordID)
        try encode(value)
    }

    /// Sets the fields that differ from the properties of `value`; nil removes a field.
    ///
    /// A field that already has the value is not among the ``changedKeys`` afterwards. Fields that
    /// `value` does not know stay, and so do those that a fetch with desired keys left in the
    /// store, where `value` has nil for them.
    ///
    /// - Throws: ``StoreError`` with `invalidArguments`, naming the property, where one cannot be
    ///   a field: it has properties of its own, or it is an integer of more than 64 bits, a list
    ///   of lists, a list with nil. Nothing is set then.
    public mutating func encode(_ value: some Encodable) throws(StoreError) {
        for (key, value) in try RecordValueEncoder.fields(of: value) {
            let current = self[key]
            switch (value, current) {
            case (nil, nil): continue
            case (let value?, let current?) where value.isSame(as: current): continue
            default: self[key] = value
            }
        }
    }

    /// A value whose properties are the fields of the record.
    ///
    /// A missing field is nil. A number is read as whatever number the property is, where nothing
    /// but precision is lost: an integer as a Double, a whole Double as an integer, 0 and 1 as a
    /// Bool.
    ///
    /// - Throws: ``StoreError`` with `invalidArguments`, naming the property, where a field is
    ///   missing or of another kind.
    public func decode<Value: Decodable>(_ type: Value.Type) throws(StoreError) -> Value {
        do {
            return try Value(from: RecordFieldsDecoder(record: self))
        } catch {
            throw StoreError(coding: error).with(recordID)
        }
    }
}

extension RecordValue {
    /// Whether a save of this value in place of `other` would change nothing for a reader:
    /// the same text in the same code points, the same bits of a number, or the same integer as a
    /// Double.
    fileprivate func isSame(as other: RecordValue) -> Bool {
        switch (self, other) {
        case (.string(let left), .string(let right)):
            left.utf8.elementsEqual(right.utf8)
        case (.double(let left), .double(let right)):
            left.bitPattern == right.bitPattern
        case (.double(let number), .int64(let integer)), (.int64(let integer), .double(let number)):
            Int64(exactly: number) == integer
        case (.date(let left), .date(let right)):
            left.timeIntervalSinceReferenceDate.bitPattern
                == right.timeIntervalSinceReferenceDate.bitPattern
        case (.location(let left), .location(let right)):
            left.bits == right.bits
        case (.list(let left), .list(let right)):
            left.count == right.count && zip(left, right).allSatisfy { $0.isSame(as: $1) }
        default: self == other
        }
    }
}

extension Location {
    fileprivate var bits: [UInt64] {
        [
            latitude, longitude, altitude, horizontalAccuracy, verticalAccuracy, course, speed,
            timestamp.timeIntervalSinceReferenceDate,
        ].map(\.bitPattern)
    }
}

extension StoreError {
    /// A property that cannot be a field, or a field that cannot be the property.
    init(_ reason: String, at path: [any CodingKey]) {
        let place = path.isEmpty ? "the value" : path.map(\.stringValue).joined(separator: ".")
        self.init(.invalidArguments, "\(place): \(reason)")
    }

    /// What coding a value threw.
    init(coding error: any Error) {
        switch error {
        case let error as StoreError: self = error
        case EncodingError.invalidValue(_, let context):
            self.init(context.debugDescription, at: context.codingPath)
        case DecodingError.keyNotFound(let key, let context):
            self.init("the record has no such field", at: context.codingPath + [key])
        case DecodingError.typeMismatch(_, let context),
            DecodingError.valueNotFound(_, let context), DecodingError.dataCorrupted(let context):
            self.init(context.debugDescription, at: context.codingPath)
        default:
            self.init(.invalidArguments, "the value cannot be coded: \(error)")
        }
    }
}
