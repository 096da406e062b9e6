internal import StratusBytes
internal import StratusEngine
internal import StratusIndex

/// Tells which records have a row on each of several paths of one value, so that the others are not
/// read.
struct QueryIntersection: Sendable {
    /// Those that have left out enough so far.
    private var paths: [QueryPath]

    /// Of fewer rows the records are read at once.
    private static let leastCount = 16
    /// After so many rows of others the next name is looked up.
    private static let passedLimit = 32

    init(_ paths: [QueryPath]) { self.paths = paths }

    /// The hashes of names, out of `names`, that have a row on each path in the zone; nil where all
    /// are to be read. A path that leaves out less than a quarter is not asked again, nor one whose rows lie so
    /// far apart that most names have to be looked up.
    mutating func common(
        _ names: some Sequence<Hash128>, in zone: UInt32, _ reading: StoreReading
    ) throws(EngineError) -> Set<Hash128>? {
        if paths.isEmpty { return nil }
        var left = Set(names).sorted()
        guard left.count >= Self.leastCount else { return nil }
        var useful: [QueryPath] = []
        for path in paths {
            let (found, lookups) = try Self.names(left, on: path, in: zone, reading)
            if found.count * 4 <= left.count * 3, lookups * 2 <= left.count { useful.append(path) }
            left = found
        }
        paths = useful
        return Set(left)
    }

    /// Those of `names`, which are in order, that have a row on the path, and how often one had to be looked
    /// up. Rows and names are walked through side by side.
    private static func names(
        _ names: [Hash128], on path: QueryPath, in zone: UInt32, _ reading: StoreReading
    ) throws(EngineError) -> (names: [Hash128], lookups: Int) {
        var found: [Hash128] = []
        var rest = names[...]
        var lookups = 0
        while let first = rest.first, let last = rest.last,
            let low = path.row(of: first, in: zone), let high = path.row(of: last, in: zone)
        {
            var passed = 0
            lookups += 1
            try reading.scan(low..<high.afterPrefix) { key, _ in
                guard let name = key.namedRecord else { return true }
                while let next = rest.first, next < name { rest.removeFirst() }
                if rest.first == name {
                    found.append(name)
                    rest.removeFirst()
                    passed = 0
                } else {
                    passed += 1
                }
                return !rest.isEmpty && passed < passedLimit
            }
            // Behind the last row there are none.
            if passed < passedLimit { break }
        }
        return (found, lookups)
    }
}
