/// An engine in the layout that is measured.
enum EngineName: String, Codable, CaseIterable, Sendable {
    case stratus
    /// The same with files that do not change any more read as memory.
    case stratusMapped = "stratus-mapped"
    case sqliteColumns = "sqlite-cols"
    case sqliteBlob = "sqlite-blob"
    case lmdb
    case lmdbFeed = "lmdb-fc"
    case rocksdb
    case leveldb
    /// Groups are made by the engine itself, from as many threads as there are callers.
    case rocksdbNative = "rocksdb-native"
    case levelDBNative = "leveldb-native"
    /// The file system: what the disk allows.
    case raw

    static let stores: [EngineName] = [
        .stratus, .sqliteColumns, .sqliteBlob, .lmdb, .lmdbFeed, .rocksdb, .leveldb,
    ]

    var isRival: Bool {
        switch self {
        case .stratus, .stratusMapped, .raw: false
        default: true
        }
    }
}

/// What is compared.
enum Metric {
    /// Items a second; more is better.
    case rate
    /// The median of an item in microseconds; less is better.
    case latency
    /// Memory of the process at the end; less is better.
    case memory
}

enum Workload: String, Codable, CaseIterable, Sendable {
    case rawSmall = "raw-small"
    case rawLarge = "raw-large"
    case rawFilled = "raw-filled"
    case rawReserved = "raw-reserved"
    case w1 = "W1"
    case w1Sync = "W1-sync"
    case w2 = "W2"
    case w2Thousand = "W2-1000"
    case commit
    case w3 = "W3"
    case w3Zones = "W3-zones"
    case w4 = "W4"
    case w5 = "W5"
    case w5Two = "W5-2"
    case w6Newest = "W6a-newest"
    case w6Random = "W6a-random"
    case w6First = "W6b"
    case w7Warm = "W7-warm"
    case w7Cold = "W7-cold"
    case w7Kill = "W7-kill"
    case w8 = "W8"
    case w10 = "W10"
    case w10Large = "W10-5M"
    /// Makes the store that others read; not measured.
    case prepare
    case prepareLarge = "prepare-5M"

    var title: String {
        switch self {
        case .rawSmall: "write + fdatasync of 512 B into written blocks"
        case .rawLarge: "write + fdatasync of 80,000 B into written blocks"
        case .rawFilled: "write + fdatasync of 512 B, zeros written 1 MiB ahead"
        case .rawReserved: "write + fdatasync of 512 B into reserved blocks"
        case .w1: "durable single saves, 1 caller"
        case .w1Sync: "durable single saves, 1 thread that waits"
        case .w2: "durable single saves, 64 callers"
        case .w2Thousand: "durable single saves, 1,000 callers"
        case .commit: "one commit of 1,000,000 records"
        case .w3: "200 records a durable commit, 1M records, 1 zone"
        case .w3Zones: "200 records a durable commit, 1M records, 100 zones in turn"
        case .w4: "read, compare tag, write; 200 a commit, 200,000 of 1M records"
        case .w5: "random point reads over 1M records, 8 fields decoded, 1 caller"
        case .w5Two: "random point reads over 1M records, 8 fields decoded, 2 callers"
        case .w6Newest: "1,000 changes of 1M, newest"
        case .w6Random: "1,000 changes of 1M, at a random token"
        case .w6First: "first sync of 1M records in pages of 1,000, decoded"
        case .w7Warm: "open to first read, 1M records, closed cleanly, warm"
        case .w7Cold: "open to first read, 1M records, closed cleanly, caches dropped"
        case .w7Kill: "open to first read, 1M records, killed after 100,000 more commits"
        case .w8: "5M zipfian (0.99) updates of 1M records, 200 a commit"
        case .w10: "memory after opening and 100,000 random reads, 1M records"
        case .w10Large: "memory after opening and 100,000 random reads, 5M records"
        case .prepare, .prepareLarge: "stores for the workloads that read"
        }
    }

    var metric: Metric {
        switch self {
        case .w6Newest, .w6Random, .w7Warm, .w7Cold, .w7Kill: .latency
        case .w10, .w10Large: .memory
        default: .rate
        }
    }

    var engines: [EngineName] {
        switch self {
        case .rawSmall, .rawLarge, .rawFilled, .rawReserved: [.raw]
        case .w1Sync: [.stratus]
        case .w2: EngineName.stores + [.rocksdbNative, .levelDBNative]
        case .w5, .w5Two, .w6Newest, .w6Random, .w6First, .w10, .w10Large, .prepare, .prepareLarge:
            EngineName.stores + [.stratusMapped]
        default: EngineName.stores
        }
    }

    /// What has to be there first.
    var base: Workload? {
        switch self {
        case .rawSmall, .rawLarge, .rawFilled, .rawReserved: nil
        case .w1, .w1Sync, .w2, .w2Thousand, .commit, .w3, .w3Zones: nil
        case .prepare, .prepareLarge: nil
        case .w10Large: .prepareLarge
        default: .prepare
        }
    }

    /// `all` leaves out the one that takes half an hour by itself.
    static func chosen(by names: [String]) throws -> [Workload] {
        let measured = allCases.filter { $0 != .prepare && $0 != .prepareLarge }
        if names == ["all"] { return measured.filter { $0 != .w10Large } }
        for name in names where !measured.contains(where: { $0.answers(to: name) }) {
            throw BenchmarkError("there is no workload \(name)\n" + Options.usage)
        }
        guard !names.isEmpty else { throw BenchmarkError(Options.usage) }
        return measured.filter { workload in names.contains { workload.answers(to: $0) } }
    }

    /// W6 is W6a-newest, W6a-random and W6b.
    private func answers(to name: String) -> Bool {
        let (name, own) = (name.lowercased(), rawValue.lowercased())
        if own == name { return true }
        guard own.hasPrefix(name), self != .w10Large else { return false }
        return ["-", "a", "b"].contains(own.dropFirst(name.count).prefix(1))
    }
}
