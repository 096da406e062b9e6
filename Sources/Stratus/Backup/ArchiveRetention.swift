internal import FoundationEssentials
internal import StratusArchive
internal import StratusBytes
package import StratusFiles
internal import StratusJournal
internal import StratusEngine

/// Which archives of a directory are kept: the newest of all, of days, of weeks and of months that
/// have any, in UTC. What a kept one goes on from is kept, too.
public struct ArchiveRetention: Hashable, Sendable {
    /// How many of the newest.
    public var last: Int
    /// Of how many days the newest each.
    public var daily: Int
    /// Of how many weeks, which begin on Mondays.
    public var weekly: Int
    /// Of how many months.
    public var monthly: Int

    /// Keeps so many.
    public init(last: Int = 0, daily: Int = 0, weekly: Int = 0, monthly: Int = 0) {
        self.last = last
        self.daily = daily
        self.weekly = weekly
        self.monthly = monthly
    }
}

extension Archive {
    /// Deletes the archives in the directory `path` that `retention` does not keep: of each store and of
    /// each copy of it on its own, of each choice of its parts, and of those with history and without.
    /// Files that do not begin like an archive stay.
    ///
    /// An archive is gone for good before the one that it goes on from is deleted, so that whenever the
    /// power goes none is without its base.
    ///
    /// - Parameter dryRun: only says what would be deleted.
    /// - Returns: the files that are kept, and those that are gone, the newest first. What could not be
    ///   deleted is kept, with what it goes on from. A process that still reads one that is gone may fail.
    /// - Throws: ``StoreError`` with `invalidArguments` where `retention` keeps nothing. Where an
    ///   archive in the directory cannot be opened it deletes nothing and throws why.
    @discardableResult
    public nonisolated(nonsending) static func forget(
        in path: String, keeping retention: ArchiveRetention, dryRun: Bool = false
    ) async throws(StoreError) -> (kept: [String], forgotten: [String]) {
        try await forget(in: path, keeping: retention, dryRun: dryRun, on: LinuxFileSystem())
    }

    /// The same in a directory of `system`.
    package nonisolated(nonsending) static func forget(
        in path: String, keeping retention: ArchiveRetention, dryRun: Bool = false,
        on system: any FileSystem
    ) async throws(StoreError) -> (kept: [String], forgotten: [String]) {
        guard
            [retention.last, retention.daily, retention.weekly, retention.monthly].contains(where: {
                $0 > 0
            })
        else {
            throw StoreError(
                .invalidArguments,
                "expected a retention that keeps some archives, found one that keeps none")
        }
        let (found, refused) = try await list(in: path, on: system)
        guard refused.isEmpty else { throw StoreError(forgettingBeside: refused) }
        let series = Dictionary(grouping: found) {
            let table = $0.last.table
            return Series(
                storeID: table.storeID, lineage: table.lineage, keepsHistory: table.keepsHistory,
                selection: table.selection)
        }
        var kept = series.values.reduce(into: Set<String>()) {
            $0.formUnion(retention.kept(of: $1))
        }
        // An archive goes before the one that it goes on from; both may have the same end.
        let order = found.sorted {
            ($0.last.table.end, $0.chain.count, $0.last.table.made)
                > ($1.last.table.end, $1.chain.count, $1.last.table.made)
        }
        let gone = order.filter { !kept.contains($0.path) }
        if !dryRun {
            kept.formUnion(
                try await answering { () async throws(EngineError) in
                    try await IOThreads(count: 1).run { try delete(gone, in: path, on: system) }
                })
        }
        return (
            order.map(\.path).filter(kept.contains), gone.map(\.path).filter { !kept.contains($0) }
        )
    }

    /// Deletes archives, of which each comes before the one that it goes on from. Returns the files
    /// that are there all the same.
    private static func delete(
        _ archives: [Archive], in path: String, on system: any FileSystem
    ) throws -> Set<String> {
        let folder = try LocalStorage(at: path, .reading, on: system)
        defer { folder.close() }
        var needed: Set<Hash128> = []
        var left: Set<String> = []
        for archive in archives {
            let isGone =
                needed.contains(archive.last.archiveID)
                ? false : try folder.delete(archive.last.name)
            if isGone {
                try folder.syncDirectory()
            } else {
                left.insert(archive.path)
                needed.formUnion(archive.chain.map(\.archiveID))
            }
        }
        return left
    }
}

/// What archives stand in for each other.
private struct Series: Hashable {
    var storeID: Hash128
    /// A copy of a store is another one from there on.
    var lineage: UInt64
    var keepsHistory: Bool
    var selection: [ArchiveTable.Selected]
}

extension StoreError {
    private static let namedFiles = 8

    /// Why nothing is deleted: which archives one needs that cannot be opened is not known.
    fileprivate init(forgettingBeside refused: [(file: String, error: StoreError)]) {
        self = refused[0].error.adding(refused.dropFirst().compactMap { $0.error.place })
        let names = refused.prefix(Self.namedFiles).map { $0.file }.joined(separator: ", ")
        let others = refused.count - Self.namedFiles
        reason = """
            nothing was deleted, since these archives cannot be opened and may need any other: \
            \(names)\(others > 0 ? " and \(others) more" : ""); repair them or move them to \
            another directory (\(refused[0].error.reason))
            """
    }
}

extension ArchiveRetention {
    /// The files of those that are kept of one store's.
    fileprivate func kept(of archives: [Archive]) -> Set<String> {
        let newest = archives.sorted { $0.last.table.made > $1.last.table.made }
        var kept = Set(newest.prefix(max(0, last)).map(\.path))
        let periods: [(Int, (Archive) -> Int)] = [
            (daily, { $0.day }), (weekly, { ($0.day + 3) / 7 }), (monthly, { $0.month }),
        ]
        for (count, period) in periods {
            var seen: Set<Int> = []
            for archive in newest where seen.count < count && seen.insert(period(archive)).inserted
            {
                kept.insert(archive.path)
            }
        }
        let needed = newest.filter { kept.contains($0.path) }.flatMap(\.chain)
        let names = Set(needed.map(\.archiveID))
        return kept.union(newest.filter { names.contains($0.last.archiveID) }.map(\.path))
    }
}

extension Archive {
    /// Days since 1970, in UTC, of when it was made.
    fileprivate var day: Int { Int((last.table.made / 1_000_000).dividedFloor(by: 86_400)) }

    /// A number for each month.
    fileprivate var month: Int {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = .gmt
        let parts = calendar.dateComponents([.year, .month], from: information.created)
        return (parts.year ?? 0) * 12 + (parts.month ?? 0)
    }
}

extension Int64 {
    fileprivate func dividedFloor(by divisor: Int64) -> Int64 {
        let (quotient, rest) = quotientAndRemainder(dividingBy: divisor)
        return rest < 0 ? quotient - 1 : quotient
    }
}
