internal import StratusAssets
package import StratusBytes
internal import StratusIndex
package import StratusLanguage

/// What an index has of a record: 8 to 22 bytes, as its form says, in the order of the values.
/// `Formats/Index.md`, "Declared indexes".
package struct IndexedValue: Hashable, Sendable {
    /// The bytes, the first in the highest place; zeros behind them.
    private var first: UInt64 = 0
    private var second: UInt64 = 0
    private var third: UInt64 = 0
    package private(set) var count = 0

    package static let lengthLimit = 22

    private mutating func append(_ byte: UInt8) {
        let word = UInt64(byte) << UInt64(56 - count % 8 * 8)
        switch count / 8 {
        case 0: first |= word
        case 1: second |= word
        default: third |= word
        }
        count += 1
    }

    private init() {}

    package init(hash: UInt64) {
        first = hash
        count = 8
    }

    /// That there is no value that has an order: before all that have.
    package static func missing(_ form: FieldIndex.Form) -> IndexedValue {
        var value = IndexedValue()
        value.count = form.length
        return value
    }

    /// Of a number in order: as ``SortKey`` has it.
    package init(number bits: UInt64) {
        first = 1 << 56 | bits >> 8
        second = bits << 56
        count = 9
    }

    /// Of the beginning of a text: as ``SortKey`` has it.
    package init(text: [UInt8]) {
        append(prefix: text)
        count = Self.lengthLimit
    }

    /// The last value of texts that begin so.
    package init(lastPrefixedBy text: [UInt8]) {
        append(prefix: text)
        while count < Self.lengthLimit { append(0xff) }
    }

    private mutating func append(prefix text: [UInt8]) {
        append(1)
        for unit in text {
            if count < Self.lengthLimit { append(unit) }
            // Two zeros end a text.
            if unit == 0, count < Self.lengthLimit { append(0xff) }
            if count == Self.lengthLimit { return }
        }
    }

    /// So many bytes of a text stand in a value, of which zeros take two.
    package static func length(of text: [UInt8]) -> Int {
        text.reduce(0) { $0 + ($1 == 0 ? 2 : 1) }
    }

    /// Of longer texts the prefix is cut off.
    package static let prefixLimit = lengthLimit - 1
    /// A value has the end of a text that is no longer, too: it is that of no other text.
    package static let wholeTextLimit = prefixLimit - 2

    /// As an entry has it; it has at most ``lengthLimit`` bytes.
    package init(_ bytes: Span<UInt8>) {
        for place in bytes.indices { append(bytes[place]) }
    }

    /// The same behind a hash of other columns, as much of it as there is room for.
    package func grouped(by group: UInt64) -> IndexedValue {
        var value = IndexedValue(hash: group)
        for place in 0..<min(count, Self.lengthLimit - value.count) {
            value.append(byte(at: place))
        }
        return value
    }

    /// The one ahead of it, as many bytes long.
    package var previous: IndexedValue { adding { $0.subtractingReportingOverflow(1) } }

    /// The one behind it, as many bytes long.
    package var next: IndexedValue { adding { $0.addingReportingOverflow(1) } }

    /// With the last byte changed, and those ahead of it as far as it overflows.
    private func adding(
        _ change: (UInt8) -> (partialValue: UInt8, overflow: Bool)
    ) -> IndexedValue {
        var bytes = (0..<count).map { byte(at: $0) }
        for place in bytes.indices.reversed() {
            let (changed, overflows) = change(bytes[place])
            bytes[place] = changed
            if !overflows { break }
        }
        return IndexedValue(bytes.span)
    }

    package func write(to writer: inout ByteWriter) {
        for place in 0..<count { writer.uint8(byte(at: place)) }
    }

    private func byte(at place: Int) -> UInt8 {
        let word = place < 8 ? first : place < 16 ? second : third
        return UInt8(truncatingIfNeeded: word >> UInt64(56 - place % 8 * 8))
    }

    /// The key with the value behind it.
    func appended(to key: IndexKey) -> IndexKey {
        switch count {
        case 8: return key.appending(first)
        case 9: return key.appending(first).appending(byte(at: 8))
        case 16: return key.appending(first).appending(second)
        default:
            var key = key
            for place in 0..<count { key = key.appending(byte(at: place)) }
            return key
        }
    }
}

extension IndexedValue: Comparable {
    package static func < (left: IndexedValue, right: IndexedValue) -> Bool {
        (left.first, left.second, left.third) < (right.first, right.second, right.third)
    }
}

extension FieldIndex.Form {
    /// Of the values of all its rows, in bytes.
    package var length: Int {
        switch self {
        case .hash, .word, .cell: 8
        case .number: 9
        case .digest: 16
        case .prefix: 22
        }
    }

    /// Whether it can be that of the last of several columns.
    package var endsColumns: Bool {
        switch self {
        case .hash, .number, .prefix, .digest: true
        case .word, .cell: false
        }
    }

    /// That of an index of which a field of that kind is the last of several; nil where it cannot be.
    package static func ofLast(_ kind: FieldKind) -> FieldIndex.Form? {
        kind.isList ? nil : [.number, .prefix, .hash].first { $0.fits(kind) }
    }

    /// Whether it has a row for a record without a value too, so that all can be sorted by it.
    package var hasOrder: Bool { self == .number || self == .prefix }

