/// Values as bytes in the order in which records are sorted by them: `Formats/Query.md`, "Sort keys".
///
/// The key of a record has one part for each field that it is sorted by. Keys compare byte by byte,
/// and none is the beginning of another.
package struct SortKey: Hashable, Comparable, Sendable {
    package private(set) var bytes: [UInt8] = []

    /// So much of a folded text counts, in bytes of UTF-8.
    package static let textLimit = 1 << 10
    /// The longest part: a text of zeros takes two bytes for each, and two for its end.
    package static let partLimit = 1 + 2 * textLimit + 2

    package init() {}

    /// The key with those bytes, as ``bytes`` gave them.
    package init(bytes: [UInt8]) { self.bytes = bytes }

    /// Whether its first part is of a value that has an order, ascending.
    package var beginsWithValue: Bool { bytes.first == 1 }

    package static func < (left: SortKey, right: SortKey) -> Bool {
        left.bytes.lexicographicallyPrecedes(right.bytes)
    }

    /// A part: what is missing comes first, or last where the order descends. So does what has no
    /// order: lists, bytes, assets, locations, and what is not a number.
    ///
    /// - Parameter equality: of strings.
    package mutating func append(
        _ value: PredicateValue?, _ equality: TextEquality = .folded, ascending: Bool = true
    ) {
        let start = bytes.count
        switch value {
        case .int64, .double, .date:
            if let bits = value.flatMap(Self.bits) { append(bits) } else { bytes.append(0) }
        case .string(let text): append(text, equality == .folded ? .case : [])
        case .reference(let target): append(name: target.recordName)
        case .bytes, .location, .asset, .list, nil: bytes.append(0)
        }
        if ascending { return }
        for place in start..<bytes.count { bytes[place] = ~bytes[place] }
    }

    private mutating func append(_ number: UInt64) {
        bytes.append(1)
        for shift in stride(from: 56, through: 0, by: -8) {
            bytes.append(UInt8(truncatingIfNeeded: number >> UInt64(shift)))
        }
    }

    /// A number or a date as bits in the order of its kind; nil of what is not a number.
    package static func bits(of value: PredicateValue) -> UInt64? {
        switch value {
        case .int64(let number): return UInt64(bitPattern: number) ^ 1 << 63
        case .double(let number), .date(let number):
            if number.isNaN { return nil }
            // The two zeros are equal.
            let bits = number == 0 ? 0 : number.bitPattern
            return bits >> 63 == 0 ? bits ^ 1 << 63 : ~bits
        default: return nil
        }
    }

    private mutating func append(_ text: String, _ folding: TextFolding) {
        bytes.append(1)
        var length = 0
        for scalar in FoldedScalars(text, folding) {
            length += UTF8.width(scalar)
            if length > Self.textLimit { break }
            for unit in UTF8.encode(scalar) ?? .init() { appendEscaped(unit) }
        }
        endText()
    }

    /// Names keep their case: they are compared as bytes everywhere.
    private mutating func append(name: String) {
        bytes.append(1)
        for unit in name.utf8.prefix(Self.textLimit) { appendEscaped(unit) }
        endText()
    }

    /// A zero in a text is not its end.
    private mutating func appendEscaped(_ unit: UInt8) {
        bytes.append(unit)
        if unit == 0 { bytes.append(0xff) }
    }

    private mutating func endText() {
        bytes.append(0)
        bytes.append(0)
    }
}
