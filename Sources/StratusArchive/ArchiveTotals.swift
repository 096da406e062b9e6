/// How much an archive has, or a chain of archives together. What a reader holds in memory grows with
/// it, so that a chain has a limit: `Formats/Backup.md`, "Limits".
package struct ArchiveTotals: Equatable, Sendable {
    package var archives: Int
    package var files: Int
    package var parts: Int

    package static let limit = ArchiveTotals(archives: 1 << 10, files: 1 << 16, parts: 1 << 20)

    package init(archives: Int = 0, files: Int = 0, parts: Int = 0) {
        self.archives = archives
        self.files = files
        self.parts = parts
    }

    /// Of archives that go on from each other.
    package init(_ chain: [ArchiveFile]) {
        self = chain.reduce(into: ArchiveTotals()) { $0.add($1.totals) }
    }

    package mutating func add(_ other: ArchiveTotals) {
        archives += other.archives
        files += other.files
        parts += other.parts
    }

    /// What of it is above its limit, for people; nil where nothing is.
    package var excess: String? {
        let limit = Self.limit
        let counts = [
            ("archives", archives, limit.archives), ("files", files, limit.files),
            ("parts", parts, limit.parts),
        ]
        return counts.first { $1 > $2 }.map { "at most \($2) \($0), found \($1)" }
    }
}
