internal import StratusBytes
internal import StratusEngine
internal import StratusIndex
internal import StratusJournal
internal import Synchronization

// A long tree that is shared: what lies below its root is taken in by commits of its own, ahead of the
// one with which the share is seen: `Formats/README.md`, "Sharing", 5. Others save meanwhile: what
// they save below a member is one, as always.

/// A new share cannot begin with the commit that asks for it: too much lies below its root.
struct LongTree: Error {
    let zoneID: RecordZone.ID
    /// The names of the root, and of the share's record.
    let rootName: String
    let recordName: String

    /// A tree of so many records is shared by one commit.
    static let limit = 1024
}

/// A share that grows, and how far it has come.
///
/// The parent of a member is a member, or the root, at any time: so what was not reached yet is found
/// below what was. What others make a member has all that lies below it along.
struct GrowingShare: Sendable {
    let number: UInt32
    let zone: UInt32
    let root: Hash128
    /// Members whose children are being taken in, the deepest last, and where the rest of these lies:
    /// what lies below is taken in first, so that few wait.
    private var parents: [(name: Hash128, rest: Range<IndexKey>)] = []
    /// Members of the last step, of which it is not known whether they have children.
    private var latest: [Hash128]

    /// So many records are looked at in one commit, which holds others up: few while they commit, too,
    /// and more from step to step when they do no longer.
    private var stepLimit = Self.greatestStep
    static let greatestStep = 192
    private static let leastStep = 16

    fileprivate init(_ number: UInt32, of root: Hash128, in zone: UInt32) {
        self.number = number
        self.zone = zone
        self.root = root
        latest = [root]
    }

    /// Whether all that lies below the root is taken in.
    var isWhole: Bool { parents.isEmpty && latest.isEmpty }

    /// Behind the commit of a step: whether others committed since the step was prepared decides how
    /// long the next one is.
    fileprivate func behind(_ committed: Committed) -> GrowingShare {
        var share = self
        share.stepLimit =
            committed.wasOvertaken ? Self.leastStep : min(stepLimit * 2, Self.greatestStep)
        return share
    }

    /// Takes the next step: finds records that become members, as the state has them.
    fileprivate mutating func advance(
        _ reading: StoreReading, _ context: PreparationContext, _ draft: inout Draft
    ) throws(EngineError) -> [SharingPlan.Moved] {
        // What comes below one of them from now on is a member at once.
        for member in latest {
            let children = IndexKey.children(zone, of: member).asPrefix
            if try !reading.isEmptyGroup(children) { parents.append((member, children)) }
        }
        latest = []
        let growingRoots = try growingRoots(reading, &draft)
        var moved: [SharingPlan.Moved] = []
        // One that left and came back may wait twice.
        var seen: Set<Hash128> = []
        var (count, length) = (0, 0)
        while count < stepLimit, length < context.partLimit / 2,
            let (parent, range) = parents.popLast()
        {
            guard try isMember(parent, reading, &draft) else { continue }
            // Few at a time, since what they take depends on their names.
            let (children, rest) = try reading.children(
                in: range, atMost: min(64, stepLimit - count))
            if !context.isSerial {
                draft.readRanges.append(range.lowerBound..<(rest?.lowerBound ?? range.upperBound))
            }
            if let rest { parents.append((parent, rest)) }
            let found = children.filter { seen.insert($0).inserted }
            for new in try take(found, growingRoots, reading, context, &draft) {
                latest.append(new.name)
                length += new.record.item.name.utf8.count + 32
                moved.append(new.record)
            }
            count += max(1, children.count)
        }
        // A participant's feed has them in this order: what was saved together is read together. None is
        // the parent of another.
        moved.sort { $0.item.version < $1.item.version }
        return moved
    }

    private func isMember(
        _ name: Hash128, _ reading: StoreReading, _ draft: inout Draft
    ) throws(EngineError) -> Bool {
        if name == root { return true }
        draft.readSet.append(.member(zone, name))
        return try reading.member(name, in: zone)?.share == number
    }

