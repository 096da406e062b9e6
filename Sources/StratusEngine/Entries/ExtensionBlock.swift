package import StratusBytes

/// What a later version adds to an entry of a record, a zone or a user: tagged values, of which
/// each says whether a reader that does not know it may pass over it. Layout: `Formats/Record.md`,
/// "Extensions".
package enum ExtensionBlock {
    /// Of a tag: the value may be passed over.
    private static let mayBeIgnored: UInt64 = 1
    private static let countLimit = 255

    /// Passes over a block. Fails with `.newer` where it has what must be known: this version knows
    /// none.
    package static func skip(_ bytes: Span<UInt8>, _ cursor: inout ByteCursor) throws(FormatError) {
        let count = try cursor.count(bytes, upTo: countLimit)
        guard count > 0 else { throw .value("extensions") }
        var next: UInt64 = 0
        for _ in 0..<count {
            let tag = try cursor.varint(bytes)
            guard tag >= next, tag < .max else { throw .value("extensions") }
            next = tag + 1
            _ = try cursor.range(bytes, count: cursor.count(bytes, upTo: bytes.count))
            guard tag & mayBeIgnored != 0 else { throw .newer("extension") }
        }
    }

    /// Passes over the block with which a payload may end.
    package static func end(_ bytes: Span<UInt8>, _ cursor: inout ByteCursor) throws(FormatError) {
        if cursor.remaining(bytes) > 0 { try skip(bytes, &cursor) }
        try cursor.end(bytes)
    }
}
