/// Numbers as people read them. Only for text: JSON has plain numbers.
package enum Quantities {
    /// `999`, `1,234`.
    package static func count(_ value: UInt64) -> String {
        var digits = Array(String(value).utf8)
        var place = digits.count - 3
        while place > 0 {
            digits.insert(UInt8(ascii: ","), at: place)
            place -= 3
        }
        return String(decoding: digits, as: UTF8.self)
    }

    /// `1 entry`, `1,234 entries`, of the noun `entry`.
    package static func count(_ value: some BinaryInteger, _ noun: String) -> String {
        count(UInt64(clamping: value)) + " " + (value == 1 ? noun : plural(of: noun))
    }

    /// `entries` of `entry`, `records` of `record`.
    package static func plural(of noun: String) -> String {
        noun.hasSuffix("y") ? noun.dropLast() + "ies" : noun + "s"
    }

    /// `999 B`, `1.2 KiB`, `34 MiB`: two digits or three, cut rather than rounded, so that nothing
    /// looks larger than it is.
    package static func size(_ bytes: UInt64) -> String {
        let units = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"]
        guard bytes >= 1_024 else { return "\(bytes) B" }
        let power = (63 - bytes.leadingZeroBitCount) / 10
        let unit = UInt64(1) << UInt64(power * 10)
        let whole = bytes / unit
        guard whole < 10 else { return "\(whole) \(units[power - 1])" }
        // In whole numbers, and the remainder times ten has room below 2^64: it is below 2^60.
        let tenth = bytes % unit * 10 / unit
        return "\(whole).\(tenth) \(units[power - 1])"
    }

    /// The name of a unit, and how many of the smallest one it is.
    package typealias Unit = (name: String, length: Int)

    /// The longest first; the last divides everything.
    package static let ages: [Unit] = [("d", 86_400), ("h", 3600), ("m", 60), ("s", 1)]
    package static let sizes: [Unit] = [
        ("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10), ("B", 1),
    ]

    /// A number of one of the units, such as `500MiB`; nil of any other text.
    package static func number(_ text: String, in units: [Unit]) -> Int? {
        let digits = text.prefix { $0.isASCII && $0.isNumber }
        guard let number = Int(digits),
            let unit = units.first(where: { $0.name == text.dropFirst(digits.count) })
        else { return nil }
        let (count, overflow) = number.multipliedReportingOverflow(by: unit.length)
        return overflow ? nil : count
    }

    /// How long something took: `80 ms`, `2.1 s`, `12 s`, `3 min 20 s`, `5 h 12 min`; cut as sizes
    /// are.
    package static func duration(seconds: Double) -> String {
        // Longer than any answer is worth, and than an integer holds.
        guard seconds < 1e9 else { return "very long" }
        let milliseconds = Int(max(0, seconds) * 1_000)
        return switch milliseconds {
        case ..<1_000: "\(milliseconds) ms"
        case ..<10_000: "\(milliseconds / 1_000).\(milliseconds % 1_000 / 100) s"
        default: duration(wholeSeconds: milliseconds / 1_000)
        }
    }

    /// How long something will still take, a guess: `1 s`, `3 min 20 s`; never less than it is.
    package static func remaining(seconds: Double) -> String {
        guard seconds < 1e9 else { return "very long" }
        return duration(wholeSeconds: Int(max(0, seconds).rounded(.up)))
    }

    private static func duration(wholeSeconds whole: Int) -> String {
        switch whole {
        case ..<60: "\(whole) s"
        case ..<3_600: "\(whole / 60) min \(whole % 60) s"
        default: "\(whole / 3_600) h \(whole % 3_600 / 60) min"
        }
    }
}