    /// The roots of other shares that grow in the zone, which their records do not say yet.
    private func growingRoots(
        _ reading: StoreReading, _ draft: inout Draft
    ) throws(EngineError) -> Set<Hash128> {
        let growing = KeySpace.growingShares.range()
        draft.readRanges.append(growing)
        var roots: Set<Hash128> = []
        try reading.scan(growing) { key, value throws(EngineError) in
            if UInt32(truncatingIfNeeded: value.first) == zone, key.shareNumber != number,
                let place = try reading.share(key.shareNumber)
            {
                roots.insert(reading.hash(try reading.shareEntry(place).rootName))
            }
            return true
        }
        return roots
    }

    /// Takes children of a member in, but for those that are members already. They are read together:
    /// children of one record often lie side by side.
    private func take(
        _ children: [Hash128], _ growingRoots: Set<Hash128>, _ reading: StoreReading,
        _ context: PreparationContext, _ draft: inout Draft
    ) throws(EngineError) -> [(name: Hash128, record: SharingPlan.Moved)] {
        var taken: [(name: Hash128, old: ShareMembership?, place: EntryLocation)] = []
        for child in children {
            if !context.isSerial { draft.readSet += [.member(zone, child), .record(zone, child)] }
            let old = try reading.member(child, in: zone)
            guard old?.share != number,
                let place = try reading.value(.record(zone, child)).map({ EntryLocation($0) }),
                !place.isDeleted
            else { continue }
            taken.append((child, old, place))
        }
        var moved: [(name: Hash128, record: SharingPlan.Moved)] = []
        try reading.forEachEntry(at: taken.map(\.place)) { number, entry throws(EngineError) in
            let (child, old, place) = taken[number]
            let head = try entry.recordHead().head
            if head.shareRecord != nil || growingRoots.contains(child),
                try reading.share(ofRoot: child, in: zone)?.hasMembers == true
            {
                throw .refused(.alreadyShared)
            }
            moved.append(
                (child, try SharingPlan.Moved(entry, head, place, from: old, to: self.number)))
        }
        return moved
    }
}

extension StoreReading {
    /// The next records, at most so many, whose parent's keys of ``IndexKey/children(_:of:)`` lie in a
    /// range, and where others may follow.
    func children(
        in range: Range<IndexKey>, atMost limit: Int
    ) throws(EngineError) -> (names: [Hash128], rest: Range<IndexKey>?) {
        var names: [Hash128] = []
        var end: IndexKey?
        try scan(range) { key, _ in
            names.append(key.linkedRecord)
            end = key.afterPrefix
            return names.count < limit
        }
        guard names.count == limit, let end else { return (names, nil) }
        return (names, end..<range.upperBound)
    }

    /// The share of that number; nil where it does not grow any more.
    fileprivate func growingShare(_ number: UInt32) throws(EngineError) -> SharePlace? {
        guard let place = try share(number), place.state == .growing,
            try zone(place.zone)?.isAlive == true
        else { return nil }
        return place
    }
}

/// Begins a share that grows.
struct ShareBeginning: Transaction {
    let tree: LongTree
    let scope: DatabaseScope

