internal import StratusAssets
internal import StratusBytes
internal import StratusJournal
internal import StratusEngine

/// The assets among the fields of a record, as they lie in its entry.
enum AssetFields {
    /// How many bytes the assets of a value have together.
    static func length(
        _ bytes: Span<UInt8>, in range: Range<Int>, _ kind: FieldKind
    ) throws(FormatError) -> Int {
        var total = 0
        try ValueFormat.forEachElement(bytes, in: range, kind) { place throws(FormatError) in
            var cursor = ByteCursor(at: place.lowerBound)
            let part = bytes.extracting(0..<place.upperBound)
            let length = try AssetContent(summary: part, &cursor).length
            guard total < AssetContent.lengthLimit else { throw .value("asset length") }
            total += length
        }
        return total
    }

    /// What the assets of a value consist of.
    static func contents(
        _ bytes: Span<UInt8>, in range: Range<Int>, _ kind: FieldKind
    ) throws(FormatError) -> [AssetContent] {
        var contents: [AssetContent] = []
        try ValueFormat.forEachElement(bytes, in: range, kind) { place throws(FormatError) in
            var cursor = ByteCursor(at: place.lowerBound)
            contents.append(try AssetContent(bytes.extracting(0..<place.upperBound), &cursor))
        }
        return contents
    }

    /// A value in the form that is hashed, which says what the bytes are and not where they lie.
    static func canonical(
        _ bytes: Span<UInt8>, in range: Range<Int>, _ kind: FieldKind
    ) throws(FormatError) -> [UInt8] {
        var writer = ByteWriter()
        var count = 0
        try ValueFormat.forEachElement(bytes, in: range, kind) { place throws(FormatError) in
            var cursor = ByteCursor(at: place.lowerBound)
            let part = bytes.extracting(0..<place.upperBound)
            var summary = ByteWriter(capacity: 48)
            try AssetContent(summary: part, &cursor).writeSummary(to: &summary)
            if kind.isList { writer.varint(summary.count) }
            writer.append(summary.bytes)
            count += 1
        }
        guard kind.isList else { return writer.bytes }
        var list = ByteWriter()
        list.varint(count)
        list.append(writer.bytes)
        return list.bytes
    }
}
