internal import FoundationEssentials
internal import StratusAssets
internal import StratusBytes
internal import StratusEngine

// How values are read and written: `Formats/Record.md`, "Values".
extension ValueFormat {
    /// Why a value cannot be a field's.
    enum Refusal: Error {
        case nestedList
        case mixedList
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

    /// Reads the value of `kind` that fills `range`.
    @inline(__always)
    static func value(
        _ bytes: [UInt8], in range: Range<Int>, kind: FieldKind, zone: RecordZone.ID,
        assets: AssetStore? = nil
    ) throws(FormatError) -> RecordValue {
        if !kind.isList, let element = kind.element {
            return try value(bytes, in: range, kind: element, zone: zone, assets: assets)
        }
        return try list(bytes, in: range, kind: kind, zone: zone, assets: assets)
    }

    private static func list(
        _ bytes: [UInt8], in range: Range<Int>, kind: FieldKind, zone: RecordZone.ID,
        assets: AssetStore?
    ) throws(FormatError) -> RecordValue {
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
        switch kind {
        case .string:
            return .string(try cursor.text(part, count: range.count))
        case .int64:
            let number = try cursor.signedVarint(part)
            try cursor.end(part)
            return .int64(number)
        case .double:
            let number = try cursor.double(part)
            try cursor.end(part)
            return .double(number)
        case .date:
            let seconds = try cursor.double(part)
            try cursor.end(part)
            return .date(Date(timeIntervalSinceReferenceDate: seconds))
        case .bytes:
            return .bytes(Data(bytes[range]))
        case .location:
            let location = try location(part, &cursor)
            try cursor.end(part)
            return .location(location)
        case .reference:
            let (code, target) = try ReferenceFields.read(part, in: range)
            guard let action = Reference.Action(rawValue: code.rawValue) else {
                throw .newer("action")
            }
            guard let name = part.text(in: target) else { throw .text }
            return .reference(
                Reference(
                    recordID: Record.ID(recordName: name, zoneID: zone), action: action))
        case .asset:
            let content = try AssetContent(part, &cursor)
            try cursor.end(part)
            return .asset(Asset(content, in: assets))
        }
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

extension StoredFields {
    /// Decodes a value, which was checked before.
    @inline(__always)
    func value(_ field: Field, in zone: RecordZone.ID, assets: AssetStore?) -> RecordValue {
        do throws(FormatError) {
            return try ValueFormat.value(
                bytes, in: field.range, kind: field.kind, zone: zone, assets: assets)
        } catch {
            preconditionFailure("a value that was checked cannot be decoded: \(error)")
        }
    }
}
