import FoundationEssentials
import Stratus

/// The record of all workloads, as callers make it and as every engine gives it back: a name and
/// 8 fields, about 320 bytes.
struct Item: Sendable {
    var name: String
    var title: String
    var body: String
    var count: Int64
    var rank: Int64
    var score: Double
    /// In seconds since the reference date.
    var when: Double
    var owner: String
    var data: Data
}

extension Item {
    /// A sum over all fields: who has it has decoded them.
    var weight: Int64 {
        var sum = count &+ rank &+ Int64(score) &+ Int64(when) &+ Int64(data.count)
        sum &+= Int64(title.utf8.count &+ body.utf8.count)
        return sum &+ Int64(owner.utf8.count) &+ Int64(data.first ?? 0)
    }

    func equals(_ other: Item) -> Bool {
        name == other.name && title == other.title && body == other.body && count == other.count
            && rank == other.rank && score == other.score && when == other.when
            && owner == other.owner && data == other.data
    }
}

/// Numbers, texts and records from a seed.
struct RecordStream {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var value = state
        value = (value ^ (value >> 30)) &* 0xbf58_476d_1ce4_e5b9
        value = (value ^ (value >> 27)) &* 0x94d0_49bb_1331_11eb
        return value ^ (value >> 31)
    }

    /// A number below `bound`.
    mutating func next(below bound: Int) -> Int { Int(next() % UInt64(bound)) }

    /// A number from 0 up to 1.
    mutating func share() -> Double { Double(next() >> 11) * 0x1p-53 }

    /// The places in another order.
    mutating func shuffled(_ places: Range<Int>) -> [Int] {
        var places = Array(places)
        for last in places.indices.reversed() { places.swapAt(last, next(below: last + 1)) }
        return places
    }

    private static let digits = Array("0123456789ABCDEF".utf8)

    mutating func uuid() -> String {
        var (high, low) = (next(), next())
        return String(unsafeUninitializedCapacity: 36) { text in
            for place in 0..<36 {
                if place == 8 || place == 13 || place == 18 || place == 23 {
                    text[place] = UInt8(ascii: "-")
                } else {
                    text[place] = Self.digits[Int(high >> 60)]
                    high = high << 4 | low >> 60
                    low <<= 4
                }
            }
            return 36
        }
    }

    private static let words = (0..<64).map { Array("word\($0) ".utf8) }

    mutating func text(_ length: Int) -> String {
        var text: [UInt8] = []
        text.reserveCapacity(length + 8)
        while text.count < length { text += Self.words[Int(next() % 64)] }
        return String(decoding: text.prefix(length), as: UTF8.self)
    }

    mutating func item() -> Item {
        var item = Item(
            name: uuid(), title: text(24), body: text(160), count: Int64(next() % 1_000_000),
            rank: Int64(next() % 1_000_000), score: Double(next() % 1_000_000) / 7,
            when: Double(next() % 1_000_000_000), owner: uuid(),
            data: Data(capacity: 32))
        for _ in 0..<4 { withUnsafeBytes(of: next()) { item.data.append(contentsOf: $0) } }
        return item
    }

    mutating func record(in zone: RecordZone.ID) -> Record { Record(item(), in: zone) }
}

/// The records of a run. Each has a stream of its own, so that the name of any is known without
/// making those before it.
struct Items: Sendable {
    var seed: UInt64 = 1

    private func stream(_ index: Int) -> RecordStream {
        var mixed = RecordStream(seed: seed &* 0xd134_2543_de82_ef95 &+ UInt64(index))
        return RecordStream(seed: mixed.next())
    }

    subscript(index: Int) -> Item {
        var stream = stream(index)
        return stream.item()
    }

    /// Another text for a body; cheap, since many are needed between two commits.
    func body(_ index: Int) -> String { Self.bodies[index % Self.bodies.count] }

    private static let bodies: [String] = {
        var stream = RecordStream(seed: 7)
        return (0..<10_007).map { _ in stream.text(160) }
    }()

    func name(_ index: Int) -> String {
        var stream = stream(index)
        return stream.uuid()
    }
}

extension Record {
    init(_ item: Item, ofType type: String = "Item", in zone: RecordZone.ID) {
        self.init(
            recordType: type, recordID: Record.ID(recordName: item.name, zoneID: zone))
        self["title"] = .string(item.title)
        self["body"] = .string(item.body)
        self["count"] = .int64(item.count)
        self["rank"] = .int64(item.rank)
        self["score"] = .double(item.score)
        self["when"] = .date(Date(timeIntervalSinceReferenceDate: item.when))
        self["owner"] = .reference(
            Reference(recordID: Record.ID(recordName: item.owner, zoneID: zone)))
        self["data"] = .bytes(item.data)
    }
}
