internal import FoundationEssentials
internal import StratusAssets
internal import StratusBytes

/// How values lie in an entry: `Formats/Record.md`, "Values".
enum ValueFormat {
    /// Why a value cannot be a field's.
    enum Refusal: Error {
        case nestedList
        case mixedList
        case otherZone
        case name
    }

    static func kind(of value: RecordValue) throws(Refusal) -> FieldKind {
        guard case .list(let elements) = value else { return FieldKind(try element(value)) }
        guard let first = elements.first else { return .emptyList }
        let kind = try element(first)
        for other in elements.dropFirst() where try element(other) != kind { throw .mixedList }
        return FieldKind(kind, isList: true)
    }

    private static func element(_ value: RecordValue) throws(Refusal) -> ValueKind {
        switch value {
        case .string: .string
        case .int64: .int64
        case .double: .double
        case .date: .date
        case .bytes: .bytes
        case .location: .location
        case .reference: .reference
        case .asset: .asset
        case .list: throw .nestedList
        }
    }

    /// How many bytes ``write(_:to:)`` will write.
    static func length(of value: RecordValue) -> Int {
        switch value {
        case .string(let text): text.utf8.count
        case .int64(let number): ByteWriter.signedVarintLength(number)
        case .double, .date: 8
        case .bytes(let data): data.count
        case .location: 64
        case .reference(let reference): 1 + reference.recordID.recordName.utf8.count
        case .asset(let asset): asset.content?.encodedLength ?? 0
        case .list(let elements):
            elements.reduce(ByteWriter.varintLength(UInt64(elements.count))) { total, element in
                let length = length(of: element)
                return total + ByteWriter.varintLength(UInt64(length)) + length
            }
        }
    }

    static func write(_ value: RecordValue, to writer: inout ByteWriter) {
        switch value {
        case .string(let text): writer.text(text)
        case .int64(let number): writer.signedVarint(number)
        case .double(let number): writer.double(number)
        case .date(let date): writer.double(date.timeIntervalSinceReferenceDate)
        case .bytes(let data): writer.append(data.span)
        case .location(let location): write(location, to: &writer)
        case .reference(let reference):
            writer.uint8(reference.action.rawValue)
            writer.text(reference.recordID.recordName)
        case .asset(let asset): asset.content?.write(to: &writer)
        case .list(let elements):
            writer.varint(elements.count)
            for value in elements {
                writer.varint(length(of: value))
                write(value, to: &writer)
            }
        }
    }

    private static func write(_ location: Location, to writer: inout ByteWriter) {
        writer.double(location.latitude)
        writer.double(location.longitude)
        writer.double(location.altitude)
        writer.double(location.horizontalAccuracy)
        writer.double(location.verticalAccuracy)
        writer.double(location.course)
        writer.double(location.speed)
        writer.double(location.timestamp.timeIntervalSinceReferenceDate)
    }

    /// Gives `body` where the value lies that fills `range` or, of a list, each of its elements.
    static func forEachElement(
        _ bytes: Span<UInt8>, in range: Range<Int>, _ kind: FieldKind,
        _ body: (Range<Int>) throws(FormatError) -> Void
    ) throws(FormatError) {
        guard kind.isList else { return try body(range) }
        let part = bytes.extracting(0..<range.upperBound)
        var cursor = ByteCursor(at: range.lowerBound)
        let count = try cursor.count(part, upTo: range.count)
        guard kind.element != nil || count == 0 else { throw .value("count") }
        for _ in 0..<count {
            let length = try cursor.count(part, upTo: cursor.remaining(part))
            try body(try cursor.range(part, count: length))
        }
        try cursor.end(part)
    }

    /// Fails exactly where ``value(_:in:kind:zone:assets:)`` does, and makes no value.
    static func check(
        _ bytes: Span<UInt8>, in range: Range<Int>, _ kind: FieldKind
    ) throws(FormatError) {
        try forEachElement(bytes, in: range, kind) { place throws(FormatError) in
            guard let element = kind.element else { throw .value("field kind") }
            try check(bytes, in: place, element)
        }
    }

    private static func check(
        _ bytes: Span<UInt8>, in range: Range<Int>, _ kind: ValueKind
    ) throws(FormatError) {
        switch kind {
        case .bytes: return
        case .string: guard bytes.isText(in: range) else { throw .text }
        case .double, .date: guard range.count == 8 else { throw .value("length") }
        case .location: guard range.count == 64 else { throw .value("length") }
        case .reference: _ = try ReferenceFields.read(bytes, in: range)
        case .int64, .asset:
            let part = bytes.extracting(0..<range.upperBound)
            var cursor = ByteCursor(at: range.lowerBound)
            if kind == .asset {
                _ = try AssetContent(part, &cursor)
            } else {
                _ = try cursor.signedVarint(part)
            }
            try cursor.end(part)
        }
    }

    /// Reads the value of `kind` that fills `range`.
    static func value(
        _ bytes: [UInt8], in range: Range<Int>, kind: FieldKind, zone: RecordZone.ID,
        assets: AssetStore? = nil
    ) throws(FormatError) -> RecordValue {
        if !kind.isList, let element = kind.element {
            return try value(bytes, in: range, kind: element, zone: zone, assets: assets)
        }
        var elements: [RecordValue] = []
        try forEachElement(bytes.span, in: range, kind) { place throws(FormatError) in
            guard let element = kind.element else { throw .value("field kind") }
            elements.append(
                try value(bytes, in: place, kind: element, zone: zone, assets: assets))
        }
        return .list(elements)
    }

    private static func value(
        _ bytes: [UInt8], in range: Range<Int>, kind: ValueKind, zone: RecordZone.ID,
        assets: AssetStore?
    ) throws(FormatError) -> RecordValue {
        let part = bytes.span.extracting(0..<range.upperBound)
        var cursor = ByteCursor(at: range.lowerBound)
        let result: RecordValue
        switch kind {
        case .string:
            result = .string(try cursor.text(part, count: range.count))
        case .int64:
            result = .int64(try cursor.signedVarint(part))
        case .double:
            result = .double(try cursor.double(part))
        case .date:
            let seconds = try cursor.double(part)
            result = .date(Date(timeIntervalSinceReferenceDate: seconds))
        case .bytes:
            result = .bytes(Data(bytes[try cursor.range(part, count: range.count)]))
        case .location:
            result = .location(try location(part, &cursor))
        case .reference:
            let (action, target) = try ReferenceFields.read(part, in: range)
            cursor.position = target.lowerBound
            let name = try cursor.text(part, count: target.count)
            result = .reference(
                Reference(
                    recordID: Record.ID(recordName: name, zoneID: zone), action: action))
        case .asset: result = .asset(Asset(try AssetContent(part, &cursor), in: assets))
        }
        try cursor.end(part)
        return result
    }

    private static func location(
        _ bytes: Span<UInt8>, _ cursor: inout ByteCursor
    ) throws(FormatError) -> Location {
        var location = Location(
            latitude: try cursor.double(bytes), longitude: try cursor.double(bytes))
        location.altitude = try cursor.double(bytes)
        location.horizontalAccuracy = try cursor.double(bytes)
        location.verticalAccuracy = try cursor.double(bytes)
        location.course = try cursor.double(bytes)
        location.speed = try cursor.double(bytes)
        location.timestamp = Date(timeIntervalSinceReferenceDate: try cursor.double(bytes))
        return location
    }
}
