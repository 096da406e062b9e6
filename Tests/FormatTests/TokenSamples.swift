import FoundationEssentials
import Stratus
import StratusBytes

/// A token as `Formats/Token.md` says.
struct TokenFields: Equatable {
    /// What a token has amid a round.
    struct Round: Equatable {
        var bound: UInt64
        var head: UInt64
        /// Of a zone the share whose departures are read, of a database the last zone.
        var place: UInt32 = 0
        /// Only of a zone, as the ordinal.
        var row: UInt64 = 0
        var ordinal: UInt32 = 0
    }

    var scope: UInt8
    var store: [UInt64]
    var lineage: UInt64
    var database: UInt32
    var zone: UInt32
    var position: UInt64
    var fetchFloor: UInt64 = 0
    var fetchHead: UInt64 = 0
    var round: Round?

    private static let names: [UInt8: String] = [
        1: "zone", 2: "database", 4: "shared-zone", 5: "shared-database", 7: "store",
    ]

    /// Those that are known.
    static var scopes: Set<UInt8> { Set(names.keys) }

    private static func hasZone(_ scope: UInt8) -> Bool { scope == 1 || scope == 4 }

    /// The fields as they stand in the expectation.
    var line: String {
        let name = Self.names[scope] ?? ""
        let store = store.map { Hex.encode($0) }.joined()
        let round = round ?? Round(bound: 0, head: 0)
        let zone = scope == 5 ? round.place : zone
        let beginning =
            "\(name) store \(store) lineage \(Hex.encode(lineage)) database \(database) "
            + "zone \(zone) position \(position) "
        switch scope {
        case 4:
            return beginning + "bound \(round.bound) head \(round.head) share \(round.place) "
                + "row \(round.row) ordinal \(round.ordinal)"
        case 5: return beginning + "bound \(round.bound) head \(round.head)"
        default: return beginning + "fetchFloor \(fetchFloor) fetchHead \(fetchHead)"
        }
    }

    /// Without looking at what a reader must check.
    init(_ bytes: [UInt8]) {
        let span = bytes.span
        scope = bytes[1] & 0x7f
        store = [span.uint64(at: 2), span.uint64(at: 10)]
        lineage = span.uint64(at: 18)
        database = span.uint32(at: 26)
        zone = Self.hasZone(scope) ? span.uint32(at: 30) : 0
        let place = Self.hasZone(scope) ? 34 : 30
        position = span.uint64(at: place)
        guard bytes[1] >= 0x80 else { return }
        let words = (span.uint64(at: place + 8), span.uint64(at: place + 16))
        guard scope == 4 || scope == 5 else {
            (fetchFloor, fetchHead) = words
            return
        }
        var round = Round(bound: words.0, head: words.1, place: span.uint32(at: place + 24))
        if scope == 4 {
            round.row = span.uint64(at: place + 28)
            round.ordinal = span.uint32(at: place + 36)
        }
        self.round = round
    }

    /// How many bytes a token has whose second byte is this.
    static func length(_ scope: UInt8) -> Int {
        let amid =
            switch scope & 0x7f {
            case 4: 32
            case 5: 20
            default: 16
            }
        return (hasZone(scope & 0x7f) ? 46 : 42) + (scope < 0x80 ? 0 : amid)
    }

    /// The rule that a token with a checksum that holds breaks amid a fetch or a round.
    var fault: String? {
        guard let round else { return fetchFloor == 0 ? "fetchFloor" : nil }
        if round.ordinal > 255 { return "ordinal" }
        if round.bound == 0 || round.bound < position { return "bound" }
        return round.head < round.bound ? "head" : nil
    }

    init(
        scope: UInt8, database: UInt32, zone: UInt32 = 0, position: UInt64,
        fetchFloor: UInt64 = 0, fetchHead: UInt64 = 0, round: Round? = nil
    ) {
        self.scope = scope
        store = [0x0011_2233_4455_6677, 0x8899_aabb_ccdd_eeff]
        lineage = 0x0f1e_2d3c_4b5a_6978
        self.database = database
        self.zone = zone
        self.position = position
        self.fetchFloor = fetchFloor
        self.fetchHead = fetchHead
        self.round = round
    }

