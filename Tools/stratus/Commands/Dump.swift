import Stratus
import StratusFiles
import StratusGateway

/// `stratus dump`: the records of a store as lines of JSON.
enum Dump {
    static func run(_ invocation: Invocation, _ output: Output) async throws -> ExitCode {
        let container = try await invocation.openStore(memoryLimit: Invocation.streamingMemory)
        let snapshot = try await invocation.snapshot(of: container)
        let assets = try invocation.value("asset-files").map { path throws(ToolError) in
            try ResultFolder(path)
        }
        let databases = try invocation.namedDatabases(of: snapshot, in: container)
        let progress = ReadingProgress(
            "dumping", in: .items("record"), invocation, output, writesResults: true)
        defer { progress.finish() }
        var total: Int?
        if progress.isShown {
            total = try databases.reduce(0) {
                try $0 + $1.recordCount(inZone: invocation.value("zone"))
            }
        }
        var done = 0
        var assetCount = 0
        var hasSkipped = false
        for database in databases {
            func write(_ line: DumpLine) throws { try output.verbatim(line: line.bytes) }
            for zone in try database.zones(named: invocation.value("zone")) {
                if !zone.isDefault { try write(DumpLine(.zone(zone), of: database.user)) }
                var sorter = NameSorter()
                let skipped: ([StoreError]) -> Void = { damage in
                    hasSkipped = true
                    output.skipped(damage)
                }
                try database.forEachKey(
                    in: zone, skipped: invocation.has("skip-damaged") ? skipped : nil
                ) {
                    try sorter.insert($0)
                    progress.count(done, of: total)
                }
                var keys = try sorter.sorted()
                while case let part = try keys.next(NamedDatabase.batch), !part.isEmpty {
                    let found = try database.records(part, in: zone)
                    for record in part.compactMap({ found[$0] }) {
                        do {
                            try await assets?.writeAssets(of: record)
                        } catch let error as StoreError {
                            guard invocation.has("skip-damaged"), error.cause == .damaged else {
                                throw error
                            }
                            // Its line would name what is not there.
                            hasSkipped = true
                            output.skipped([error], of: record.recordID.recordName)
                            continue
                        }
                        assetCount += record.assets.count
                        try write(database.line(record))
                    }
                    done += part.count
                    progress.count(done, of: total)
                }
            }
        }
        if assets == nil, assetCount > 0 {
            output.warning(
                "dump.assets",
                "the bytes of \(Quantities.count(assetCount, "asset")) are not in the dump: "
                    + "--asset-files DIR writes them")
        }
        return hasSkipped ? .partial : .ok
    }
}

extension NamedDatabase {
    /// How many records there are in its zones, or in the one of that name.
    fileprivate func recordCount(inZone name: String?) throws -> Int {
        try zones(named: name).reduce(0) { try $0 + database.recordCount(inZoneWith: $1) }
    }
}

extension ResultFolder {
    /// Writes each asset of a record that has no file yet to one that bears its checksum.
    fileprivate func writeAssets(of record: Record) async throws {
        for asset in record.assets {
            guard let checksum = asset.fileChecksum else { continue }
            let file = file(checksum)
            // A file under that name is whole.
            if FilePlace(file).length(on: LinuxFileSystem()) == nil {
                try await asset.write(to: file)
            }
        }
    }
}