    /// Its result is a ``GrowingShare``.
    func draft(
        _ reading: StoreReading, _ context: PreparationContext, sink: PartSink
    ) throws(EngineError) -> Draft? {
        // The share gets a number.
        guard context.isSerial else { return nil }
        guard let zone = try reading.livingZone(tree.zoneID, in: scope) else {
            throw .refused(.zoneNotFound(tree.zoneID))
        }
        let root = reading.hash(tree.rootName)
        // It may have gone since the tree was found to be long.
        guard let place = try reading.value(.record(zone, root)).map({ EntryLocation($0) }),
            !place.isDeleted
        else { throw .refused(.noShare) }
        let above = try reading.member(root, in: zone).flatMap { member throws(EngineError) in
            try reading.share(member.share)
        }
        for share in [above, try reading.share(ofRoot: root, in: zone)] {
            if share?.hasMembers == true { throw .refused(.alreadyShared) }
        }
        if try reading.share(ofRoot: nil, in: zone)?.hasMembers == true {
            throw .refused(.zoneIsShared)
        }
        let share = ShareEntry(
            number: reading.zoneCount + 1, began: .none, state: .growing,
            permission: UInt8(Share.Permission.none.rawValue),
            link: reading.identity.shareLink(zone: zone, root: tree.rootName),
            recordName: tree.recordName, rootName: tree.rootName)
        var draft = Draft(reading)
        try draft.buffer.add(.share, zone: zone, limit: context.payloadLimit) {
            share.write(to: &$0)
        }
        draft.results = [.done(GrowingShare(share.number, of: root, in: zone))]
        return draft
    }
}

/// Takes more records into a share that grows.
struct ShareGrowth: Transaction {
    let share: GrowingShare

    /// Its result is the ``GrowingShare`` behind the step.
    func draft(
        _ reading: StoreReading, _ context: PreparationContext, sink: PartSink
    ) throws(EngineError) -> Draft? {
        var draft = Draft(reading)
        draft.readSet.append(.share(share.number))
        guard try reading.growingShare(share.number) != nil else { throw .refused(.noShare) }
        var share = share
        let moved = try share.advance(reading, context, &draft)
        try MembersEntry.forEach(of: moved) { entry throws(EngineError) in
            try draft.buffer.add(.members, zone: share.zone, limit: context.payloadLimit) {
                entry.write(to: &$0)
            }
        }
        draft.results = [.done(share)]
        return draft
    }
}

/// Gives up a share that still grows; nothing where it does no more.
struct ShareDropping: Transaction {
    let number: UInt32

    func draft(
        _ reading: StoreReading, _ context: PreparationContext, sink: PartSink
    ) throws(EngineError) -> Draft? {
        var draft = Draft(reading)
        draft.readSet.append(.share(number))
        guard let place = try reading.growingShare(number) else { return draft }
        var share = try reading.shareEntry(place)
        share.state = .ended
        try draft.buffer.add(.share, zone: place.zone, limit: context.payloadLimit) {
            share.write(to: &$0)
        }
        return draft
    }
}

extension MembersEntry {
    /// Gives `body` the entries of records that go along, in their order.
    static func forEach(
        of moved: [SharingPlan.Moved], onDevice device: UInt64? = nil,
        where isThere: (String) throws(EngineError) -> Bool = { _ in true },
        _ body: (MembersEntry) throws(EngineError) -> Void
    ) throws(EngineError) {
        var entry = MembersEntry(oldShare: 0, newShare: 0, items: [])
        for record in moved where try isThere(record.item.name) {
            let goesOn =
                record.old == entry.oldShare && record.new == entry.newShare
                && entry.items.count < limit
            if !goesOn {
                if !entry.items.isEmpty { try body(entry) }
                entry = MembersEntry(
                    oldShare: record.old, newShare: record.new, device: device, items: [])
            }
            entry.items.append(record.item)
        }
        if !entry.items.isEmpty { try body(entry) }
    }
}

extension SharingPlan.Moved {
    /// The record that an entry holds, which leaves `old` for `new`; nil, and a membership in no
    /// share: none.
    init(
        _ entry: JournalEntry, _ head: RecordHead, _ place: EntryLocation,
        from old: ShareMembership?, to new: UInt32?
    ) throws(EngineError) {
        let old = old?.share == 0 ? nil : old
        let name: String
        do throws(FormatError) {
            let bytes = entry.bytes
            name = try head.name(in: bytes.span)
        } catch {
            throw .damaged(entry)
        }
        self.init(
            old: old?.share ?? 0, new: new ?? 0,
            item: MembersEntry.Item(
                name: name, type: head.type, version: place.version, length: place.frameLength,
                since: old?.since ?? .none, place: old?.place ?? 0))
    }
}

