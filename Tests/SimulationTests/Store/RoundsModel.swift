import Support

/// A participant's feed read in rounds, without a store: records that are made, moved and deleted
/// while a hierarchy is shared, and one reader of what is shared. Each of the rules can be left
/// out, to show that it is needed.
struct RoundsModel {
    /// A rule that is left out.
    enum Mutation: CaseIterable {
        /// Rows of a part that ended that have moved beyond the round are not looked at.
        case stopsAtBound
        /// What is visible through a part that began after the round withholds deletions too.
        case withholdsForAnyPart
        /// A record that enters a share again takes the place of its gone row.
        case dropsGoneRows
        /// Records of a share that is not the reader's any more are given.
        case givesWithoutAccess
    }

    /// Version and ordinal in one number.
    fileprivate typealias Position = Int
    fileprivate static let start = -1
    private static func position(_ version: Int, _ ordinal: Int = 0) -> Position {
        version << 8 | ordinal
    }

    private struct Node {
        var parent: Int?
        var version: Int
    }

    private struct Row {
        var position: Position
        var name: Int
        var isGone: Bool
        /// The version at which the record entered the share.
        var since: Int
    }

    private struct Shared {
        var root: Int
        var end: Int?
        /// In the order of their positions.
        var rows: [Row] = []
    }

    private struct Part {
        var share: Int
        var begin: Int
        var end: Int?
    }

    private struct Member {
        var share: Int
        var since: Int
    }

    struct Token {
        fileprivate var seen = 0
        fileprivate var bound: Int?
        /// The share that is read of those that ended; nil: they are all read.
        fileprivate var departing: Int? = 0
        fileprivate var position: Int = RoundsModel.start
    }

    enum Change {
        case modification(name: Int, version: Int)
        case deletion(name: Int)
    }

    static let nameCount = 14

    private let mutation: Mutation?
    /// Whether a record states that it leaves a share also where that has ended.
    private let statesLeaving: Bool
    private var generator: SeededGenerator
    private var head = 0
    private var nodes: [Node?] = Array(repeating: nil, count: nameCount)
    private var members: [Member?] = Array(repeating: nil, count: nameCount)
    private var shares: [Shared] = []
    private var parts: [Part] = []

    init(_ generator: SeededGenerator, _ mutation: Mutation?, statesLeaving: Bool) {
        self.generator = generator
        self.mutation = mutation
        self.statesLeaving = statesLeaving
    }
}

// What entries say.
extension RoundsModel {
    private mutating func tick() -> Int {
        head += 1
        return head
    }

    private func isAlive(_ share: Int) -> Bool { shares[share].end == nil }

    /// The living share that a record is in.
    private func share(of name: Int) -> Int? {
        members[name].flatMap { isAlive($0.share) ? $0.share : nil }
    }

    private func share(ofRoot name: Int) -> Int? {
        shares.indices.first { shares[$0].root == name && isAlive($0) }
    }

    private mutating func removeRow(of name: Int, in share: Int) {
        shares[share].rows.removeAll { $0.name == name && !$0.isGone }
    }

    private mutating func setRow(_ name: Int, in share: Int, at position: Position, since: Int) {
        removeRow(of: name, in: share)
        shares[share].rows.append(
            Row(position: position, name: name, isGone: false, since: since))
    }

    private mutating func leave(_ name: Int, at position: Position) {
        guard let member = members[name] else { return }
        members[name] = nil
        guard isAlive(member.share) || statesLeaving else { return }
        removeRow(of: name, in: member.share)
        shares[member.share].rows.append(
            Row(position: position, name: name, isGone: true, since: member.since))
    }

    private mutating func enter(_ name: Int, _ share: Int, at position: Position) {
        if mutation == .dropsGoneRows {
            shares[share].rows.removeAll { $0.name == name && $0.isGone }
        }
        let version = position >> 8
        members[name] = Member(share: share, since: version)
        setRow(name, in: share, at: position, since: version)
    }

