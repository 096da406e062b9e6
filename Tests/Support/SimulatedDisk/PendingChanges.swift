/// A sector and what it holds from a moment on.
struct SectorChange: Sendable {
    var sector: Int
    var content: Sector
}

/// What happened to a file since the medium was last brought up to date.
struct PendingChanges: Sendable {
    /// In the order of the writes; a sector may occur many times.
    var changes: [SectorChange] = []
    /// Every length the file had.
    var lengths: [Int] = []
    /// The shortest length the file was cut to.
    var lowestLength: Int?
    /// Ranges of sectors that were given blocks.
    var allocations: [Range<Int>] = []

    var isEmpty: Bool { changes.isEmpty && lengths.isEmpty && allocations.isEmpty }

    mutating func append(_ later: PendingChanges) {
        changes += later.changes
        lengths += later.lengths
        allocations += later.allocations
    }

    /// Drops what `later`, which is durable now, has overwritten.
    mutating func forget(what later: PendingChanges) {
        var rewritten: Set<Int> = []
        for change in later.changes { rewritten.insert(change.sector) }
        let end = later.lowestLength.map(FileContent.sectors(for:)) ?? .max
        changes.removeAll { $0.sector >= end || rewritten.contains($0.sector) }
        if !later.lengths.isEmpty { lengths = [] }
    }

    /// The versions of every changed sector, oldest first, in the order of the sectors.
    func changesBySector() -> [(sector: Int, versions: [Sector])] {
        var groups: [(sector: Int, versions: [Sector])] = []
        let order = changes.indices.sorted {
            (changes[$0].sector, $0) < (changes[$1].sector, $1)
        }
        for index in order {
            let change = changes[index]
            if let last = groups.last, last.sector == change.sector {
                groups[groups.count - 1].versions.append(change.content)
            } else {
                groups.append((change.sector, [change.content]))
            }
        }
        return groups
    }
}

/// Decides at a crash what reached the medium.
///
/// Every crash has a mood each for sectors, lengths and names: none survives, some do, all do.
/// Without moods the two ends, which break stores most, would hardly ever come up.
struct CrashChance {
    var generator: SeededGenerator
    private let sectors: Int
    private let lengths: Int
    private let names: Int

    init(seed: UInt64) {
        generator = SeededGenerator(seed: seed)
        // Seeds are small numbers in a row; one step apart they should have nothing in common.
        generator = SeededGenerator(seed: generator.next())
        sectors = generator.below(5)
        lengths = generator.below(5)
        names = generator.below(5)
    }

    /// One of the lengths, the first of which is durable.
    mutating func length(_ versions: [Int]) -> Int { versions[pick(versions.count, lengths)] }

    /// One of the things a name stood for, the first of which is durable.
    mutating func name(_ versions: [DiskNode?]) -> DiskNode? {
        versions[pick(versions.count, names)]
    }

    /// One of the versions of a sector, the first of which is durable, or a mixture of two.
    mutating func sector(_ versions: [Sector], tearing: Bool) -> Sector {
        let first = versions[pick(versions.count, sectors)]
        guard tearing, 1...3 ~= sectors, generator.oneIn(4) else { return first }
        let second = versions[generator.below(versions.count)]
        let cut = 1 + generator.below(FileContent.sectorSize - 1)
        guard first != second else { return first }
        return .written(Array(FileContent.bytes(first)[..<cut] + FileContent.bytes(second)[cut...]))
    }

    /// Of so many versions the oldest, the newest, or less often one between.
    private mutating func pick(_ count: Int, _ mood: Int) -> Int {
        switch mood {
        case 0: 0
        case 4: count - 1
        default:
            if generator.oneIn(4) {
                generator.below(count)
            } else {
                generator.below(4) < mood ? count - 1 : 0
            }
        }
    }
}
