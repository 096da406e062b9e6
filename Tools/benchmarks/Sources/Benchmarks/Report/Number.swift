/// Numbers for people.
enum Number {
    /// Three digits, or all that stand before the point: 0.213, 4.31, 52.7, 14,231.
    static func short(_ value: Double) -> String {
        guard value.isFinite else { return "-" }
        let size = value.magnitude
        let digits = size >= 100 ? 0 : size >= 10 ? 1 : size >= 1 ? 2 : 3
        return fixed(value, digits)
    }

    static func fixed(_ value: Double, _ digits: Int) -> String {
        var scale = 1
        for _ in 0..<digits { scale *= 10 }
        let scaled = Int((value.magnitude * Double(scale)).rounded())
        var text = grouped(scaled / scale)
        if digits > 0 {
            let rest = String(scaled % scale)
            text += "." + String(repeating: "0", count: digits - rest.count) + rest
        }
        return value < 0 && scaled != 0 ? "-" + text : text
    }

    private static func grouped(_ value: Int) -> String {
        var text = ""
        for (place, digit) in String(value).reversed().enumerated() {
            if place > 0, place % 3 == 0 { text.append(",") }
            text.append(digit)
        }
        return String(text.reversed())
    }

    static func megabytes(_ bytes: Int) -> String { short(Double(bytes) / 1_000_000) }

    static func median(_ values: [Double]) -> Double? {
        guard !values.isEmpty else { return nil }
        let sorted = values.sorted()
        let middle = sorted.count / 2
        return sorted.count % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
    }

    /// Two of the values, between which the median of many more would lie, 19 times in 20.
    static func interval(_ values: [Double]) -> (low: Double, high: Double) {
        let sorted = values.sorted()
        let count = Double(sorted.count)
        let low = max(0, Int(count / 2 - 0.98 * count.squareRoot()))
        guard low < sorted.count else { return (.nan, .nan) }
        return (sorted[low], sorted[sorted.count - 1 - low])
    }
}
