package import FoundationEssentials
internal import StratusFiles
internal import StratusGateway

/// Times as the clocks around the user show them.
package struct LocalTime: Sendable {
    /// How far the clocks are ahead of UTC at a moment, counted since 1970; both in seconds.
    private let offset: @Sendable (Int) -> Int

    package init(offset: @escaping @Sendable (Int) -> Int) { self.offset = offset }

    package static let utc = LocalTime { _ in 0 }

    /// That of the process: TZ names it, or else the system does.
    package static let system = LocalTime { Clock.localOffset(secondsSince1970: $0) }

    /// `2026-11-30 11:06:07.250 +01:00`, which ``date(_:)`` takes.
    package func text(_ date: Date) -> String {
        let seconds = date.timeIntervalSince1970
        guard let whole = Int(exactly: seconds.rounded(.down)) else { return Timestamp.text(date) }
        let offset = offset(whole)
        guard let text = Timestamp.text(secondsSince1970: seconds + Double(offset)) else {
            return Timestamp.text(date)
        }
        return text.dropLast().replacing("T", with: " ") + " " + Self.text(offset)
    }

    private static func text(_ offset: Int) -> String {
        let digits = [abs(offset) / 3600, abs(offset) / 60 % 60, abs(offset) % 60]
            .map { $0 < 10 ? "0\($0)" : "\($0)" }
        // Seconds are of times before time zones.
        return (offset < 0 ? "-" : "+")
            + digits.prefix(digits[2] == "00" ? 2 : 3)
            .joined(separator: ":")
    }
}

extension LocalTime {
    /// The moment of a date or of a date and time: `2026-11-30`, which is the day's first moment,
    /// `2026-11-30 11:06`, `2026-11-30T11:06:07.250`, as the clocks showed it, or with the time zone
    /// behind it. Nil where the text is none of these.
    ///
    /// - Throws: ``ToolError`` where the clocks never showed that, or twice.
    package func date(_ text: String) throws(ToolError) -> Date? {
        guard let typed = TypedTime(text) else { return nil }
        if let zone = typed.zone { return Date(typed: typed.day + "T" + typed.clock + zone) }
        let shown = typed.day + "T" + typed.clock
        // A date has milliseconds: what is finer was never shown.
        guard let date = Date(typed: shown + "Z"), Timestamp.text(date).hasPrefix(shown) else {
            return nil
        }
        let seconds = Int(date.timeIntervalSince1970.rounded(.down))
        // No two changes of the clocks are that close together.
        let day = 86_400
        let offsets = Set([offset(seconds - day), offset(seconds + day)])
            .filter { offset(seconds - $0) == $0 }.sorted(by: >)
        if typed.isDay {
            // Where the clocks were set forward at midnight, the day begins with that.
            let first = offsets.first ?? offset(seconds - day)
            return date.addingTimeInterval(-Double(first))
        }
        guard let first = offsets.first else {
            throw .usage(
                "bad-value", "the clocks here never showed \(text): they were set forward then")
        }
        if offsets.count > 1 {
            let zones = offsets.map { Self.text($0) }.joined(separator: " or ")
            throw .usage(
                "bad-value", "the clocks here showed \(text) twice: add the time zone, \(zones)")
        }
        return date.addingTimeInterval(-Double(first))
    }
}

/// The parts of a date and time.
private struct TypedTime {
    let day: String
    /// With seconds.
    let clock: String
    let zone: String?
    /// Whether there is no time.
    let isDay: Bool

    /// Nil where the text does not begin with a date, and go on with a time where it goes on.
    init?(_ text: String) {
        let shape = text.prefix(10).map { $0.isASCII && $0.isNumber ? "0" : $0 }
        guard shape == Array("0000-00-00") else { return nil }
        day = String(text.prefix(10))
        let rest = text.dropFirst(10)
        isDay = rest.isEmpty
        if rest.isEmpty {
            (clock, zone) = ("00:00:00", nil)
            return
        }
        guard rest.first == "T" || rest.first == " " else { return nil }
        let time = rest.dropFirst()
        let end = time.firstIndex { "Z+- ".contains($0) } ?? time.endIndex
        let digits = time[..<end]
        clock = digits.count == 5 ? digits + ":00" : String(digits)
        let zone = time[end...].drop { $0 == " " }
        self.zone = end == time.endIndex ? nil : String(zone)
    }
}

extension Output {
    /// A date in text: on a terminal as the clocks around its reader showed it, else in UTC.
    func date(_ date: Date) -> String {
        settings.resultsAreOnTerminal ? settings.localTime.text(date) : Timestamp.text(date)
    }
}
