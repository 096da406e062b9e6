package import FoundationEssentials
package import Stratus

// Values of fields as they are typed on a command line.

/// The types of values that can be typed, named as the schema language names them.
package enum TypedValueKind: String, CaseIterable, Sendable {
    case string, int64, double, timestamp, bytes, location, reference, asset
}

extension RecordValue {
    /// The value that a text stands for: numbers in decimal digits, a time such as
    /// `2026-11-23T14:30:00Z` or, in seconds since 1970, `1795444200.5 s`, bytes in base64, a location
    /// as `LATITUDE,LONGITUDE`, a reference as the name of a record in `zone`, an asset as the path of a
    /// file. Nil where it is none of the kind.
    package init?(typed text: String, _ kind: TypedValueKind, in zone: RecordZone.ID) {
        let value: RecordValue? =
            switch kind {
            case .string: .string(text)
            case .int64: Int64(text).map(RecordValue.int64)
            case .double: Double(typed: text).map(RecordValue.double)
            case .timestamp: Date(typed: text).map(RecordValue.date)
            case .bytes: Data(base64Encoded: text).map(RecordValue.bytes)
            case .location: Location(typed: text).map(RecordValue.location)
            case .reference:
                text.isEmpty
                    ? nil
                    : .reference(Reference(recordID: Record.ID(recordName: text, zoneID: zone)))
            case .asset: text.isEmpty ? nil : .asset(Asset(file: text))
            }
        guard let value else { return nil }
        self = value
    }

    /// The texts that stand for it as ``init(typed:_:in:)`` takes them: one, or of a list one for each of
    /// its values. Nil of an asset, which no text holds.
    package var typedTexts: [String]? {
        switch self {
        case .string(let value): [value]
        case .int64(let number): [String(number)]
        case .double(let number): [String(number)]
        case .date(let date): [date.typedText]
        case .bytes(let data): [data.base64EncodedString()]
        case .location(let location): ["\(location.latitude),\(location.longitude)"]
        case .reference(let reference): [reference.recordID.recordName]
        case .asset: nil
        case .list(let values):
            values.reduce([]) { texts, value in
                value.typedTexts.flatMap { more in texts.map { $0 + more } }
            }
        }
    }

    /// Whether a text stands for it, or for one of the values of the list that it is. For an asset
    /// its checksum does.
    package func isTyped(_ text: String) -> Bool {
        switch self {
        case .string(let value): value == text
        case .int64(let number): Int64(text) == number
        case .double(let number): Double(text) == number
        case .date(let date): Date(typed: text).map { Timestamp.text($0) } == Timestamp.text(date)
        case .bytes(let data): Data(base64Encoded: text) == data
        case .location(let location):
            Location(typed: text).map { [$0.latitude, $0.longitude] }
                == [location.latitude, location.longitude]
        case .reference(let reference): reference.recordID.recordName == text
        case .asset(let asset): asset.fileChecksum == text
        case .list(let values): values.contains { $0.isTyped(text) }
        }
    }
}

extension Double {
    /// Nil also where it is so large or small that only infinity or 0 could stand for it.
    fileprivate init?(typed text: String) {
        guard let number = Double(text) else { return nil }
        let mantissa = text.prefix { !"eEpP".contains($0) }
        if number.isInfinite, mantissa.contains(where: \.isNumber) { return nil }
        if number == 0, mantissa.contains(where: { $0.isNumber && $0 != "0" }) { return nil }
        self = number
    }
}

extension Date {
    /// A time such as `2026-11-23T14:30:00Z`, with the time zone and, where that is said, parts of a
    /// second; or seconds since 1970 such as `1795444200.5 s`.
    package init?(typed text: String) {
        if text.hasSuffix(" s") {
            guard let seconds = Double(typed: String(text.dropLast(2))), seconds.isFinite else {
                return nil
            }
            self.init(timeIntervalSince1970: seconds)
            return
        }
        let whole = Date.ISO8601FormatStyle()
        let parts = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
        func read(_ text: String) -> Date? {
            (try? Date(text, strategy: parts)) ?? (try? Date(text, strategy: whole))
        }
        // Of a day that its month does not have one of the next month is made.
        let shown = String(text.prefix(Self.wholeLength))
        guard let date = read(text), let utc = read(shown + "Z"),
            Timestamp.text(utc).hasPrefix(shown)
        else { return nil }
        self = date
    }

    /// The characters of `2026-11-23T14:30:00`.
    private static let wholeLength = 19

    /// A text that stands for this very time.
    fileprivate var typedText: String {
        let text = Timestamp.text(self)
        return Date(typed: text) == self ? text : "\(timeIntervalSince1970) s"
    }
}

extension Location {
    /// `LATITUDE,LONGITUDE`, in degrees.
    fileprivate init?(typed text: String) {
        let numbers = text.split(separator: ",", omittingEmptySubsequences: false).map {
            Double($0)
        }
        guard numbers.count == 2, let latitude = numbers[0], let longitude = numbers[1],
            (-90...90).contains(latitude), (-180...180).contains(longitude)
        else { return nil }
        self.init(latitude: latitude, longitude: longitude)
    }
}

/// A field and a text, as `FIELD=VALUE`, `FIELD:TYPE=VALUE` or, of a list, `FIELD:TYPE[]=VALUE`.
package struct FieldText: Sendable {
    package let field: String
    /// Nil: what the schema has for the field.
    package let kind: TypedValueKind?
    /// Whether the value is one of a list. Otherwise the schema says so.
    package let isOfList: Bool
    package let value: String

    /// - Throws: ``StoreError`` with `invalidArguments` where it is none of these.
    package init(_ text: String) throws(StoreError) {
        guard let end = text.firstIndex(of: "="), end > text.startIndex else {
            throw StoreError(.invalidArguments, "expected FIELD=VALUE, found '\(text)'")
        }
        value = String(text[text.index(after: end)...])
        let name = text[..<end]
        // No name of a field has a colon.
        guard let colon = name.lastIndex(of: ":") else {
            (field, kind, isOfList) = (String(name), nil, false)
            return
        }
        let type = name[name.index(after: colon)...]
        isOfList = type.hasSuffix("[]")
        guard colon > name.startIndex,
            let kind = TypedValueKind(rawValue: type.dropLast(isOfList ? 2 : 0).lowercased())
        else {
            let kinds = TypedValueKind.allCases.map(\.rawValue).joined(separator: ", ")
            throw StoreError(
                .invalidArguments,
                "expected FIELD:TYPE=VALUE with one of the types \(kinds), behind which [] makes a "
                    + "list, found '\(text)'")
        }
        (field, self.kind) = (String(name[..<colon]), kind)
    }
}
