import Support

/// Random changes of a small zone whose records are shared and unshared, and what one participant is to
/// see of it. Knows what is in which share, and nothing of rows, versions and pages.
struct SharingHistory {
    /// What an entry of a commit says. Records and shares have numbers from 0.
    enum Statement {
        /// A record is written, in a share or in none.
        case record(Int, share: Int?)
        case deletion(Int)
        /// Records go along with one above them.
        case members([Int], share: Int?)
        case share(Int, root: Int)
        case shareEnd(Int)
        /// The participant joins a share.
        case acceptance(share: Int)
        case departure(share: Int)
    }

    struct Record {
        var parent: Int?
        /// Goes up by 1 with each version of any record.
        var revision: Int
        /// The share that it was last put into; nil: into none.
        var share: Int?
    }

    private struct Share {
        var root: Int
        var isAlive = true
        /// Whether the participant is in it.
        var isJoined = false
    }

    static let recordCount = 14

    private var generator: SeededGenerator
    /// Whether the participant sees the first record of the first share all the time, so that there is
    /// always something of the zone to be seen.
    private let keepsFirst: Bool
    private(set) var records: [Record?] = Array(repeating: nil, count: recordCount)
    private var shares: [Share] = []
    private var revision = 0

    init(_ generator: SeededGenerator) {
        var generator = generator
        keepsFirst = generator.oneIn(2)
        self.generator = generator
    }

    /// The changes with which the history begins.
    mutating func begin() -> [[Statement]] {
        guard keepsFirst else { return [] }
        records[0] = Record(revision: 0)
        let saved = [save(0, share: nil)]
        let shared = makeShare(of: 0) ?? []
        return [saved, shared, join(0)]
    }

    /// The revision of each record that the participant sees, 0 of the others.
    var visible: [Int] {
        records.indices.map { number in
            guard let record = records[number], let share = share(of: number),
                shares[share].isJoined
            else { return 0 }
            return record.revision
        }
    }

    /// A change as the entries of its commit say it; nil: there is nothing to be changed that way.
    mutating func change() -> [Statement]? {
        let living = records.indices.filter { records[$0] != nil }
        let kind = generator.below(100)
        guard kind >= 22, let number = living.randomElement(using: &generator) else {
            return insert(below: living)
        }
        switch kind {
        case ..<37: return [save(number, share: share(of: number))]
        case ..<47: return delete(number)
        case ..<67: return move(number, below: living)
        case ..<77: return makeShare(of: number)
        case ..<82: return anyShare { $0.isAlive }.map { end($0) }
        case ..<94: return anyShare { $0.isAlive && !$0.isJoined }.map { join($0) }
        default:
            return anyShare(where: \.isJoined).map { share in
                shares[share].isJoined = false
                return [.departure(share: share)]
            }
        }
    }

    private mutating func anyShare(where isSuitable: (Share) -> Bool) -> Int? {
        shares.indices.dropFirst(keepsFirst ? 1 : 0).filter { isSuitable(shares[$0]) }
            .randomElement(using: &generator)
    }

    private mutating func join(_ share: Int) -> [Statement] {
        shares[share].isJoined = true
        return [.acceptance(share: share)]
    }

    /// One of the records, or none.
    private mutating func anyParent(of numbers: [Int]) -> Int? {
        let place = generator.below(numbers.count + 1)
        return place < numbers.count ? numbers[place] : nil
    }

    private mutating func save(_ number: Int, share: Int?) -> Statement {
        revision += 1
        records[number]?.revision = revision
        records[number]?.share = share
        return .record(number, share: share)
    }

    private mutating func insert(below living: [Int]) -> [Statement]? {
        let number = generator.below(Self.recordCount)
        if records[number] != nil { return nil }
        let parent = anyParent(of: living)
        records[number] = Record(parent: parent, revision: 0)
        return [save(number, share: parent.flatMap { share(of: $0) })]
    }

    private mutating func delete(_ number: Int) -> [Statement]? {
        if keepsFirst, number == 0 { return nil }
        if records.contains(where: { $0?.parent == number }) { return nil }
        let ended = share(ofRoot: number).map { end($0) } ?? []
        records[number] = nil
        return ended + [.deletion(number)]
    }

    private mutating func move(_ number: Int, below living: [Int]) -> [Statement]? {
        let parent = anyParent(of: living)
        let below = descendants(of: number)
        if parent == number || parent.map(below.contains) ?? false { return nil }
        // No root comes under another share.
        let new = parent.flatMap { share(of: $0) }
        if share(ofRoot: number) != nil { return nil }
        if new != nil, below.contains(where: { share(ofRoot: $0) != nil }) { return nil }
        let old = share(of: number)
        // What is below a root of its own stays.
        let along = old == new ? [] : below.filter { share(of: $0) == old }
        records[number]?.parent = parent
        return [save(number, share: new)] + take(along, into: new)
    }

    private mutating func makeShare(of root: Int) -> [Statement]? {
        let below = descendants(of: root)
        guard (ancestors(of: root) + below).allSatisfy({ share(of: $0) == nil }) else { return nil }
        let new = shares.count
        shares.append(Share(root: root))
        return [.share(new, root: root), save(root, share: new)] + take(below, into: new)
    }

    private mutating func take(_ numbers: [Int], into share: Int?) -> [Statement] {
        for number in numbers { records[number]?.share = share }
        return numbers.isEmpty ? [] : [.members(numbers, share: share)]
    }

    private mutating func end(_ share: Int) -> [Statement] {
        shares[share].isAlive = false
        shares[share].isJoined = false
        return [.shareEnd(share)]
    }
}

// The tree.
extension SharingHistory {
    /// The living share that a record is in.
    private func share(of number: Int) -> Int? {
        records[number]?.share.flatMap { shares[$0].isAlive ? $0 : nil }
    }

    private func share(ofRoot number: Int) -> Int? {
        shares.indices.first { shares[$0].root == number && shares[$0].isAlive }
    }

    private func descendants(of number: Int) -> [Int] {
        var found = [number]
        var next = 0
        while next < found.count {
            found += records.indices.filter { records[$0]?.parent == found[next] }
            next += 1
        }
        return Array(found.dropFirst())
    }

    /// The record itself too.
    private func ancestors(of number: Int) -> [Int] {
        var found: [Int] = []
        var next: Int? = number
        while let number = next {
            found.append(number)
            next = records[number]?.parent
        }
        return found
    }
}