    var encoded: [UInt8] {
        var writer = ByteWriter()
        writer.uint8(1)
        writer.uint8(scope | (fetchFloor == 0 && round == nil ? 0 : 0x80))
        for word in store { writer.uint64(word) }
        writer.uint64(lineage)
        writer.uint32(database)
        if Self.hasZone(scope) { writer.uint32(zone) }
        writer.uint64(position)
        if let round {
            writer.uint64(round.bound)
            writer.uint64(round.head)
            writer.uint32(round.place)
            if scope == 4 {
                writer.uint64(round.row)
                writer.uint32(round.ordinal)
            }
        } else if fetchFloor != 0 {
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

    /// Of a zone of a shared database, amid a round.
    private static func shared(
        position: UInt64 = 123_456, bound: UInt64 = 234_567, head: UInt64 = 345_678,
        share: UInt32 = 0, row: UInt64 = 0, ordinal: UInt32 = 0
    ) -> TokenFields {
        TokenFields(
            scope: 4, database: 3, zone: 77, position: position,
            round: TokenFields.Round(
                bound: bound, head: head, place: share, row: row, ordinal: ordinal))
    }

    /// Of each scope, at rest and amid a fetch or a round. The second is the example of the page.
    static let validTokens: [[UInt8]] = {
        let tokens: [TokenFields] = [
            TokenFields(scope: 1, database: 1, zone: 1, position: 0),
            TokenFields(
                scope: 1, database: 2, zone: 77, position: 123_456, fetchFloor: 654_321,
                fetchHead: 765_432),
            TokenFields(
                scope: 1, database: .max, zone: .max, position: 0xfff << 52 | ((1 << 52) - 1)),
            TokenFields(scope: 2, database: 0, position: 0),
            TokenFields(scope: 2, database: 3, position: 5 << 52 | 98_765),
            TokenFields(
                scope: 2, database: 3, position: 98_765, fetchFloor: 123_456,
                fetchHead: 234_567),
            TokenFields(scope: 4, database: 3, zone: 77, position: 5 << 52 | 98_765),
            // Changes are read, then departures; then the round has ended, and more is coming.
            shared(row: 200_000), shared(share: 79, row: 200_123, ordinal: 255),
            shared(position: 234_567), TokenFields(scope: 5, database: 3, position: 98_765),
            TokenFields(
                scope: 5, database: 3, position: 0,
                round: TokenFields.Round(
                    bound: 5 << 52 | 98_765, head: 5 << 52 | 98_766, place: 77)),
            TokenFields(scope: 7, database: 0, position: 5 << 52 | 98_765),
        ]
        return tokens.map { $0.encoded }
    }()

    /// Files of tokens, one a line.
    static func tokens() -> [String: StoreFiles] {
        let whole = validTokens[1]
        func changed(_ place: Int, to byte: UInt8) -> [UInt8] {
            var bytes = Array(whole.dropLast(4))
            bytes[place] = byte
            return TokenFields.sealed(bytes)
        }
        var flipped = whole
        flipped[34] ^= 1
        var floor = Array(whole.dropLast(4))
        for place in 42..<50 { floor[place] = 0 }
        let database = TokenFields(
            scope: 5, database: 3, position: 0, round: TokenFields.Round(bound: 0, head: 1))
        let damaged: [[UInt8]] = [
            [], Array(whole.dropLast()), whole + [0], changed(0, to: 2), changed(1, to: 3), flipped,
            TokenFields.sealed(floor), changed(1, to: 0x86), changed(1, to: 0x87),
            shared(position: 234_568).encoded, shared(row: 200_000, ordinal: 256).encoded,
            shared(head: 234_566).encoded, database.encoded,
        ]
        return [
            "valid/tokens": [Sample.tokens: text(validTokens)],
            "damaged/tokens": [Sample.tokens: text(damaged) + Array("no base64!\n".utf8)],
        ]
    }
}
