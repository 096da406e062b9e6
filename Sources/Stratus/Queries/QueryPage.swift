public import FoundationEssentials
internal import StratusBytes
internal import StratusEngine
internal import StratusJournal
internal import StratusLanguage

/// A page of the records that a query found.
public struct QueryPage: Sendable {
    /// In the order that the query asked for.
    public internal(set) var records: [Record] = []
    /// Why records that may belong here are missing, where the caller asked to skip what is damaged:
    /// as of ``RecordPage/skipped``.
    public internal(set) var skipped: [StoreError] = []
    /// Where the next page begins; nil at the end.
    public internal(set) var cursor: Cursor?
}

extension QueryPage {
    /// A position in the order of a query: behind one record, whether that is still there or not.
    ///
    /// Good for the same query of the same caller, also after a restart. No record whose values
    /// stay is given twice or left out, whatever is saved meanwhile. Layout: `Formats/Query.md`.
    public struct Cursor: Hashable, Sendable {
        private var storeID: StoreID
        /// Of the query: ``QueryPlan/identity``.
        private var query: UInt64
        let position: QueryPosition

        private static let format: UInt8 = 1
        private static let kind: UInt8 = 3
        /// In bytes, up to the length of the sort key.
        private static let headLength = 46

        init(_ position: QueryPosition, of plan: QueryPlan, _ identity: StoreIdentity) {
            storeID = identity.storeID
            query = plan.identity
            self.position = position
        }

        /// The cursor that ``data`` gave.
        ///
        /// - Throws: ``StoreError`` with `invalidArguments` and the place where the bytes are no
        ///   cursor.
        public init(data: Data) throws(StoreError) {
            let bytes = [UInt8](data)
            let span = bytes.span
            guard bytes.count >= Self.headLength + 4 else {
                throw Self.damaged("length", byte: bytes.count)
            }
            guard bytes[0] == Self.format else { throw Self.damaged("format", byte: 0) }
            guard bytes[1] == Self.kind else { throw Self.damaged("kind", byte: 1) }
            let end = bytes.count - 4
            guard
                UInt32(truncatingIfNeeded: Checksum.xxh3(span, in: 0..<end)) == span.uint32(at: end)
            else { throw Self.damaged("checksum", byte: end) }
            guard end - Self.headLength <= Query.sortDescriptorLimit * SortKey.partLimit else {
                throw Self.damaged("length", byte: end)
            }
            storeID = StoreID(span, at: 2)
            query = span.uint64(at: 18)
            position = QueryPosition(
                key: SortKey(bytes: Array(bytes[Self.headLength..<end])),
                zone: span.uint32(at: 26),
                name: Hash128(high: span.uint64(at: 30), low: span.uint64(at: 38)))
        }

        private static func damaged(_ kind: String, byte: Int) -> StoreError {
            var error = StoreError(.invalidArguments, "the query cursor is damaged")
            error.place = StoreError.Place(file: "", byte: byte, kind: "cursor.\(kind)")
            return error
        }

        /// The cursor as bytes.
        public var data: Data {
            var writer = ByteWriter(capacity: Self.headLength + position.key.bytes.count + 4)
            writer.uint8(Self.format)
            writer.uint8(Self.kind)
            storeID.write(to: &writer)
            writer.uint64(query)
            writer.uint32(position.zone)
            writer.hash(position.name)
            writer.append(position.key.bytes)
            writer.uint32(UInt32(truncatingIfNeeded: Checksum.xxh3(writer.bytes.span)))
            return Data(writer.bytes)
        }

        /// Fails where the cursor is of another store, query or caller.
        func check(_ plan: QueryPlan, _ identity: StoreIdentity) throws(EngineError) {
            guard storeID == identity.storeID else {
                throw .refused(.invalidArguments, "the query cursor is of another store")
            }
            guard query == plan.identity else {
                throw .refused(
                    .invalidArguments, "the query cursor is of another query or another caller")
            }
        }
    }
}

extension QueryPage.Cursor: LosslessStringConvertible {
    /// The cursor that ``description`` gave, or nil.
    public init?(_ description: String) {
        guard let data = Data(base64Encoded: description),
            let cursor = try? QueryPage.Cursor(data: data)
        else { return nil }
        self = cursor
    }

    /// The cursor in base64.
    public var description: String { data.base64EncodedString() }
}

