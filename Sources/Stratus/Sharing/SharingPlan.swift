internal import StratusBytes
internal import StratusEngine
internal import StratusIndex
internal import StratusJournal

/// What a batch does to shares, and to the membership of records, in the state that it leaves behind:
/// `Formats/README.md`, "Sharing".
///
/// A record is a member of its parent's share, a root of its own. So what changes the share of a record
/// changes that of all below it, but for what is below a root of its own.
struct SharingPlan {
    /// What the entry of a record says of shares.
    struct Statement {
        var membership: ShareMembership?
        var former: ShareMembership?
        /// Of a root: the name of its share's record.
        var shareRecord: String?
    }

    /// A record that is written, and what is to be known of it.
    struct Saved {
        /// The item that is the reason.
        var item: Int
        /// Whether the item says what is written; if not, the record is written once more as it is.
        var isOfItem: Bool
        var name: Hash128
        /// Nil where the record is new.
        var place: EntryLocation?
        var parent: Hash128?
        var changesParent = false
        var isShareRecord = false
        /// The share that the index has it in.
        var member: ShareMembership?
        /// The share that it is in at the end, once that is known; nil inside: in none.
        var share: UInt32??
        /// Whether it is the root of that share.
        var isRoot = false

        /// Whether it is new, or gets another parent.
        var isMoved: Bool { place == nil || changesParent }
    }

    /// A record that is written once more.
    struct Rewritten {
        var name: Hash128
        var place: EntryLocation
        var statement: Statement
    }

    /// A record that goes along with one above it.
    struct Moved {
        var old: UInt32
        var new: UInt32
        var item: MembersEntry.Item
    }

    let batch: RecordBatch
    let reading: StoreReading
    let zone: ZonePlace
    /// What the caller sees of the zone; nil: it is the caller's own.
    let access: SharedZone?
    /// So many may go along, or the plan needs a serial context.
    private let limit: Int
    private let isSerial: Bool

    private(set) var changes: [ShareChange] = []
    /// By item; those of records that are written once more stand in ``rewritten``.
    private(set) var statements: [Statement?]
    /// Records that are written once more as they are, but for their shares.
    private(set) var rewritten: [Rewritten] = []
    /// By item: the record of a share that a participant leaves, which is written once more, too.
    private(set) var leaving: [Int: (place: EntryLocation, statement: Statement)] = [:]
    private(set) var moved: [Moved] = []
    private(set) var failures: [Int: StoreError] = [:]
    private(set) var needsSerial = false
    /// What was relied on.
    private(set) var readSet: [IndexKey] = []
    private(set) var readRanges: [Range<IndexKey>] = []

    /// In the order of the items; those that are written once more come last.
    private var saved: [Saved] = []
    private var places: [Hash128: Int] = [:]
    private(set) var deleted: Set<Hash128> = []
    /// The roots of new shares.
    private var newRoots: [Hash128: ShareChange] = [:]
    private(set) var ended: Set<UInt32> = []
    /// Whether parents change or shares begin or end: then the index does not say what the share of a
    /// record that stays will be.
    private var changesTree = false
    /// The shares that records which the batch does not write are in at the end; nil: in none.
    private var shares: [Hash128: UInt32?] = [:]
    /// As the index has them.
    private var sharePlaces: [UInt32: SharePlace?] = [:]
    /// Whether parents that the batch does not write are records of shares.
    private var shareRecords: [Hash128: Bool] = [:]
    /// Whether what lies below the root of a new share may be taken in ahead of the batch: not where
    /// that fails anyway, or makes room itself for the share.
    private var mayGrow = true

    init(
        _ batch: RecordBatch, _ reading: StoreReading, _ zone: ZonePlace, _ access: SharedZone?,
        _ context: PreparationContext
    ) {
        isSerial = context.isSerial
        limit = context.isSerial ? .max : context.partLimit / 1024
        self.batch = batch
        self.reading = reading
        self.zone = zone
        self.access = access
        statements = Array(repeating: nil, count: batch.items.count)
        saved.reserveCapacity(batch.items.count)
        places.reserveCapacity(batch.items.count)
    }

