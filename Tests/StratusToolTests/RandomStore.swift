import FoundationEssentials
import Stratus
import Support

/// Makes changes to a store that are random: of several users and of the public database, to zones
/// that come and go, with values of all kinds, parents, references and assets.
struct RandomStore {
    private static let zones = ["notes", "more notes", RecordZone.ID.default.zoneName]
    private static let users: [String?] = [nil, "alice", "böb"]
    private static let names = (0..<24).map { number in
        number % 3 == 0 ? "n\(number)" : String(repeating: "#", count: number) + "/\(number)"
    }

    private let container: Container
    private var random: SeededGenerator

    init(_ container: Container, seed: UInt64) {
        self.container = container
        random = SeededGenerator(seed: seed)
    }

    /// So many batches; those that the store refuses change nothing.
    mutating func change(batches: Int) async throws {
        for _ in 0..<batches {
            let user = Self.users[random.below(Self.users.count)]
            let database =
                user.map { container.privateDatabase(for: $0) }
                ?? container.publicDatabase(as: "alice")
            let zone =
                user == nil
                ? .default : RecordZone.ID(zoneName: Self.zones[random.below(Self.zones.count)])
            if !zone.isDefault, random.oneIn(20) {
                _ = try? await database.deleteRecordZone(withID: zone)
                continue
            }
            if !zone.isDefault { _ = try await database.save(RecordZone(zoneID: zone)) }
            var saved: [Record] = []
            var deleted: [Record.ID] = []
            var left = Set(Self.names)
            for _ in 0..<random.below(6) {
                guard let name = Self.names.randomElement(using: &random), left.remove(name) != nil
                else { continue }
                let id = Record.ID(recordName: name, zoneID: zone)
                if random.oneIn(4) {
                    deleted.append(id)
                } else if let record = await record(id, database) {
                    saved.append(record)
                }
            }
            _ = try? await database.modifyRecords(
                saving: saved, deleting: deleted, savePolicy: .allKeys,
                atomically: random.oneIn(2))
        }
    }

    private mutating func record(_ id: Record.ID, _ database: Database) async -> Record? {
        var record =
            if let known = try? await database.record(for: id) { known } else {
                Record(recordType: random.oneIn(2) ? "Note" : "Item", recordID: id)
            }
        for _ in 0..<random.below(5) {
            let kind = random.below(9)
            let key = "field\(kind)"
            record[key] = random.oneIn(6) ? nil : value(kind, in: id.zoneID)
        }
        if random.oneIn(3) { record.encryptedValues["secret"] = .int64(Int64(random.below(1000))) }
        if random.oneIn(3) {
            record.parent =
                random.oneIn(4) ? nil : Reference(recordID: another(in: id.zoneID))
        }
        return record
    }

    private mutating func another(in zone: RecordZone.ID) -> Record.ID {
        Record.ID(recordName: Self.names[random.below(Self.names.count)], zoneID: zone)
    }

    private mutating func value(_ kind: Int, in zone: RecordZone.ID) -> RecordValue {
        switch kind {
        case 0: return .string(["", "text", "\u{0}\u{7f}\n\"\\", "👩‍👩‍👧 ü"][random.below(4)])
        case 1: return .int64(Int64(bitPattern: random.next()) >> random.below(64))
        case 2:
            let bits = [Double.nan.bitPattern, Double.nan.bitPattern | 5, (-0.0).bitPattern]
            return .double(Double(bitPattern: random.oneIn(2) ? bits[random.below(3)] : finite()))
        case 3:
            return .date(
                Date(timeIntervalSince1970: Double(random.below(1 << 40)) / 1024 - 1e6))
        case 4: return .bytes(Data(random.bytes(random.below(40))))
        case 5:
            var location = Location(latitude: 89.125, longitude: -0.1)
            location.altitude = Double(random.below(1000)) / 7
            location.timestamp = Date(timeIntervalSince1970: Double(random.below(1 << 40)) / 512)
            return .location(location)
        case 6:
            return .reference(
                Reference(
                    recordID: another(in: zone), action: random.oneIn(2) ? .none : .deleteSelf))
        case 7: return .asset(Asset(data: Data(random.bytes(1 + random.below(3000)))))
        default:
            let element = random.below(8)
            return .list((0..<random.below(4)).map { _ in value(element, in: zone) })
        }
    }

    private mutating func finite() -> UInt64 {
        let bits = random.next()
        return Double(bitPattern: bits).isFinite ? bits : 0
    }
}
