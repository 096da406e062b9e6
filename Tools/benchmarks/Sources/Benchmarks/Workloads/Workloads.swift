import FoundationEssentials
import Glibc

/// Where and how large a run is.
struct Setting: Sendable {
    var directory: String
    var scale = 1.0
    var engine = EngineName.stratus
    var workload = Workload.w1
    var turn = 1

    func scaled(_ count: Int, atLeast least: Int = 200) -> Int {
        max(least, Int(Double(count) * scale) / least * least)
    }

    /// The store that workloads which read share.
    func base(records: Int) -> String { "\(directory)/bases/\(engine.rawValue)-\(records)" }

    /// The store of one run.
    var store: String { "\(directory)/store-\(engine.rawValue)" }
}

/// All workloads on one engine; a run each, in a process of its own.
struct Workloads<E: Engine> {
    let setting: Setting
    let device: Device
    let items = Items()

    init(_ setting: Setting) {
        self.setting = setting
        device = Device(under: setting.directory)
    }

    var million: Int { setting.scaled(1_000_000, atLeast: 2000) }

    func run() async throws -> Measurement {
        defer { Disk.remove(setting.store) }
        switch setting.workload {
        case .w1: return try await singles(setting.scaled(20_000), callers: 1)
        case .w1Sync: return try await singlesWaiting(setting.scaled(20_000))
        case .w2: return try await singles(setting.scaled(200_000), callers: 64)
        case .w2Thousand:
            return try await singles(setting.scaled(400_000, atLeast: 1000), callers: 1000)
        case .commit: return try await batches(million, of: million)
        case .w3: return try await batches(million, of: 200)
        case .w3Zones: return try await batches(million, of: 200, zones: 100)
        case .w4: return try await comparing(setting.scaled(200_000), of: million)
        case .w5: return try await reads(million, of: million, callers: 1)
        case .w5Two: return try await reads(million, of: million, callers: 2)
        case .w6Newest: return try await someChanges(of: million, isNewest: true)
        case .w6Random: return try await someChanges(of: million, isNewest: false)
        case .w6First: return try await firstSync(of: million)
        case .w7Warm: return try await openings(of: million, dropping: false)
        case .w7Cold: return try await openings(of: million, dropping: true)
        case .w7Kill: return try await openingAfterKill(of: million)
        case .w8: return try await updates(setting.scaled(5_000_000), of: million)
        case .w10: return try await memory(of: million)
        case .w10Large: return try await memory(of: million * 5)
        case .prepare: return try await prepare(million)
        case .prepareLarge: return try await prepare(million * 5)
        case .rawSmall, .rawLarge, .rawFilled, .rawReserved:
            throw BenchmarkError("no workload of a store")
        }
    }

    func measurement() -> Measurement {
        Measurement(
            workload: setting.workload.rawValue, engine: setting.engine.rawValue,
            turn: setting.turn)
    }

    /// A new store with so many zones.
    func fresh(_ purpose: Purpose = .usual, zones: Int = 1) async throws -> E {
        Disk.remove(setting.store)
        try Disk.make(setting.store)
        let engine = try await E(at: setting.store, purpose)
        try await engine.makeZones(zones)
        return engine
    }

    /// The shared store itself, for reading only.
    func base(_ records: Int) async throws -> E {
        try await E(at: setting.base(records: records), .usual)
    }

    /// A copy of the shared store, for changing.
    func copyBase(_ records: Int) throws {
        Disk.remove(setting.store)
        try FileManager.default.copyItem(
            atPath: setting.base(records: records), toPath: setting.store)
    }

    /// Makes the shared store, once.
    func prepare(_ records: Int) async throws -> Measurement {
        let path = setting.base(records: records)
        let completionFile = path + ".complete"
        var result = measurement()
        if access(completionFile, F_OK) == 0 { return result }
        Disk.remove(path)
        try Disk.make(path)
        let engine = try await E(at: path, .batches)
        try await engine.makeZones(1)
        let probe = Probe(on: device)
        let size = 2000
        for start in stride(from: 0, to: records, by: size) {
            let inputs = (start..<min(start + size, records)).map {
                engine.input(items[$0], in: 0)
            }
            try await probe.timed { try await engine.saveAll(inputs) }
        }
        try await check(engine, 0..<records)
        try await engine.close()
        guard FileManager.default.createFile(atPath: completionFile, contents: nil) else {
            throw BenchmarkError("cannot write \(completionFile)")
        }
        result.count = records
        probe.finish(&result)
        return result
    }
}

/// A sum over names that does not depend on their order.
struct NameSum: Equatable {
    var count = 0
    private var sum: UInt64 = 0

    mutating func add(_ name: String) {
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        for byte in name.utf8 { hash = (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01b3 }
        sum &+= hash ^ (hash >> 29)
        count += 1
    }
}

extension Workloads {
    /// Whether the feeds of all zones hold each of these records once, and ascend.
    func check(_ engine: E, _ indices: Range<Int>, zones: Int = 1) async throws {
        var expected = NameSum()
        for index in indices { expected.add(items.name(index)) }
        let found = try await feed(engine, zones: zones)
        guard found == expected else {
            throw BenchmarkError(
                "the feed holds \(found.count) records, not these \(expected.count)")
        }
        guard zones == 1 else { return }
        let reader = try engine.reader()
        for index in stride(from: indices.lowerBound, to: indices.upperBound, by: 997) {
            let record = try await reader.get(engine.key(items.name(index), in: 0))
            guard record.name == items[index].name, record.rank == items[index].rank,
                record.data == items[index].data, record.owner == items[index].owner
            else { throw BenchmarkError("record \(index) is another") }
        }
    }

    func feed(_ engine: E, zones: Int = 1) async throws -> NameSum {
        let reader = try engine.reader()
        var found = NameSum()
        for zone in 0..<UInt32(zones) {
            var token: E.Reader.Token?
            var last: UInt64 = 0
            var moreComing = true
            while moreComing {
                let page = try await reader.changes(in: zone, since: token, limit: 1000)
                for (item, place) in zip(page.items, page.places) {
                    guard place > last else { throw BenchmarkError("the feed does not ascend") }
                    last = place
                    found.add(item.name)
                }
                token = page.token
                moreComing = page.moreComing
            }
        }
        return found
    }
}