    /// Finds out what happens to shares and members.
    mutating func run(
        _ results: [ItemResult], hasFailed: Bool, _ numbers: inout NumberAssignment
    ) throws(EngineError) {
        try collect(results, &numbers)
        if numbers.isIncomplete { return }
        let isRefused =
            hasFailed
            || batch.isAtomic && (!failures.isEmpty || results.contains(where: \.hasFailed))
        mayGrow = ended.isEmpty && !isRefused
        if batch.limits?.profile.touchesParents == true { try touchParents() }
        for place in saved.indices {
            try state(place)
            if needsSerial { return }
        }
        leaveDependents()
    }

    /// What fails since its parent, which was to be saved, fails is found without that.
    private mutating func leaveDependents() {
        if failures.isEmpty || batch.isAtomic { return }
        let first = failures
        for record in saved {
            guard let parent = record.parent, let place = places[parent],
                first[saved[place].item] != nil, saved[place].item != record.item
            else { continue }
            failures[record.item] = nil
        }
    }

    /// A parent in a shared hierarchy changes with its children.
    private mutating func touchParents() throws(EngineError) {
        for index in saved.indices {
            let child = saved[index]
            guard let parent = child.parent, child.isOfItem, places[parent] == nil,
                !deleted.contains(parent), let share = try share(of: child.name, at: index),
                try self.share(of: parent, at: nil) == share
            else { continue }
            try touch(parent, for: child.item)
        }
    }

    /// Whether nothing is to be written but what the items say.
    var isEmpty: Bool { changes.isEmpty && rewritten.isEmpty && moved.isEmpty }

    private mutating func fail(_ item: Int, _ error: StoreError) {
        if failures[item] == nil { failures[item] = error }
    }
}

// What the items say.
extension SharingPlan {
    private mutating func collect(
        _ results: [ItemResult], _ numbers: inout NumberAssignment
    ) throws(EngineError) {
        // What ends makes room for what begins in the same batch.
        let order =
            results.indices.filter { batch.items[$0].isDeletion }
            + results.indices.filter { !batch.items[$0].isDeletion }
        for index in order {
            guard case .planned(let plan) = results[index] else { continue }
            do throws(EngineError) {
                try collect(index, plan, &numbers)
            } catch {
                if error.wouldBlock { throw error }
                fail(index, StoreError(error).with(batch.items[index].recordID))
            }
            if numbers.isIncomplete { return }
        }
        try touchRoots()
        changesTree =
            !newRoots.isEmpty || !ended.isEmpty
            || saved.contains { $0.changesParent && $0.place != nil }
    }

    private mutating func collect(
        _ index: Int, _ plan: ItemPlan, _ numbers: inout NumberAssignment
    ) throws(EngineError) {
        switch (batch.items[index], plan) {
        case (.save(let record, _), .insert):
            let name = reading.hash(record.recordID.recordName)
            let parent = record.parent.map { reading.hash($0.recordID.recordName) }
            add(
                Saved(
                    item: index, isOfItem: true, name: name, place: nil, parent: parent,
                    isShareRecord: record.isShare))
            if record.isShare { try create(record, at: index, &numbers) }
        case (.save(let record, let rule), .update(let place, let held)):
            try collect(record, rule, over: place, held, at: index)
            if record.isShare { try edit(record, at: index, &numbers) }
        case (.delete(let id, _), .delete(let place, let held)):
            try end(id, at: index, place, held)
        default: preconditionFailure("a plan fits its item")
        }
    }

    private mutating func add(_ record: Saved) {
        places[record.name] = saved.count
        saved.append(record)
    }

    private mutating func collect(
        _ record: Record, _ rule: SaveRule, over place: EntryLocation, _ held: JournalEntry?,
        at index: Int
    ) throws(EngineError) {
        let name = reading.hash(record.recordID.recordName)
        let former: Hash128?
        var parent: Hash128?
        let entry: JournalEntry
        if let held { entry = held } else { entry = try reading.entry(place) }
        let head = try entry.recordHead().head
        former = parentHash(head, of: entry)
        parent = former
        if batch.sendsParent(of: record, rule, isInsert: false),
            batch.mayChangeParent(of: head)
        {
            parent = record.parent.map { reading.hash($0.recordID.recordName) }
        }
        add(
            Saved(
                item: index, isOfItem: true, name: name, place: place, parent: parent,
                changesParent: parent != former, isShareRecord: record.isShare,
                member: try member(name)))
    }

