import FoundationEssentials
import Stratus

/// The record of all workloads: 8 fields, about 320 bytes.
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

    mutating func uuid() -> String {
        let (a, b) = (next(), next())
        let bytes = withUnsafeBytes(of: (a, b)) { Array($0) }
        return UUID(
            uuid: (
                bytes[0], bytes[1], bytes[2], bytes[3], bytes[4], bytes[5], bytes[6], bytes[7],
                bytes[8], bytes[9], bytes[10], bytes[11], bytes[12], bytes[13], bytes[14], bytes[15]
            )
        ).uuidString
    }

    private static let words = (0..<64).map { "word\($0)" }

    mutating func text(_ length: Int) -> String {
        var text = ""
        while text.utf8.count < length { text += Self.words[Int(next() % 64)] + " " }
        return String(text.prefix(length))
    }

    mutating func record(in zone: RecordZone.ID) -> Record {
        var record = Record(
            recordType: "Item", recordID: Record.ID(recordName: uuid(), zoneID: zone))
        record["title"] = .string(text(24))
        record["body"] = .string(text(160))
        record["count"] = .int64(Int64(next() % 1_000_000))
        record["rank"] = .int64(Int64(next() % 1_000_000))
        record["score"] = .double(Double(next() % 1_000_000) / 7)
        record["when"] = .date(Date(timeIntervalSinceReferenceDate: Double(next() % 1_000_000_000)))
        record["owner"] = .reference(
            Reference(recordID: Record.ID(recordName: uuid(), zoneID: zone)))
        var bytes = Data()
        for _ in 0..<4 { withUnsafeBytes(of: next()) { bytes.append(contentsOf: $0) } }
        record["data"] = .bytes(bytes)
        return record
    }
}