/// The shares of a batch that have to grow ahead of it.
struct ShareGrowthPlan: Sendable {
    /// What became of a tree: the number of its share, or why it cannot be shared.
    typealias Grown = Result<UInt32, StoreError>

    /// By the names of their roots.
    private(set) var grown: [String: Grown] = [:]
    private var growing: (share: GrowingShare?, tree: LongTree)?
    private var dropped: [UInt32] = []

    /// The tree grows before the batch is tried again.
    mutating func begin(_ tree: LongTree) { growing = (nil, tree) }

    /// Ahead of all else shares are given up.
    mutating func drop(_ shares: [UInt32]) { dropped += shares }

    /// The batch is done, or failed: what still grows is given up.
    mutating func end() {
        dropped += grown.values.compactMap { try? $0.get() }
        grown = [:]
    }

    /// What is to be committed now; nil: nothing.
    func step(in scope: DatabaseScope) -> RecordCall.Step? {
        if let number = dropped.last { return .drop(ShareDropping(number: number)) }
        guard let growing else { return nil }
        guard let share = growing.share else {
            return .grow(ShareBeginning(tree: growing.tree, scope: scope))
        }
        return .grow(ShareGrowth(share: share))
    }

    /// The share of which ``step(in:)`` said so was given up, or could not be.
    mutating func endDrop() -> UInt32 { dropped.removeLast() }

    /// What came of a commit by which a share grows. Returns what is no answer to the tree, but keeps
    /// the call from being done.
    mutating func take(_ result: Result<Committed, EngineError>) -> EngineError? {
        guard let (former, tree) = growing.take() else { return nil }
        switch result {
        case .failure(let error):
            if let former { dropped.append(former.number) }
            guard case .other(let refusal as StoreError) = error else { return error }
            grown[tree.rootName] = .failure(refusal)
        case .success(let committed):
            guard case .done(let share as GrowingShare)? = committed.draft.results.first else {
                preconditionFailure("a share that grows says how far it has come")
            }
            if share.isWhole {
                grown[tree.rootName] = .success(share.number)
            } else {
                growing = (share.behind(committed), tree)
            }
        }
        return nil
    }
}

/// Shares that grow no more and could not be given up, since the disk was full: the next call does it,
/// or the next opening.
final class LeftShares: Sendable {
    private let numbers = Mutex<[UInt32]>([])
    /// Every save asks.
    private let count = Atomic(0)

    func add(_ number: UInt32) {
        numbers.withLock { $0.append(number) }
        count.add(1, ordering: .relaxed)
    }

    func takeAll() -> [UInt32] {
        if count.load(ordering: .relaxed) == 0 { return [] }
        let all = numbers.withLock { numbers in
            let all = numbers
            numbers = []
            return all
        }
        count.subtract(all.count, ordering: .relaxed)
        return all
    }
}

extension Container {
    /// Gives up the shares that grew when the process before ended.
    func dropGrowingShares() throws(EngineError) {
        guard state.fold.index.mayHaveRows(of: KeySpace.growingShares.rawValue) else { return }
        var numbers: [UInt32] = []
        try reading.waiting.scan(KeySpace.growingShares.range()) { key, _ in
            numbers.append(key.shareNumber)
            return true
        }
        for number in numbers {
            // A disk that is full must not keep the store closed: then it is done another time.
            _ = try? engine().commitBlocking(ShareDropping(number: number))
        }
    }
}

extension EngineError {
    /// The tree for which a batch was refused, which is shared in another way.
    var longTree: LongTree? {
        if case .other(let tree as LongTree) = self { tree } else { nil }
    }
}

extension StoreError {
    static let zoneIsShared = StoreError(
        .serverRejectedRequest, "all of the zone is shared already")
}