    private func parentHash(_ head: RecordHead, of entry: JournalEntry) -> Hash128? {
        head.parent.map { place in
            Hash128(entry.bytes.span.extracting(place), seed: reading.identity.secret)
        }
    }

    private mutating func create(
        _ record: Record, at index: Int, _ numbers: inout NumberAssignment
    ) throws(EngineError) {
        guard let creation = record.shareEdit?.creation else {
            return fail(index, .noRoot)
        }
        var root: (name: String, hash: Hash128)?
        if case .root(let id, _) = creation {
            root = (id.recordName, reading.hash(id.recordName))
        }
        let former = try reading.share(ofRoot: root?.hash, in: zone.number)
        readSet.append(.shareRoot(zone.number, root?.hash))
        if let root, newRoots[root.hash] != nil { return fail(index, .alreadyShared) }
        var grown: SharePlace?
        switch root.flatMap({ batch.grownShares[$0.name] }) {
        case .failure(let error)?: return fail(index, error)
        case .success(let number)?:
            guard let former, former.number == number, former.state == .growing else {
                return fail(index, .noShare)
            }
            readSet.append(.share(number))
            grown = former
        case nil:
            if let former, former.hasMembers, !ended.contains(former.number) {
                return fail(index, .alreadyShared)
            }
        }
        let others = changes.filter { $0.kind == .creation }
        if others.contains(where: { $0.entry.isZoneWide || root == nil }) {
            return fail(index, .sharedTwice)
        }
        guard let number = grown?.number ?? numbers.newShare() else { return }
        let entry = ShareEntry(
            number: number, began: grown.map { reading.identity.version(at: $0.first) } ?? .none,
            state: .alive,
            permission: UInt8((record.shareEdit?.publicPermission ?? .none).rawValue),
            link: reading.identity.shareLink(zone: zone.number, root: root?.name ?? ""),
            recordName: record.recordID.recordName, rootName: root?.name ?? "")
        var change = ShareChange(entry, kind: .creation, item: index)
        try change.invite(record.shareEdit, [], of: batch, reading, &numbers)
        changes.append(change)
        if let root { newRoots[root.hash] = change }
    }

    private mutating func edit(
        _ record: Record, at index: Int, _ numbers: inout NumberAssignment
    ) throws(EngineError) {
        guard let edit = record.shareEdit else { return }
        if edit.creation != nil { return fail(index, .recordExists) }
        let shared = try reading.share(ofRecord: record.recordID.recordName, in: zone.number)
        guard let place = shared else {
            return fail(index, .noShare)
        }
        readSet.append(.share(place.number))
        readRanges.append(IndexKey.participants(place.number))
        var entry = try reading.shareEntry(place)
        let permission = edit.publicPermission.map { UInt8($0.rawValue) } ?? entry.permission
        let changesPermission = permission != entry.permission
        entry.permission = permission
        var change = ShareChange(entry, kind: changesPermission ? .edit : .list, item: index)
        let known = try reading.participants(of: place.number)
        try change.invite(edit, known, of: batch, reading, &numbers)
        if changesPermission { change.dropUninvited(known) }
        changes.append(change)
    }

    /// Deleting the record of a share ends it, or is how a participant leaves; deleting a root ends its
    /// share, too.
    private mutating func end(
        _ id: Record.ID, at index: Int, _ place: EntryLocation, _ held: JournalEntry?
    ) throws(EngineError) {
        let name = reading.hash(id.recordName)
        let entry: JournalEntry
        if let held { entry = held } else { entry = try reading.entry(place) }
        let head = try entry.recordHead().head
        guard reading.schema.name(head.type) == Record.shareType else {
            deleted.insert(name)
            if let share = try entry.shareRecordName(head), batch.saves(share) {
                fail(index, .rootGoes)
            }
            return
        }
        guard let share = try reading.share(ofRecord: id.recordName, in: zone.number) else {
            deleted.insert(name)
            return
        }
        if let access {
            try leave(share, access, at: index, name, place)
        } else {
            deleted.insert(name)
            var last = try reading.shareEntry(share)
            last.state = .ended
            ended.insert(share.number)
            readSet.append(.share(share.number))
            changes.append(ShareChange(last, kind: .end, item: index))
        }
    }

