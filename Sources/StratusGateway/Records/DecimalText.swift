internal import FoundationEssentials

/// A decimal number of any length, for moments that are told exactly.
///
/// A date is a Double of seconds since 2001, and Web Services count from 1970: the sum of a small
/// Double and 978,307,200 is no Double, so it is formed from the decimal digits, of which a Double
/// needs few.
struct DecimalText: Equatable {
    private var isNegative = false
    /// The digits, the highest first; the last `fraction` of them stand behind the point.
    private var digits: [UInt8] = []
    private var fraction = 0

    /// More digits than any Double has, written out.
    private static let lengthLimit = 1100

    /// The number that `text` says, with or without a fraction and an exponent.
    init?(_ text: String) {
        guard text.utf8.count <= Self.lengthLimit else { return nil }
        var rest = text.utf8[...]
        if rest.first == UInt8(ascii: "-") {
            isNegative = true
            rest = rest.dropFirst()
        }
        var exponent = 0
        if let place = rest.firstIndex(where: { $0 == UInt8(ascii: "e") }) {
            guard let value = Int(String(Substring(rest[rest.index(after: place)...]))),
                value.magnitude <= 400
            else { return nil }
            exponent = value
            rest = rest[..<place]
        }
        let parts = rest.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard parts.count <= 2, parts.allSatisfy({ !$0.isEmpty }) else { return nil }
        digits = parts.joined().map { $0 &- 0x30 }
        guard digits.allSatisfy({ $0 <= 9 }) else { return nil }
        fraction = (parts.count == 2 ? parts[1].count : 0) - exponent
        if fraction < 0 { widen(to: 0) }
        if digits.count <= fraction {
            digits = Array(repeating: 0, count: fraction + 1 - digits.count) + digits
        }
    }

    /// The sum of this and an integer.
    func adding(_ value: Int) -> DecimalText? {
        guard var other = DecimalText(String(value)) else { return nil }
        var sum = self
        other.widen(to: sum.fraction)
        let length = max(sum.digits.count, other.digits.count) + 1
        sum.pad(to: length)
        other.pad(to: length)
        if sum.isNegative == other.isNegative {
            sum.combine(other.digits) { $0 + $1 }
        } else if sum.digits.lexicographicallyPrecedes(other.digits) {
            swap(&sum, &other)
            sum.combine(other.digits) { $0 - $1 }
        } else {
            sum.combine(other.digits) { $0 - $1 }
        }
        return sum
    }

    /// Without exponent, and without zeros that say nothing.
    var text: String {
        var whole = digits.dropLast(fraction).drop { $0 == 0 }
        if whole.isEmpty { whole = [0] }
        var rest = digits.suffix(fraction)
        while rest.last == 0 { rest.removeLast() }
        let isZero = rest.isEmpty && whole == [0]
        let text = { (digits: ArraySlice<UInt8>) in
            String(decoding: digits.map { $0 + 0x30 }, as: UTF8.self)
        }
        return (isNegative && !isZero ? "-" : "") + text(whole)
            + (rest.isEmpty ? "" : "." + text(rest))
    }

    private mutating func widen(to count: Int) {
        digits += Array(repeating: 0, count: count - fraction)
        fraction = count
    }

    private mutating func pad(to length: Int) {
        digits = Array(repeating: 0, count: length - digits.count) + digits
    }

    /// Digit by digit from the lowest; `others` are as many, and a difference is not negative.
    private mutating func combine(_ others: [UInt8], _ body: (Int, Int) -> Int) {
        var carry = 0
        for place in digits.indices.reversed() {
            var digit = body(Int(digits[place]), Int(others[place])) + carry
            carry = digit < 0 ? -1 : digit / 10
            if digit < 0 { digit += 10 }
            digits[place] = UInt8(digit % 10)
        }
    }
}

/// A moment in JSON: milliseconds since 1970 and, where these do not say all, seconds in decimal
/// digits.
struct ExactDate {
    /// From 1970 to 2001.
    private static let epoch = 978_307_200

    let milliseconds: Int
    let exact: String?

    init(_ date: Date) {
        let seconds = date.timeIntervalSinceReferenceDate
        let rounded = (date.timeIntervalSince1970 * 1000).rounded()
        let limit = rounded < 0 ? Int.min : Int.max
        let milliseconds = rounded.isNaN ? 0 : Int(exactly: rounded) ?? limit
        self.milliseconds = milliseconds
        if Self.date(milliseconds: milliseconds).isIdentical(to: date) {
            exact = nil
        } else {
            exact =
                seconds.isFinite
                ? DecimalText(seconds.description)?.adding(Self.epoch)?.text
                : NonFinite.text(seconds)
        }
    }

    static func date(milliseconds: Int) -> Date {
        Date(timeIntervalSince1970: Double(milliseconds) / 1000)
    }

    static func date(exact text: String) -> Date? {
        if let value = NonFinite.value(text) {
            return Date(timeIntervalSinceReferenceDate: value)
        }
        guard let sum = DecimalText(text)?.adding(-epoch), let seconds = Double(sum.text),
            seconds.isFinite
        else { return nil }
        return Date(timeIntervalSinceReferenceDate: seconds)
    }
}

extension Date {
    fileprivate func isIdentical(to other: Date) -> Bool {
        timeIntervalSinceReferenceDate.bitPattern == other.timeIntervalSinceReferenceDate.bitPattern
    }
}
