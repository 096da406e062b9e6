import CLMDB
import CLevelDB
import CSQLite

typealias LSM<Tree: LSMTree> = RivalEngine<LSMRival<Tree>>

/// From names to types.
enum Engines {
    static func run(_ setting: Setting) async throws -> Measurement {
        let threads = 64
        switch setting.engine {
        case .raw: return try await Raw.run(setting)
        case .levelDBNative:
            return try await Workloads<LSM<LevelDB>>(setting)
                .nativeSingles(setting.scaled(200_000), threads: threads)
        case .rocksdbNative:
            return try await Workloads<LSM<RocksDB>>(setting)
                .nativeSingles(setting.scaled(200_000), threads: threads)
        case .stratus: return try await Workloads<StratusEngine<ByCalls>>(setting).run()
        case .stratusMapped: return try await Workloads<StratusEngine<Mapped>>(setting).run()
        case .sqliteColumns:
            return try await Workloads<RivalEngine<SQLiteRival<SQLiteColumns>>>(setting).run()
        case .sqliteBlob:
            return try await Workloads<RivalEngine<SQLiteRival<SQLiteBlob>>>(setting).run()
        case .lmdb: return try await Workloads<RivalEngine<LMDBRival<LMDBByName>>>(setting).run()
        case .lmdbFeed:
            return try await Workloads<RivalEngine<LMDBRival<LMDBByFeed>>>(setting).run()
        case .rocksdb: return try await Workloads<LSM<RocksDB>>(setting).run()
        case .leveldb: return try await Workloads<LSM<LevelDB>>(setting).run()
        }
    }

    static func writeUntilKilled(_ setting: Setting, startingAt first: Int) async throws {
        switch setting.engine {
        case .stratus, .stratusMapped:
            try await Workloads<StratusEngine<ByCalls>>(setting).writeUntilKilled(startingAt: first)
        case .sqliteColumns:
            try await Workloads<RivalEngine<SQLiteRival<SQLiteColumns>>>(setting)
                .writeUntilKilled(startingAt: first)
        case .sqliteBlob:
            try await Workloads<RivalEngine<SQLiteRival<SQLiteBlob>>>(setting)
                .writeUntilKilled(startingAt: first)
        case .lmdb:
            try await Workloads<RivalEngine<LMDBRival<LMDBByName>>>(setting)
                .writeUntilKilled(startingAt: first)
        case .lmdbFeed:
            try await Workloads<RivalEngine<LMDBRival<LMDBByFeed>>>(setting)
                .writeUntilKilled(startingAt: first)
        case .rocksdb, .rocksdbNative:
            try await Workloads<LSM<RocksDB>>(setting).writeUntilKilled(startingAt: first)
        case .leveldb, .levelDBNative:
            try await Workloads<LSM<LevelDB>>(setting).writeUntilKilled(startingAt: first)
        case .raw: throw BenchmarkError("raw keeps no records")
        }
    }

    /// The versions of the libraries that this process is linked with.
    static func versions() -> [String: String] {
        // RocksDB's C interface does not tell; the name of the file that was loaded does.
        let rocksdb = kernelText("/proc/self/maps").split(separator: "\n")
            .compactMap { $0.split(separator: "librocksdb.so.").dropFirst().last }.first
        var numbers: (Int32, Int32, Int32) = (0, 0, 0)
        _ = mdb_version(&numbers.0, &numbers.1, &numbers.2)
        return [
            "SQLite": String(cString: sqlite3_libversion()),
            "LMDB": "\(numbers.0).\(numbers.1).\(numbers.2)",
            "RocksDB": rocksdb.map(String.init) ?? "unknown",
            "LevelDB": "\(leveldb_major_version()).\(leveldb_minor_version())",
        ]
    }
}