    private mutating func leave(
        _ share: SharePlace, _ access: SharedZone, at index: Int, _ name: Hash128,
        _ place: EntryLocation
    ) throws(EngineError) {
        let last = try reading.shareEntry(share)
        readRanges.append(IndexKey.participants(share.number))
        var change = ShareChange(last, kind: .list, item: index)
        for participant in try reading.participants(of: share.number)
        where participant.user == access.user && participant.status == .accepted {
            change.remove(participant)
        }
        changes.append(change)
        add(
            Saved(
                item: index, isOfItem: false, name: name, place: place, isShareRecord: true,
                member: try member(name)))
    }

    /// A root whose share begins or ends is written, whether it is saved or not, and gets a new tag.
    private mutating func touchRoots() throws(EngineError) {
        for change in changes where change.kind == .creation || change.kind == .end {
            guard !change.entry.rootName.isEmpty else { continue }
            let root = reading.hash(change.entry.rootName)
            if places[root] != nil { continue }
            // It was to be saved and could not be, or goes.
            if change.kind == .creation,
                deleted.contains(root) || batch.saves(change.entry.rootName)
            {
                fail(change.item, .rootNotSaved)
                continue
            }
            if deleted.contains(root) { continue }
            try touch(root, for: change.item)
        }
    }

    /// Writes a record once more, as it is.
    private mutating func touch(_ name: Hash128, for item: Int) throws(EngineError) {
        let key = IndexKey.record(zone.number, name)
        readSet.append(key)
        guard let place = try reading.value(key).map({ EntryLocation($0) }), !place.isDeleted else {
            return
        }
        let entry = try reading.entry(place)
        let head = try entry.recordHead().head
        add(
            Saved(
                item: item, isOfItem: false, name: name, place: place,
                parent: parentHash(head, of: entry), member: try member(name)))
    }
}

// What becomes of each record.
extension SharingPlan {
    private mutating func state(_ place: Int) throws(EngineError) {
        let new = try share(of: saved[place].name, at: place)
        let record = saved[place]
        let old = record.member
        var statement = Statement()
        if let old, old.share == new {
            statement.membership = old
        } else {
            statement.former = old
            statement.membership = new.map {
                ShareMembership(share: $0, since: .none, place: 0)
            }
        }
        var isWhole = false
        if record.isRoot, let new {
            // All below the root of a share that grows was taken in, or is being.
            isWhole = try sharePlace(new)?.state == .growing
            statement.shareRecord = try shareRecord(of: new)
            try checkRoot(record)
        }
        try checkCaller(record, new)
        if record.isMoved, let parent = record.parent, try isShareRecord(parent) {
            fail(record.item, .shareAsParent)
        }
        if record.isOfItem {
            statements[record.item] = statement
        } else if let place = record.place {
            if access != nil, batch.items[record.item].isDeletion {
                leaving[record.item] = (place, statement)
            } else {
                rewritten.append(
                    Rewritten(name: record.name, place: place, statement: statement))
            }
        }
        let former = try old.flatMap { old throws(EngineError) in
            try isAlive(old.share) ? old.share : nil
        }
        let mayHaveChildren = record.place != nil || batch.isRestore
        if former != new, mayHaveChildren, !record.isShareRecord, !isWhole {
            try moveAlong(with: record, to: new)
        }
    }

    /// A root lies below no other share.
    private mutating func checkRoot(_ record: Saved) throws(EngineError) {
        guard let parent = record.parent, try share(of: parent, at: places[parent]) != nil else {
            return
        }
        fail(record.item, .alreadyShared)
    }

    /// A participant writes into shares that are the participant's to write.
    private mutating func checkCaller(
        _ record: Saved, _ new: UInt32?
    ) throws(EngineError) {
        guard let access, record.isOfItem, !record.isShareRecord else { return }
        let object = Permission.SharedRecord(
            position: .member, grant: access.grant(of: new))
        let refusal = Permission.refusal(
            of: record.place == nil ? .create : .write, on: .sharedRecord(object),
            by: batch.principal, in: batch.scope)
        if let refusal { fail(record.item, refusal) }
    }

