package import FoundationEssentials

/// Moments as RFC 3339 writes them: UTC, the Gregorian calendar for all years, milliseconds.
///
/// The formatter of FoundationEssentials cuts milliseconds where a sum in binary is a hair too
/// small, and counts the years before 1582 by another calendar.
package enum Timestamp {
    private static let millisecondsPerDay = 86_400_000

    /// 0001-01-01T00:00:00.000Z to 9999-12-31T23:59:59.999Z.
    private static let milliseconds = -62_135_596_800_000...253_402_300_799_999

    /// Nil outside the years 1 to 9999, which the format has no room for.
    package static func text(secondsSince1970 seconds: Double) -> String? {
        let exact = (seconds * 1_000).rounded()
        guard let whole = Int(exactly: exact), milliseconds.contains(whole) else { return nil }
        let time = modulo(whole, millisecondsPerDay)
        let date = date(daysSince1970: (whole - time) / millisecondsPerDay)
        let minute = time / 60_000
        return digits(date.year, 4) + "-" + digits(date.month, 2) + "-" + digits(date.day, 2)
            + "T" + digits(minute / 60, 2) + ":" + digits(minute % 60, 2)
            + ":" + digits(time / 1_000 % 60, 2) + "." + digits(time % 1_000, 3) + "Z"
    }

    /// Counted from 1 March of the year 0, so that a leap day ends a year; 400 years have 146,097
    /// days, and five months from March on have 153.
    private static func date(daysSince1970 days: Int) -> (year: Int, month: Int, day: Int) {
        let days = days + 719_468
        let dayOfEra = modulo(days, 146_097)
        let leapDays = dayOfEra / 1_460 - dayOfEra / 36_524 + dayOfEra / 146_096
        let yearOfEra = (dayOfEra - leapDays) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        let day = dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
        let month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
        let year = (days - dayOfEra) / 146_097 * 400 + yearOfEra + (month <= 2 ? 1 : 0)
        return (year, month, day)
    }

    private static func modulo(_ value: Int, _ divisor: Int) -> Int {
        let rest = value % divisor
        return rest < 0 ? rest + divisor : rest
    }

    private static func digits(_ value: Int, _ count: Int) -> String {
        let text = String(value)
        return String(repeating: "0", count: count - text.count) + text
    }
}

extension Timestamp {
    /// For people and for JSON alike; outside the years 1 to 9999 the seconds since 1970.
    package static func text(_ date: Date) -> String {
        text(secondsSince1970: date.timeIntervalSince1970) ?? "\(date.timeIntervalSince1970) s"
    }
}
