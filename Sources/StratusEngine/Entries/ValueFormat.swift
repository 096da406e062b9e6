internal import StratusAssets
package import StratusBytes

/// How values lie in an entry: `Formats/Record.md`, "Values".
package enum ValueFormat {
    /// Gives `body` where the value lies that fills `range` or, of a list, each of its elements.
    package static func forEachElement(
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
    package static func check(
        _ bytes: Span<UInt8>, in range: Range<Int>, _ kind: FieldKind
    ) throws(FormatError) {
        if !kind.isList, let element = kind.element { return try check(bytes, in: range, element) }
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
}