    /// Where the record's own entry puts it, in the share that it stays in.
    private mutating func stay(_ name: Int, at position: Position) {
        if let share = share(of: name), let member = members[name] {
            setRow(name, in: share, at: position, since: member.since)
        } else if statesLeaving {
            leave(name, at: position)
        }
    }

    private mutating func end(_ share: Int, at version: Int) {
        shares[share].end = version
        for place in parts.indices where parts[place].share == share {
            if parts[place].end == nil { parts[place].end = version }
        }
    }
}

// The tree.
extension RoundsModel {
    private var names: [Int] { nodes.indices.filter { nodes[$0] != nil } }

    private func children(of name: Int) -> [Int] {
        nodes.indices.filter { nodes[$0].map { $0.parent == name } ?? false }
    }

    private func descendants(of name: Int) -> [Int] {
        var found: [Int] = []
        var next = 0
        var queue = [name]
        while next < queue.count {
            let children = children(of: queue[next])
            next += 1
            found += children
            queue += children
        }
        return found
    }

    private func ancestors(of name: Int) -> [Int] {
        var found: [Int] = []
        var next: Int? = name
        while let name = next {
            found.append(name)
            next = nodes[name]?.parent
        }
        return found
    }
}

// What happens.
extension RoundsModel {
    mutating func change() {
        let names = names
        let kind = generator.below(100)
        guard kind >= 22, let name = names.randomElement(using: &generator) else {
            insert(names)
            return
        }
        switch kind {
        case ..<37:
            let version = tick()
            nodes[name]?.version = version
            stay(name, at: Self.position(version))
        case ..<47: delete(name)
        case ..<67: move(name, names)
        case ..<77: makeShare(of: name)
        case ..<82:
            let living = shares.indices.filter { isAlive($0) }
            if let share = living.randomElement(using: &generator) { end(share, at: tick()) }
        case ..<94:
            let free = shares.indices.filter { share in
                isAlive(share) && !parts.contains { $0.share == share && $0.end == nil }
            }
            if let share = free.randomElement(using: &generator) {
                parts.append(Part(share: share, begin: tick()))
            }
        default:
            let living = parts.indices.filter { parts[$0].end == nil }
            if let place = living.randomElement(using: &generator) { parts[place].end = tick() }
        }
    }

    /// One of them, or none.
    private mutating func anyParent(_ names: [Int]) -> Int? {
        let place = generator.below(names.count + 1)
        return place < names.count ? names[place] : nil
    }

    private mutating func insert(_ names: [Int]) {
        let name = generator.below(Self.nameCount)
        if nodes[name] != nil { return }
        let parent = anyParent(names)
        let version = tick()
        nodes[name] = Node(parent: parent, version: version)
        members[name] = nil
        if let parent, let share = share(of: parent) {
            enter(name, share, at: Self.position(version))
        }
    }

    private mutating func delete(_ name: Int) {
        guard children(of: name).isEmpty else { return }
        let version = tick()
        if let own = share(ofRoot: name) { end(own, at: version) }
        leave(name, at: Self.position(version))
        nodes[name] = nil
    }

    private mutating func move(_ name: Int, _ names: [Int]) {
        let parent = anyParent(names)
        let below = descendants(of: name)
        if parent == name || parent.map({ below.contains($0) }) ?? false { return }
        if share(ofRoot: name) != nil { return }
        let new = parent.flatMap { share(of: $0) }
        if new != nil, below.contains(where: { share(ofRoot: $0) != nil }) { return }
        let version = tick()
        let old = share(of: name)
        nodes[name] = Node(parent: parent, version: version)
        if new == old {
            stay(name, at: Self.position(version))
            return
        }
        for (ordinal, other) in ([name] + below).enumerated() {
            // What is below a root of its own stays.
            if other != name, share(of: other) != old { continue }
            leave(other, at: Self.position(version, ordinal))
            if let new { enter(other, new, at: Self.position(version, ordinal)) }
        }
    }