    /// Whether it can be an index of fields of that kind.
    package func fits(_ kind: FieldKind) -> Bool {
        if kind.isEncrypted { return false }
        switch (self, kind.element) {
        case (.hash, .string), (.hash, .reference): return true
        case (.hash, .bytes), (.number, .int64), (.number, .double), (.number, .date),
            (.prefix, .string):
            return !kind.isList
        case (.hash, .int64), (.hash, .double), (.hash, .date): return kind.isList
        case (.word, .string): return true
        case (.digest, .string), (.digest, .int64), (.digest, .double), (.digest, .date),
            (.digest, .reference), (.digest, .bytes):
            return !kind.isList
        case (.cell, .location): return !kind.isList
        default: return false
        }
    }

    /// What the rows have of a record that has no value.
    var valuesOfNone: [IndexedValue] { hasOrder ? [.missing(self)] : [] }

    /// A record has rows for so many words at most, or ``IndexedValue/many`` in their place.
    package static let wordLimit = 4096
}

// Values of fields.
extension FieldIndex {
    /// What the rows have of a field's value, of whatever kind, each once and in order.
    func values(
        of kind: FieldKind, at range: Range<Int>, in bytes: Span<UInt8>
    ) throws(FormatError) -> [IndexedValue] {
        guard form.fits(kind), let element = kind.element else { return form.valuesOfNone }
        var values: [IndexedValue] = []
        try ValueFormat.forEachElement(bytes, in: range, kind) {
            place throws(FormatError) in
            try add(element, bytes, place, to: &values)
        }
        if values.count < 2 { return values }
        let distinct = Set(values)
        if form == .word, distinct.count > Form.wordLimit { return [.many] }
        return distinct.sorted()
    }

    private func add(
        _ kind: ValueKind, _ bytes: Span<UInt8>, _ range: Range<Int>,
        to values: inout [IndexedValue]
    ) throws(FormatError) {
        switch form {
        case .word:
            guard let text = bytes.text(in: range) else { throw .text }
            for word in SearchWords(text) { values.append(.word(word)) }
        case .cell:
            guard range.count >= 16 else { throw .value("length") }
            let latitude = Double(bitPattern: bytes.uint64(at: range.lowerBound))
            let longitude = Double(bitPattern: bytes.uint64(at: range.lowerBound + 8))
            if let cell = EarthCell.number(latitude: latitude, longitude: longitude) {
                values.append(IndexedValue(hash: cell))
            }
        case .hash, .number, .prefix, .digest:
            switch try IndexedPart(kind, bytes, range, isBinary: isBinary) {
            case .number(let bits): values.append(value(of: bits) ?? .missing(form))
            case .text(let text): values.append(value(of: text))
            case .bytes(let range):
                values.append(IndexedValue(hash: Checksum.xxh3(bytes, in: range)))
            case nil: return
            }
        }
    }

    private func value(of bits: UInt64?) -> IndexedValue? {
        bits.map { form == .number ? IndexedValue(number: $0) : IndexedValue(hash: $0) }
    }

    private func value(of text: [UInt8]) -> IndexedValue {
        form == .prefix ? IndexedValue(text: text) : IndexedValue(hash: Checksum.xxh3(text.span))
    }

    /// What a row has of a value that the index fits; nil of one that is not a number, and of forms
    /// that have no values but parts of them. Numbers stand in order or, those of a list, as a hash.
    package func value(of value: PredicateValue) -> IndexedValue? {
        if form == .word || form == .cell || form == .digest { return nil }
        return switch value {
        case .string(let text): self.value(of: text.indexedBytes(isBinary: isBinary))
        case .int64, .double, .date: self.value(of: SortKey.bits(of: value))
        case .reference(let target): IndexedValue(hash: Checksum.xxh3(target.recordName))
        case .bytes(let bytes): IndexedValue(hash: Checksum.xxh3(bytes.span))
        case .location, .asset, .list: nil
        }
    }
}

extension String {
    /// What of it counts in an index.
    package func indexedBytes(isBinary: Bool) -> [UInt8] {
        isBinary ? Array(utf8) : FoldedBytes(self).bytes
    }
}

// What a value that a predicate names has in an index.
extension IndexedValue {
    /// Of a record that has more values than are kept: every search looks at it.
    package static let many = IndexedValue(hash: .max)

    /// Of a word of a text.
    package static func word(_ word: SearchWord) -> IndexedValue {
        IndexedValue(hash: Checksum.xxh3(word.text))
    }

    /// The first value of a form that has an order.
    package static func first(_ form: FieldIndex.Form) -> IndexedValue {
        form == .number ? IndexedValue(number: 0) : IndexedValue(text: [])
    }

    /// What the first part of a sort key says of a value that an index with an order has.
    package init(_ key: SortKey, _ form: FieldIndex.Form, ascending: Bool) {
        self = .missing(form)
        var part = IndexedValue()
        var last: UInt8 = 0xff
        for byte in key.bytes {
            guard part.count < form.length else { break }
            let unit = ascending ? byte : ~byte
            // Behind the end of a text other parts follow.
            if form == .prefix, last == 0, unit != 0xff { break }
            part.append(unit)
            if part.first == 0 { return }
            last = unit
        }
        part.count = form.length
        self = part
    }
}