    /// All below a record goes along with it, but for what is below a root of its own.
    private mutating func moveAlong(
        with record: Saved, to new: UInt32?
    ) throws(EngineError) {
        var queue = [record.name]
        var next = 0
        var seen: Set<Hash128> = [record.name]
        var rest: Range<IndexKey>?
        while rest != nil || next < queue.count {
            let range: Range<IndexKey>
            if let rest {
                range = rest
            } else {
                range = IndexKey.children(zone.number, of: queue[next]).asPrefix
                next += 1
                rely(on: range)
            }
            let children: [Hash128]
            (children, rest) = try reading.children(in: range, atMost: LongTree.limit)
            var leaving: [(old: ShareMembership?, place: EntryLocation)] = []
            for child in children {
                // What the batch writes is decided by itself.
                guard places[child] == nil, !deleted.contains(child),
                    seen.insert(child).inserted
                else { continue }
                if try ownShare(of: child, at: nil) != nil {
                    if new != nil { fail(record.item, .alreadyShared) }
                    continue
                }
                guard let found = try leave(child, for: new) else { continue }
                queue.append(child)
                leaving.append(found)
            }
            // Together, since children of one record often lie side by side.
            try reading.forEachEntry(at: leaving.map(\.place)) {
                number, entry throws(EngineError) in
                let (old, place) = leaving[number]
                moved.append(try Moved(entry, entry.recordHead().head, place, from: old, to: new))
            }
            if moved.count > LongTree.limit, let tree = tree(of: new) {
                throw .other(tree)
            }
            if moved.count > limit {
                needsSerial = true
                return
            }
        }
    }

    /// That of a new share which can grow ahead of the batch: its root is there.
    private func tree(of share: UInt32?) -> LongTree? {
        guard mayGrow,
            let change = changes.first(where: {
                $0.kind == .creation && $0.entry.number == share && $0.entry.began == .none
            }),
            failures.isEmpty || !batch.isAtomic && failures[change.item] == nil,
            let root = places[change.root(reading)], saved[root].place != nil
        else { return nil }
        return LongTree(
            zoneID: batch.zoneID, rootName: change.entry.rootName,
            recordName: change.entry.recordName)
    }

    /// Where a record stands, and the share that it leaves; nil where it, and so what is below it, does
    /// not change its share.
    private mutating func leave(
        _ name: Hash128, for new: UInt32?
    ) throws(EngineError) -> (old: ShareMembership?, place: EntryLocation)? {
        let key = IndexKey.record(zone.number, name)
        rely(on: key)
        guard let place = try reading.value(key).map({ EntryLocation($0) }), !place.isDeleted else {
            return nil
        }
        let old = try member(name).flatMap { $0.share == 0 ? nil : $0 }
        shares[name] = .some(new)
        return old?.share == new ? nil : (old, place)
    }

    /// The share that a record is in at the end; nil: in none. `place` is where the record stands in
    /// ``saved``.
    private mutating func share(
        of name: Hash128, at place: Int?
    ) throws(EngineError) -> UInt32? {
        var path: [(name: Hash128, place: Int?)] = []
        var next = Optional((name: name, place: place))
        var share: UInt32?
        while let record = next {
            if let known = knownShare(of: record.name, at: record.place) {
                share = known
                break
            }
            // Where the path comes back here it ends: a cycle fails by another check.
            setShare(of: record.name, at: record.place, to: nil)
            if let own = try ownShare(of: record.name, at: record.place) {
                setShare(of: record.name, at: record.place, to: own)
                if let place = record.place { saved[place].isRoot = !saved[place].isShareRecord }
                share = own
                break
            }
            path.append(record)
            guard changesTree || record.place != nil else {
                share = try member(record.name).flatMap { member throws(EngineError) in
                    try isAlive(member.share) ? member.share : nil
                }
                break
            }
            next = try parent(of: record.name, at: record.place).map { ($0, places[$0]) }
        }
        // Known already, or the record's own.
        guard !path.isEmpty, let above = share else { return share }
        let isGrowing = try grows(above)
        for (name, place) in path.reversed() {
            // What stays where it is, is taken in by others, if it was not yet.
            if isGrowing, place.map({ saved[$0].isMoved }) != true {
                share = try member(name)?.share == above ? above : nil
            }
            setShare(of: name, at: place, to: share)
        }
        return share
    }

    private func knownShare(of name: Hash128, at place: Int?) -> UInt32?? {
        if let place { saved[place].share } else { shares[name] }
    }

    private mutating func setShare(of name: Hash128, at place: Int?, to share: UInt32?) {
        if let place { saved[place].share = .some(share) } else { shares[name] = .some(share) }
    }

