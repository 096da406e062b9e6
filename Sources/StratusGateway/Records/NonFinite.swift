/// Numbers that JSON has no word for, as text: `inf`, `-inf`, `nan`, and `nan(0x…)` with all bits
/// for one that says more than that.
enum NonFinite {
    private static let prefix = "nan(0x"

    static func text(_ value: Double) -> String {
        if value.isInfinite { return value < 0 ? "-inf" : "inf" }
        if value.bitPattern == Double.nan.bitPattern { return "nan" }
        return prefix + String(value.bitPattern, radix: 16) + ")"
    }

    /// The number that a text stands for; nil where it is finite, or none.
    static func value(_ text: String) -> Double? {
        switch text {
        case "inf": return .infinity
        case "-inf": return -.infinity
        case "nan": return .nan
        default:
            guard text.hasPrefix(prefix), text.last == ")",
                let bits = UInt64(text.dropFirst(prefix.count).dropLast(), radix: 16)
            else { return nil }
            let value = Double(bitPattern: bits)
            return value.isNaN && self.text(value).isSame(as: text) ? value : nil
        }
    }
}
