import FoundationEssentials
import Stratus
import StratusBytes

/// A token as `Formats/Token.md` says.
struct TokenFields: Equatable {
    var scope: UInt8
    var store: [UInt64]
    var lineage: UInt64
    var database: UInt32
    var zone: UInt32
    var position: UInt64
    var fetchFloor: UInt64
    var fetchHead: UInt64

    /// The fields as they stand in the expectation.
    var line: String {
        let scope = scope == 1 ? "zone" : "database"
        let store = store.map { Hex.encode($0) }.joined()
        return "\(scope) store \(store) lineage \(Hex.encode(lineage)) database \(database) "
            + "zone \(zone) position \(position) fetchFloor \(fetchFloor) fetchHead \(fetchHead)"
    }

    /// Without looking at what a reader must check.
    init(_ bytes: [UInt8]) {
        let span = bytes.span
        scope = bytes[1] & 0x7f
        store = [span.uint64(at: 2), span.uint64(at: 10)]
        lineage = span.uint64(at: 18)
        database = span.uint32(at: 26)
        zone = scope == 1 ? span.uint32(at: 30) : 0
        let place = scope == 1 ? 34 : 30
        position = span.uint64(at: place)
        fetchFloor = bytes[1] < 0x80 ? 0 : span.uint64(at: place + 8)
        fetchHead = bytes[1] < 0x80 ? 0 : span.uint64(at: place + 16)
    }

    /// How many bytes a token has whose second byte is this.
    static func length(_ scope: UInt8) -> Int {
        (scope & 0x7f == 1 ? 46 : 42) + (scope < 0x80 ? 0 : 16)
    }

    init(
        scope: UInt8, database: UInt32, zone: UInt32, position: UInt64, fetchFloor: UInt64 = 0,
        fetchHead: UInt64 = 0
    ) {
        self.scope = scope
        store = [0x0011_2233_4455_6677, 0x8899_aabb_ccdd_eeff]
        lineage = 0x0f1e_2d3c_4b5a_6978
        self.database = database
        self.zone = zone
        self.position = position
        self.fetchFloor = fetchFloor
        self.fetchHead = fetchHead
    }

    var encoded: [UInt8] {
        var writer = ByteWriter()
        writer.uint8(1)
        writer.uint8(scope | (fetchFloor == 0 ? 0 : 0x80))
        for word in store { writer.uint64(word) }
        writer.uint64(lineage)
        writer.uint32(database)
        if scope == 1 { writer.uint32(zone) }
        writer.uint64(position)
        if fetchFloor != 0 {
            writer.uint64(fetchFloor)
            writer.uint64(fetchHead)
        }
        return Self.sealed(writer.bytes)
    }

    static func sealed(_ bytes: [UInt8]) -> [UInt8] {
        var writer = ByteWriter()
        writer.append(bytes)
        writer.uint32(UInt32(truncatingIfNeeded: Checksum.xxh3(bytes.span)))
        return writer.bytes
    }
}

extension SampleMaker {
    private static func text(_ tokens: [[UInt8]]) -> [UInt8] {
        tokens.flatMap { Array(Data($0).base64EncodedString().utf8) + [0x0a] }
    }

    /// Files of tokens, one a line.
    static func tokens() -> [String: StoreFiles] {
        let valid = [
            TokenFields(scope: 1, database: 1, zone: 1, position: 0),
            TokenFields(
                scope: 1, database: 2, zone: 77, position: 123_456, fetchFloor: 654_321,
                fetchHead: 765_432),
            TokenFields(
                scope: 1, database: .max, zone: .max, position: 0xfff << 52 | ((1 << 52) - 1)),
            TokenFields(scope: 2, database: 0, zone: 0, position: 0),
            TokenFields(scope: 2, database: 3, zone: 0, position: 5 << 52 | 98_765),
            TokenFields(
                scope: 2, database: 3, zone: 0, position: 98_765, fetchFloor: 123_456,
                fetchHead: 234_567),
        ].map(\.encoded)
        let whole = valid[1]
        var format = Array(whole.dropLast(4))
        format[0] = 2
        var scope = Array(whole.dropLast(4))
        scope[1] = 3
        var flipped = whole
        flipped[34] ^= 1
        var floor = Array(whole.dropLast(4))
        for place in 42..<50 { floor[place] = 0 }
        let damaged = [
            [], Array(whole.dropLast()), whole + [0], TokenFields.sealed(format),
            TokenFields.sealed(scope), flipped, TokenFields.sealed(floor),
        ]
        return [
            "valid/tokens": [Sample.tokens: text(valid)],
            "damaged/tokens": [Sample.tokens: text(damaged) + Array("no base64!\n".utf8)],
        ]
    }
}