    /// Whether a share grows, and goes on growing behind the batch.
    private mutating func grows(_ share: UInt32) throws(EngineError) -> Bool {
        try sharePlace(share)?.state == .growing && !changes.contains { $0.entry.number == share }
    }

    /// The parent that a record has at the end.
    private mutating func parent(
        of name: Hash128, at place: Int?
    ) throws(EngineError) -> Hash128? {
        if let place { return saved[place].parent }
        let key = IndexKey.record(zone.number, name)
        rely(on: key)
        guard let place = try reading.value(key).map({ EntryLocation($0) }), !place.isDeleted else {
            return nil
        }
        let entry = try reading.entry(place)
        return parentHash(try entry.recordHead().head, of: entry)
    }

    /// The share of which a record is the root, or the record, at the end.
    private mutating func ownShare(of name: Hash128, at place: Int?) throws(EngineError) -> UInt32?
    {
        if let change = newRoots[name] { return change.entry.number }
        if let place, saved[place].isShareRecord {
            // That of a zone is in no share.
            let change = changes.first { reading.hash($0.entry.recordName) == name }
            if let change { return change.entry.rootName.isEmpty ? nil : change.entry.number }
            return saved[place].member?.share
        }
        // The root of a share that lives or grows is there.
        if let place, saved[place].place == nil { return nil }
        let key = IndexKey.shareRoot(zone.number, name)
        rely(on: key)
        guard let value = try reading.value(key) else { return nil }
        let number = UInt32(truncatingIfNeeded: value.first)
        return try isAlive(number) ? number : nil
    }

    /// Whether that is the record of a share, below which nothing lies.
    private mutating func isShareRecord(_ name: Hash128) throws(EngineError) -> Bool {
        if let place = places[name] { return saved[place].isShareRecord }
        if let known = shareRecords[name] { return known }
        let value = try reading.value(.record(zone.number, name))
        var isShareRecord = false
        if let place = value.map({ EntryLocation($0) }), !place.isDeleted {
            isShareRecord = try reading.isShareRecord(reading.entry(place))
        }
        shareRecords[name] = isShareRecord
        return isShareRecord
    }

    private func shareRecord(of share: UInt32) throws(EngineError) -> String? {
        if let change = changes.first(where: { $0.entry.number == share }) {
            return change.entry.recordName
        }
        guard let place = try reading.share(share), place.isAlive else { return nil }
        return try reading.shareEntry(place).recordName
    }

    /// Whether a share that is there has members at the end.
    private mutating func isAlive(_ share: UInt32) throws(EngineError) -> Bool {
        if ended.contains(share) { return false }
        return try sharePlace(share)?.hasMembers == true
    }

    private mutating func sharePlace(_ share: UInt32) throws(EngineError) -> SharePlace? {
        if let known = sharePlaces[share] { return known }
        rely(on: .share(share))
        let place = try reading.share(share)
        sharePlaces[share] = .some(place)
        return place
    }

    private mutating func member(_ name: Hash128) throws(EngineError) -> ShareMembership? {
        rely(on: .member(zone.number, name))
        return try reading.member(name, in: zone.number)
    }

    /// Only where another commit may come between: a serial preparation excludes that.
    private mutating func rely(on key: IndexKey) { if !isSerial { readSet.append(key) } }
    private mutating func rely(on range: Range<IndexKey>) {
        if !isSerial { readRanges.append(range) }
    }
}

extension StoreError {
    static let noRoot = StoreError(
        .invalidArguments, "a new share is saved in one call with its root")
    static let sharedTwice = StoreError(
        .invalidArguments, "a zone is shared as a whole, or hierarchies of it are")
    static let rootGoes = StoreError(
        .invalidArguments, "a root goes with its share, which cannot be saved in the same call")
    static let shareAsParent = StoreError(
        .invalidArguments, "the record of a share is no parent and no root")
    static let rootNotSaved = StoreError(
        .invalidArguments, "the root of the share could not be saved in the same call")
    static let noShare = StoreError(.unknownItem, "the share has ended")
    static let recordExists = StoreError(
        .serverRecordChanged, "record to insert already exists")
    static let alreadyShared = StoreError(
        .alreadyShared, "the record, one above it or one below it is shared already")
}
