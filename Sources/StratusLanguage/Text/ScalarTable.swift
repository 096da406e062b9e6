/// A number for each Unicode scalar, as `Tools/unicode-tables` packs it: one lookup in a list of
/// pages, one in the page.
struct ScalarTable: Sendable {
    private static let pageBits = 8
    private static let pageCount = 0x11_0000 >> pageBits

    /// Where the page of each 256 scalars begins in `values`.
    private let pages: [UInt16]
    private let values: [UInt16]

    init(_ numbers: inout PackedNumbers) {
        let distinct = numbers.next()
        pages = numbers.runs(Self.pageCount)
        values = numbers.runs(distinct << Self.pageBits)
    }

    subscript(scalar: UInt32) -> UInt16 {
        let page = Int(pages[Int(scalar >> UInt32(Self.pageBits))])
        return values[page << Self.pageBits | Int(scalar & 0xff)]
    }
}

/// What some Unicode scalars become: no scalar, one, or several.
struct ScalarMapping: Sendable {
    private let table: ScalarTable
    /// Where each replacement begins in `scalars`, and where the last ends.
    private let starts: [Int]
    /// All replacements, one after the other.
    let scalars: [Unicode.Scalar]

    init(packed: String) {
        var numbers = PackedNumbers(packed)
        var scalars: [Unicode.Scalar] = []
        // Place 0 of the table stands for scalars that are not mapped.
        var starts = [0]
        var last = 0
        for _ in 0..<numbers.next() {
            starts.append(scalars.count)
            for _ in 0..<numbers.next() {
                last += numbers.nextDifference()
                scalars.append(Unicode.Scalar(UInt32(last)) ?? "\u{fffd}")
            }
        }
        starts.append(scalars.count)
        self.scalars = scalars
        self.starts = starts
        table = ScalarTable(&numbers)
    }

    /// Where in ``scalars`` the replacement lies; nil of a scalar that stays.
    func replacement(of scalar: Unicode.Scalar) -> Range<Int>? {
        let place = Int(table[scalar.value])
        return place == 0 ? nil : starts[place]..<starts[place + 1]
    }
}

/// Reads the numbers of a packed table: digits of 5 bits, the lowest first, 0x20 marking that more
/// follow, each as a character from 0x3F on.
struct PackedNumbers {
    private var digits: String.UTF8View.Iterator

    init(_ packed: String) { digits = packed.utf8.makeIterator() }

    /// The tables are part of the program, so a digit too few is an error of the program.
    mutating func next() -> Int {
        var value = 0
        var shift = 0
        while true {
            guard let digit = digits.next() else { preconditionFailure("a table ends too early") }
            let bits = Int(digit) - 0x3f
            value |= (bits & 0x1f) << shift
            if bits & 0x20 == 0 { return value }
            shift += 5
        }
    }

    /// A number of either sign: doubled, less 1 where negative.
    mutating func nextDifference() -> Int {
        let number = next()
        return number & 1 == 0 ? number >> 1 : -(number >> 1) - 1
    }

    /// So many numbers, written as runs of a value and its count less 1.
    mutating func runs(_ count: Int) -> [UInt16] {
        var values: [UInt16] = []
        values.reserveCapacity(count)
        while values.count < count {
            let value = UInt16(next())
            values.append(contentsOf: repeatElement(value, count: next() + 1))
        }
        return values
    }
}