    private mutating func makeShare(of name: Int) {
        let below = descendants(of: name)
        if (ancestors(of: name) + below).contains(where: { share(of: $0) != nil }) { return }
        let version = tick()
        shares.append(Shared(root: name))
        for (ordinal, member) in ([name] + below).enumerated() {
            leave(member, at: Self.position(version, ordinal))
            enter(member, shares.count - 1, at: Self.position(version, ordinal))
        }
    }
}

// The feed.
extension RoundsModel {
    /// The version of each record that the reader sees, 0 of the others.
    func visible(through bound: Int? = nil) -> [Int] {
        let own = Set(
            parts.filter { $0.end == nil && (bound == nil || $0.begin <= bound ?? 0) }
                .map { $0.share })
        return nodes.indices.map { name in
            guard let node = nodes[name], let share = share(of: name), own.contains(share) else {
                return 0
            }
            return node.version
        }
    }

    /// At most so many changes. Returns whether more are coming.
    func page(_ token: inout Token, limit: Int) -> (changes: [Change], moreComing: Bool) {
        if token.bound == nil {
            token.bound = head
            token.departing = 0
            token.position = Self.start
        }
        guard let bound = token.bound else { return ([], false) }
        let seen = token.seen
        var changes: [Change] = []
        let visible = visible(through: mutation == .withholdsForAnyPart ? nil : bound)
        let ended = parts.filter { part in
            part.begin <= seen && part.end.map { seen < $0 && $0 <= bound } ?? false
        }
        for part in ended.sorted(by: { $0.share < $1.share }) {
            guard let departing = token.departing, part.share >= departing else { continue }
            if part.share > departing {
                token.departing = part.share
                token.position = Self.start
            }
            for row in shares[part.share].rows where row.position > token.position {
                if mutation == .stopsAtBound, row.position >> 8 > bound { break }
                if changes.count >= limit { return (changes, true) }
                token.position = row.position
                let isNew = !row.isGone || row.position >> 8 > seen
                if row.since <= part.end ?? 0, isNew, visible[row.name] == 0 {
                    changes.append(.deletion(name: row.name))
                }
            }
        }
        if token.departing != nil {
            token.departing = nil
            token.position = Self.start
        }
        for found in rows(after: token, bound) {
            if changes.count >= limit { return (changes, true) }
            token.position = found.row.position
            let name = found.row.name
            if found.row.isGone {
                if found.isSteady, visible[name] == 0 { changes.append(.deletion(name: name)) }
            } else if let node = nodes[name], found.isMine || mutation == .givesWithoutAccess {
                changes.append(.modification(name: name, version: node.version))
            }
        }
        token = Token(seen: bound)
        return (changes, bound < head)
    }

    private struct FoundRow {
        var row: Row
        var share: Int
        /// Whether the part in its share had begun before the round.
        var isSteady: Bool
        /// Whether its share is the reader's still.
        var isMine: Bool
    }

    /// The rows of shares in which the reader had a part at the bound, in their order.
    private func rows(after token: Token, _ bound: Int) -> [FoundRow] {
        let mine = Set(parts.filter { $0.end == nil }.map { $0.share })
        var found: [FoundRow] = []
        for part in parts where part.begin <= bound && part.end.map({ $0 > bound }) ?? true {
            let isSteady = part.begin <= token.seen
            let first = isSteady ? token.seen : 0
            for row in shares[part.share].rows {
                let version = row.position >> 8
                guard first < version, version <= bound, row.position > token.position else {
                    continue
                }
                found.append(
                    FoundRow(
                        row: row, share: part.share, isSteady: isSteady,
                        isMine: mine.contains(part.share)))
            }
        }
        return found.sorted {
            ($0.row.position, $0.share) < ($1.row.position, $1.share)
        }
    }
}
