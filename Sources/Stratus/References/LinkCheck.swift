internal import StratusBytes
internal import StratusIndex
internal import StratusJournal
internal import StratusEngine

/// Checks what a batch does to parents and cascade targets, in the state that it leaves behind: the
/// store with the saves and deletions over it. Finds what deletions take along.
struct LinkCheck {
    /// So many records may go along, or there is a ``LongCascade``.
    let cascadeLimit: Int
    private let batch: RecordBatch
    private let sight: RecordSight
    /// What the caller sees of another user's zone; nil: all.
    private var access: SharedZone? { sight.access }
    private let reading: StoreReading
    private let zone: UInt32
    /// What the batch saves, whatever its links; needed only where something is to be validated.
    var saved: Set<Hash128> = []
    private let links: BatchLinks
    /// Where each record that is saved stands among the saves.
    private var saves: [Hash128: Int] = [:]

    /// The items that fail.
    private(set) var failures: [Int: StoreError] = [:]
    /// What goes along with deletions.
    private(set) var cascade: [EntryLocation] = []
    private(set) var isLong = false
    /// What was relied on.
    private(set) var readSet: [IndexKey] = []
    private(set) var readRanges: [Range<IndexKey>] = []
    /// What will not be there, and the item that deletes it; in the order in which it was found.
    private var gone: [(name: Hash128, item: Int)] = []
    private(set) var goneNames: Set<Hash128> = []

    init(
        _ links: BatchLinks, of batch: RecordBatch, _ reading: StoreReading, zone: UInt32,
        _ sight: RecordSight, cascadeLimit: Int
    ) {
        self.batch = batch
        self.sight = sight
        self.links = links
        self.reading = reading
        self.zone = zone
        self.cascadeLimit = cascadeLimit
        saves.reserveCapacity(links.saves.count)
        for place in links.saves.indices { saves[links.saves[place].name] = place }
    }

    mutating func run() throws(EngineError) {
        try checkCycles()
        try followDeletes()
        if !isLong {
            try checkChildren()
            if !batch.isRestore { try checkValidated() }
        }
        try checkReferenceLimit()
    }

    mutating func fail(_ item: Int, _ error: StoreError) {
        if failures[item] == nil { failures[item] = error }
    }

    private mutating func place(of name: Hash128) throws(EngineError) -> EntryLocation? {
        let key = IndexKey.record(zone, name)
        readSet.append(key)
        guard let place = try reading.value(key).map({ EntryLocation($0) }), !place.isDeleted else {
            return nil
        }
        return place
    }
}

// Parents.
extension LinkCheck {
    /// No record may be among its own ancestors.
    private mutating func checkCycles() throws(EngineError) {
        guard mayCloseCycle() else { return }
        var checked: Set<Hash128> = []
        for save in links.saves where save.changesParent {
            var path: [Hash128] = []
            var onPath: Set<Hash128> = []
            var next: Hash128? = save.name
            while let name = next, !checked.contains(name) {
                if !onPath.insert(name).inserted {
                    for member in path[(path.firstIndex(of: name) ?? 0)...] {
                        if let place = saves[member], links.saves[place].changesParent {
                            fail(links.saves[place].item, .parentCycle)
                        }
                    }
                    break
                }
                path.append(name)
                next = try parent(of: name)
            }
            checked.formUnion(path)
        }
    }

    /// A new record has no children yet but those of the batch.
    private func mayCloseCycle() -> Bool {
        let saved = links.saves.span
        for place in saved.indices where saved[place].changesParent {
            if saved[place].isUpdate { return true }
            if let parent = saved[place].parent, saves[parent] != nil { return true }
        }
        return false
    }

    private mutating func parent(of name: Hash128) throws(EngineError) -> Hash128? {
        if let place = saves[name] { return links.saves[place].parent }
        guard let place = try place(of: name) else { return nil }
        let entry = try reading.entry(place)
        let head = try entry.recordHead().head
        return head.parent.map { place in
            Hash128(entry.bytes.span.extracting(place), seed: reading.identity.secret)
        }
    }

    /// Nothing that goes may be the parent of what stays.
    private mutating func checkChildren() throws(EngineError) {
        if gone.isEmpty { return }
        var parents: Set<Hash128> = []
        for save in links.saves { if let parent = save.parent { parents.insert(parent) } }
        for (name, item) in gone {
            let range = IndexKey.children(zone, of: name).asPrefix
            readRanges.append(range)
            var hasChild = parents.contains(name)
            try reading.scan(range) { key, _ in
                let child = key.linkedRecord
                // Those of the batch are known already.
                if saves[child] == nil, !goneNames.contains(child) { hasChild = true }
                return !hasChild
            }
            if hasChild { fail(item, .parentOfOthers) }
        }
    }
}

