package import StratusAssets
package import StratusBytes

/// Chunks and where they lie: the payload of an entry of kind `chunks` (`Formats/Record.md`,
/// "Chunks").
package enum ChunkEntry {
    package typealias Row = (address: ChunkAddress, place: ChunkLocation)

    /// More than any row takes.
    package static let rowLimit = ChunkAddress.length + 24

    /// In the order in which they lie.
    package static func isBefore(_ left: Row, _ right: Row) -> Bool {
        (left.place.number, left.place.byte) < (right.place.number, right.place.byte)
    }

    package static func write(_ rows: some Collection<Row>, to writer: inout ByteWriter) {
        writer.varint(rows.count)
        for (address, place) in rows {
            address.write(to: &writer)
            writer.varint(place.number)
            writer.varint(place.byte / 8)
            writer.varint(place.storedLength)
            writer.varint(place.length)
        }
    }

    package static func forEach(
        _ bytes: Span<UInt8>, _ body: (ChunkAddress, ChunkLocation) -> Void
    ) throws(FormatError) {
        var cursor = ByteCursor()
        let count = try cursor.count(bytes, upTo: bytes.count / ChunkAddress.length)
        for _ in 0..<count {
            let place = try cursor.range(bytes, count: ChunkAddress.length).lowerBound
            let address = ChunkAddress(bytes, at: place)
            let chunk = ChunkLocation(
                number: try cursor.varint(bytes),
                byte: try cursor.count(bytes, upTo: ChunkLocation.byteLimit / 8) * 8,
                storedLength: Int(try cursor.varint32(bytes)),
                length: Int(try cursor.varint32(bytes)))
            guard chunk.isPossible else { throw .value("place") }
            body(address, chunk)
        }
        try cursor.end(bytes)
    }
}

/// Chunks that are not stored any more: the payload of an entry of kind `reclaimedChunks`.
package enum ReclaimedChunksEntry {
    package static func write(
        _ addresses: some Collection<ChunkAddress>, to writer: inout ByteWriter
    ) {
        for address in addresses { address.write(to: &writer) }
    }

    package static func forEach(
        _ bytes: Span<UInt8>, _ body: (ChunkAddress) -> Void
    ) throws(FormatError) {
        guard bytes.count % ChunkAddress.length == 0 else { throw .truncated }
        for place in stride(from: 0, to: bytes.count, by: ChunkAddress.length) {
            body(ChunkAddress(bytes, at: place))
        }
    }
}

extension ChunkAddress {
    /// Stands for the address where many are kept in mind: two with the same are taken for one.
    package var fingerprint: UInt64 { low.low }

    /// So many chunks are kept in mind at once, by their addresses.
    package static let passLimit = 1 << 20

    /// In which parts `count` chunks are gone through, so that none has many more than that: those
    /// whose addresses begin with a number in the range.
    package static func passes(over count: Int) -> some Sequence<ClosedRange<UInt64>> {
        let passes = UInt64(count / passLimit + 1)
        let width = UInt64.max / passes
        return (0..<passes).lazy.map { pass in
            pass * width...(pass == passes - 1 ? UInt64.max : (pass + 1) * width - 1)
        }
    }
}