/// Where a record stands in the order of a query: by its sort key, then in the store's own order.
struct QueryPosition: Hashable, Comparable, Sendable {
    var key: SortKey
    var zone: UInt32
    /// The hash of the record's name.
    var name: Hash128

    static func < (left: QueryPosition, right: QueryPosition) -> Bool {
        if !left.key.bytes.isEmpty, left.key != right.key { return left.key < right.key }
        return (left.zone, left.name.high, left.name.low)
            < (right.zone, right.name.high, right.name.low)
    }

    /// Of two positions in the same order the one with the lesser prefix comes first.
    var prefix: UInt64 {
        if key.bytes.isEmpty { return UInt64(zone) << 32 | name.high >> 32 }
        var prefix: UInt64 = 0
        for place in 0..<8 {
            prefix = prefix << 8 | (place < key.bytes.count ? UInt64(key.bytes[place]) : 0)
        }
        return prefix
    }

    /// The place in its zone behind it; nil where none is.
    var successor: RecordPage.Cursor? {
        let (low, carries) = name.low.addingReportingOverflow(1)
        if carries && name.high == .max { return nil }
        return RecordPage.Cursor(zone: zone, high: name.high + (carries ? 1 : 0), low: low)
    }
}

/// The positions that a page may still have.
struct QueryWindow: Sendable {
    /// Records up to there were on earlier pages.
    let start: QueryPosition?
    /// The first position that is known to be on a later page.
    fileprivate(set) var bound: QueryPosition?

    func contains(_ position: QueryPosition) -> Bool {
        if let start, position <= start { return false }
        if let bound, bound <= position { return false }
        return true
    }

    /// Whether a page without an order of its own may have a record.
    func mayHold(_ zone: UInt32, _ name: Hash128) -> Bool {
        contains(QueryPosition(key: SortKey(), zone: zone, name: name))
    }
}

/// The first records of an order, as many as a page has, out of those that are added.
struct QueryRows: Sendable {
    private struct Row: Sendable {
        var position: QueryPosition
        var record: Record
        var length: Int
    }

    private let limit: Int
    private(set) var window: QueryWindow
    /// At most two pages of records, unsorted. One that was found twice may be there twice.
    private var rows: [Row] = []
    /// What their entries take, in bytes.
    private var length = 0

    init(_ page: Page, behind start: QueryPosition?) {
        limit = page.limit
        window = QueryWindow(start: start)
    }

    /// Adds a record whose entry takes `length` bytes.
    mutating func add(_ record: Record, at position: QueryPosition, length: Int) {
        guard window.contains(position) else { return }
        rows.append(Row(position: position, record: record, length: length))
        self.length += length
        if rows.count > 2 * limit || self.length > 2 * Page.lengthLimit { cut() }
    }

    /// Whether a page is full and the next one has a record, of records that are added in order.
    var isFull: Bool {
        window.bound != nil || rows.count > limit
            || rows.count > 1 && length > Page.lengthLimit
    }

    /// Keeps one page.
    mutating func cut() {
        var kept: [Int] = []
        kept.reserveCapacity(min(limit, rows.count))
        length = 0
        for place in order {
            if let last = kept.last, rows[last].position == rows[place].position { continue }
            guard
                kept.count < limit,
                kept.isEmpty || length + rows[place].length <= Page.lengthLimit
            else {
                window.bound = rows[place].position
                break
            }
            length += rows[place].length
            kept.append(place)
        }
        // Exchanged rather than copied; what was at a place before may have been moved on.
        for place in kept.indices {
            var source = kept[place]
            while source < place { source = kept[source] }
            kept[place] = source
            rows.swapAt(place, source)
        }
        rows.removeLast(rows.count - kept.count)
    }

    /// The places of the rows in their order: rows themselves have more parts than is cheap to move, and
    /// most are told apart by the beginnings of their positions.
    private var order: [Int] {
        var order = rows.indices.map { (prefix: rows[$0].position.prefix, place: $0) }
        order.sort { left, right in
            left.prefix == right.prefix
                ? rows[left.place].position < rows[right.place].position
                : left.prefix < right.prefix
        }
        return order.map(\.place)
    }

    /// The page, and where it ends if there is another.
    mutating func finish() -> (records: [Record], end: QueryPosition?) {
        cut()
        return (rows.map(\.record), window.bound == nil ? nil : rows.last?.position)
    }
}