// References.
extension LinkCheck {
    /// Finds all that goes along with what is deleted.
    private mutating func followDeletes() throws(EngineError) {
        if links.deletes.isEmpty { return }
        var savesByTarget: [Hash128: [Int]] = [:]
        for save in links.saves {
            for target in save.cascadeTargets.keys {
                savesByTarget[target, default: []].append(save.item)
            }
        }
        for delete in links.deletes {
            gone.append((delete.name, delete.item))
            goneNames.insert(delete.name)
        }
        if batch.isRestore { return }
        var next = 0
        while next < gone.count {
            let (target, item) = gone[next]
            next += 1
            for save in savesByTarget[target] ?? [] { fail(save, .targetGoes) }
            for source in try sources(of: target) {
                guard saves[source] == nil, let place = try place(of: source) else { continue }
                if let refusal = try refusal(toTakeAlong: source, place) { fail(item, refusal) }
                guard goneNames.insert(source).inserted else { continue }
                gone.append((source, item))
                cascade.append(place)
            }
            if cascade.count > cascadeLimit {
                isLong = true
                return
            }
        }
    }

    /// The records with deleteSelf references to `target` that the caller sees; no more than there may
    /// be.
    private mutating func sources(of target: Hash128) throws(EngineError) -> [Hash128] {
        readRanges.append(IndexKey.references(zone, to: target).asPrefix)
        // Those that stay are of the batch.
        let limit = cascadeLimit + saves.count + gone.count + 1
        let (seen, hidden) = try reading.sources(of: target, in: zone, access, atMost: limit)
        if access == nil { return seen }
        // Which of them the caller sees changes with the members of shares.
        if hidden.count < limit {
            readSet += (seen + hidden).map { .member(zone, $0) }
        } else {
            readRanges.append(KeySpace.members.range(zone: zone))
        }
        return seen
    }

    /// What is to be validated is there at the end.
    private mutating func checkValidated() throws(EngineError) {
        for save in links.saves {
            for target in save.validated {
                if goneNames.contains(target) {
                    fail(save.item, .targetMissing)
                } else if try !isVisible(target), !saved.contains(target) {
                    fail(save.item, .targetMissing)
                }
            }
        }
    }

    /// A target that the caller does not see is missing.
    private mutating func isVisible(_ name: Hash128) throws(EngineError) -> Bool {
        guard let place = try place(of: name) else { return false }
        return try sight.sees(name, at: place, reading, &readSet)
    }

    /// Why a record may not go along with one that a participant deletes.
    private func refusal(
        toTakeAlong name: Hash128, _ place: EntryLocation
    ) throws(EngineError) -> StoreError? {
        guard let access else { return nil }
        let object = try access.object(reading.entry(place), named: name, reading)
        return Permission.refusal(
            of: .cascade, on: .sharedRecord(object), by: batch.principal, in: batch.scope)
    }

    private mutating func checkReferenceLimit() throws(EngineError) {
        guard let referenceLimit = batch.limits?.profile.referencesPerTarget else { return }
        var counts: [Hash128: Int] = [:]
        for save in links.saves {
            for (target, count) in save.cascadeTargets
            where count > save.formerCascadeTargets[target] ?? 0 {
                counts[target] = 0
            }
        }
        for target in counts.keys {
            let range = IndexKey.references(zone, to: target).asPrefix
            readRanges.append(range)
            var count = 0
            try reading.scan(range) { key, _ throws(EngineError) in
                let source = key.linkedRecord
                guard saves[source] == nil, !goneNames.contains(source) else { return true }
                if let access, try access.grant(of: source, reading) == nil { return true }
                count += 1
                return count <= referenceLimit
            }
            counts[target] = count
        }
        // What is there already comes before what is new.
        for save in links.saves where failures[save.item] == nil {
            for (target, count) in save.cascadeTargets {
                counts[target]? += min(count, save.formerCascadeTargets[target] ?? 0)
            }
        }
        for save in links.saves where failures[save.item] == nil {
            for (target, count) in save.cascadeTargets {
                let added = count - (save.formerCascadeTargets[target] ?? 0)
                guard added > 0, let known = counts[target] else { continue }
                if known + added > referenceLimit {
                    fail(save.item, .tooManyReferences(referenceLimit))
                }
                counts[target] = known + added
            }
        }
    }
}

extension StoreReading {
    /// The records with deleteSelf references to `target` that a caller sees, and those that a participant
    /// does not, which do not count: at most so many of each.
    func sources(
        of target: Hash128, in zone: UInt32, _ access: SharedZone?, atMost limit: Int
    ) throws(EngineError) -> (seen: [Hash128], hidden: [Hash128]) {
        var (seen, hidden): ([Hash128], [Hash128]) = ([], [])
        var last: Hash128?
        try scan(IndexKey.references(zone, to: target).asPrefix) { key, _ throws(EngineError) in
            let source = key.linkedRecord
            // One has a key for each of its fields.
            if source == last { return true }
            last = source
            if let access, try access.grant(of: source, self) == nil {
                if hidden.count < limit { hidden.append(source) }
            } else {
                seen.append(source)
            }
            return seen.count < limit
        }
        return (seen, hidden)
    }
}
