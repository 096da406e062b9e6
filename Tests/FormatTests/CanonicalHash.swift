import FoundationEssentials
import Stratus
import StratusBytes

/// Values as `Formats/Record.md`, "Values", lays them out, written a second time for these tests.
enum ValueBytes {
    private static func element(_ value: RecordValue) -> (kind: UInt8, name: String) {
        switch value {
        case .string: (1, "string")
        case .int64: (2, "int64")
        case .double: (3, "double")
        case .date: (4, "date")
        case .bytes: (5, "bytes")
        case .location: (6, "location")
        case .reference: (7, "reference")
        case .asset: (8, "asset")
        case .list: (0, "list")
        }
    }

    static func kind(of value: RecordValue) -> UInt8 {
        guard case .list(let values) = value else { return element(value).kind }
        return 0x20 | (values.first.map { element($0).kind } ?? 0)
    }

    static func name(of value: RecordValue) -> String {
        guard case .list(let values) = value, let first = values.first else {
            return element(value).name
        }
        return element(first).name + "-list"
    }

    static func numbers(of location: Location) -> [Double] {
        [
            location.latitude, location.longitude, location.altitude,
            location.horizontalAccuracy, location.verticalAccuracy, location.course,
            location.speed, location.timestamp.timeIntervalSinceReferenceDate,
        ]
    }

    static func bytes(of value: RecordValue) -> [UInt8] {
        var writer = ByteWriter()
        switch value {
        case .string(let text): writer.text(text)
        case .int64(let number): writer.signedVarint(number)
        case .double(let number): writer.double(number)
        case .date(let date): writer.double(date.timeIntervalSinceReferenceDate)
        case .bytes(let data): writer.append([UInt8](data))
        case .location(let location):
            for number in numbers(of: location) { writer.double(number) }
        case .reference(let reference):
            writer.uint8(reference.action.rawValue)
            writer.text(reference.recordID.recordName)
        case .asset(let asset):
            // As it is hashed; how it is stored is the store's matter.
            writer.varint(asset.size ?? 0)
            writer.append(Hex.decode(asset.fileChecksum ?? "") ?? [])
        case .list(let values):
            writer.varint(values.count)
            for value in values {
                let bytes = bytes(of: value)
                writer.varint(bytes.count)
                writer.append(bytes)
            }
        }
        return writer.bytes
    }
}

/// What the store adds to a record, as numbers.
struct SystemValues {
    var tag: UInt64
    var created: Int64
    var modified: Int64
    var creator: String
    var modifier: String

    init(_ record: Record) {
        func milliseconds(_ date: Date?) -> Int64 {
            Int64(((date?.timeIntervalSince1970 ?? 0) * 1000).rounded())
        }
        tag = record.recordChangeTag.flatMap { UInt64($0) } ?? 0
        created = milliseconds(record.creationDate)
        modified = milliseconds(record.modificationDate)
        creator = record.creatorUserRecordID?.recordName ?? ""
        modifier = record.lastModifiedUserRecordID?.recordName ?? ""
    }
}

/// The content hash of a database: `Formats/Hash.md`.
struct DatabaseHash {
    private let withSystem: Bool
    private var zones: [(name: String, digest: [UInt8])] = []

    init(withSystem: Bool) { self.withSystem = withSystem }

    mutating func add(_ zone: RecordZone.ID, _ records: [Record]) {
        if zone.isDefault, records.isEmpty { return }
        var sum = [UInt8](repeating: 0, count: 32)
        for record in records {
            var carry = 0
            for (place, byte) in digest(of: record).enumerated() {
                let total = Int(sum[place]) + Int(byte) + carry
                sum[place] = UInt8(total & 0xff)
                carry = total >> 8
            }
        }
        var writer = ByteWriter()
        writer.countedText(zone.zoneName)
        writer.varint(records.count)
        writer.append(sum)
        zones.append((zone.zoneName, SHA256.hash(writer.bytes)))
    }

    /// 64 digits.
    var finished: String {
        var writer = ByteWriter()
        writer.varint(zones.count)
        for zone in zones.sorted(by: { $0.name < $1.name }) { writer.append(zone.digest) }
        return Hex.encode(SHA256.hash(writer.bytes))
    }

    private func digest(of record: Record) -> [UInt8] {
        var writer = ByteWriter()
        writer.countedText(record.recordID.recordName)
        writer.countedText(record.recordType)
        writer.uint8(record.parent == nil ? 0 : 1)
        if let parent = record.parent { writer.countedText(parent.recordID.recordName) }
        let keys = record.allKeys
        writer.varint(keys.count)
        for key in keys {
            guard let value = record[key] else { continue }
            writer.countedText(key)
            let flag: UInt8 = record.encryptedValues[key] == nil ? 0 : 0x40
            writer.uint8(ValueBytes.kind(of: value) | flag)
            let bytes = ValueBytes.bytes(of: value)
            writer.varint(bytes.count)
            writer.append(bytes)
        }
        if withSystem {
            let system = SystemValues(record)
            writer.uint64(system.tag)
            writer.int64(system.created)
            writer.int64(system.modified)
            writer.countedText(system.creator)
            writer.countedText(system.modifier)
        }
        return SHA256.hash(writer.bytes)
    }
}
