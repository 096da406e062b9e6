import Stratus
import Support

// What some histories grow beside what all of them do.
extension SharingRun {
    /// What the first zone of a history grows to; its seed says so.
    enum Shape {
        case usual
        /// Many shares live in it at once.
        case crowded
        /// It has a tree that is longer than what one commit shares.
        case long

        init(seed: UInt64) {
            self = seed % 50 == 1 ? .long : seed % 8 == 0 ? .crowded : .usual
        }

        /// How many steps a history has where a usual one has so many. A crowded one takes twice as long
        /// as that, and a long one five times.
        func steps(of usual: Int) -> Int {
            switch self {
            case .usual: usual
            case .crowded: usual * 2 / 3
            case .long: usual / 5
            }
        }
    }

    /// The zone that grows.
    static let grownZone = "z0"
    /// With so many shares a zone is crowded.
    static let crowd = 8
    /// A user with so many parts in a zone has many.
    static let manyParts = 6
    static let crowdNames = (0..<28).map { "n\($0)" }

    /// The root of the long tree, which has more records than one commit shares: `LongTree.limit`.
    private static let treeRoot = "t0"
    private static let oneCommit = 1024
    private static let treeLength = 1200

    /// Any zone, the one that grows more often than others.
    mutating func anyZone() -> String {
        if shape != .usual, generator.oneIn(2) { return Self.grownZone }
        return Self.zones[generator.below(Self.zones.count)]
    }

    /// The first calls of a history.
    mutating func begin() async throws {
        switch shape {
        case .usual: return
        case .crowded:
            try await makeCrowd()
            try await acceptAll()
        case .long:
            try await growTree()
            try await shareOrUnshareTree()
        }
        for _ in 0..<Self.crowd { try await accept() }
        noteVisible()
    }

    /// Brings back what a history is to have, at times; returns whether it did.
    mutating func changeShape() async throws -> Bool {
        guard let zone = model.zones[Self.grownZone] else { return false }
        switch shape {
        case .usual: return false
        case .crowded:
            if zone.shares.count < Self.crowd, generator.oneIn(3) {
                try await makeCrowd()
            } else if generator.oneIn(15) {
                try await acceptAll()
            } else {
                return false
            }
        case .long:
            guard generator.oneIn(5) else { return false }
            if zone.nodes[Self.treeRoot] == nil { try await growTree() }
            try await shareOrUnshareTree()
        }
        return true
    }

    /// Shares records that are in no share, and new ones, until the zone is crowded: in one call.
    private mutating func makeCrowd() async throws {
        guard let before = model.zones[Self.grownZone] else { return }
        var batch = SharingModel.Batch()
        var missing = Self.crowd + 2 - before.shares.count
        for name in Self.crowdNames.shuffled(using: &generator) where missing > 0 {
            if let node = before.nodes[name] {
                guard node.parent == nil, before.isFree(name) else { continue }
                batch.saved[name] = node
            } else {
                batch.saved[name] = SharingModel.Node(type: anyType(), parent: nil, value: next())
            }
            batch.shared[name] = "Share-\(next())"
            missing -= 1
        }
        try await apply(batch, try before.after(batch), in: Self.grownZone)
    }

    /// Saves the long tree, some of it deep and some of it wide.
    private mutating func growTree() async throws {
        guard let before = model.zones[Self.grownZone] else { return }
        var batch = SharingModel.Batch()
        for number in 0...Self.treeLength where before.nodes["t\(number)"] == nil {
            let above = generator.oneIn(3) ? max(0, number - 40) : 0
            let parent = number == 0 ? nil : "t\(above + generator.below(number - above))"
            batch.saved["t\(number)"] = SharingModel.Node(
                type: anyType(), parent: parent, value: next())
        }
        try await apply(batch, try before.after(batch), in: Self.grownZone)
        noteVisible()
    }

    /// Shares the long tree, ends its share, or puts another one in its place; at times while a share
    /// lies in it, which is refused.
    private mutating func shareOrUnshareTree() async throws {
        guard let before = model.zones[Self.grownZone], var root = before.nodes[Self.treeRoot]
        else { return }
        let tree = before.tree(of: Self.treeRoot)
        var ending = SharingModel.Batch()
        ending.ended = Set(
            before.shares.filter { $0.root.map { tree.contains($0) } ?? false }
                .map { $0.recordName })
        let mustEnd = !ending.ended.isEmpty && !generator.oneIn(6)
        // A share grows ahead of its batch only where none ends in that.
        let endsBefore = mustEnd && generator.oneIn(2)
        if endsBefore {
            try await apply(ending, try before.after(ending), in: Self.grownZone)
            noteVisible()
            if before.isRoot(Self.treeRoot), generator.oneIn(2) { return }
        }
        guard let between = model.zones[Self.grownZone] else { return }
        var batch = mustEnd && !endsBefore ? ending : SharingModel.Batch()
        root.parent = nil
        root.value = next()
        batch.saved[Self.treeRoot] = root
        batch.shared[Self.treeRoot] = "Share-\(next())"
        let after: SharingModel.Zone
        do throws(SharingModel.Refusal) {
            after = try between.after(batch)
        } catch {
            try await expectRefusal(of: batch, in: Self.grownZone, error.codes)
            return
        }
        if tree.count > Self.oneCommit, batch.ended.isEmpty { tally.longTrees += 1 }
        try await apply(batch, after, in: Self.grownZone)
    }

    /// The name of a record to be saved or deleted, which may be missing.
    mutating func anyName(in zone: SharingModel.Zone) -> String {
        switch shape {
        case .usual: break
        case .crowded: return Self.crowdNames[generator.below(Self.crowdNames.count)]
        case .long:
            if generator.oneIn(2) { break }
            let name = "t\(1 + generator.below(Self.treeLength))"
            // The long tree stays long.
            if zone.nodes[name] != nil, zone.tree(of: name).count < 20 { return name }
        }
        return Self.names[generator.below(Self.names.count)]
    }

    mutating func anyType() -> String { Self.types[generator.below(Self.types.count)] }

    /// Counts what a step left.
    mutating func noteCrowd() {
        guard model.zones.values.contains(where: { $0.isCrowded }) else { return }
        tally.crowdedSteps += 1
        tally.crowded = 1
    }
}

extension SharingModel.Zone {
    var isCrowded: Bool { shares.count >= SharingRun.crowd }

    /// Whether a share may begin at a record: it is in none, and none is below it.
    func isFree(_ name: String) -> Bool {
        share(of: name) == nil && !tree(of: name).contains { isRoot($0) }
    }

    /// In how many shares a user has a part.
    func partCount(of user: String) -> Int { shares.count { $0.accepted[user] != nil } }
}
