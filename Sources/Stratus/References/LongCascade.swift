internal import StratusBytes
internal import StratusIndex
internal import StratusJournal
internal import StratusEngine

/// A cascade that is longer than a part: written by the committer, in memory that does not grow.
///
/// What was staged is the list of what is still to be done: each tombstone in the feed of the zone
/// is the next target. Only one is held back, to be the last entry of the commit.
struct LongCascade: ~Copyable {
    private let zone: ZonePlace
    private let author: Author
    private let context: PreparationContext
    /// Whether the zone has shares, or had some.
    private let wasEverShared: Bool
    /// Finds the subscriptions that the deletions are of; nil where the store has none.
    private var matcher: SubscriptionMatcher?
    private let anchorZone: AnchorZone
    /// The store with all that was staged.
    private var reading: StoreReading
    /// Where the commit begins, and where its cascade does.
    private let commitStart: JournalOffset
    private let start: JournalOffset
    /// How far the feed was walked.
    private var walked: Version
    private var buffer = CommitBuffer()
    /// Whose tombstones are in the buffer.
    private var pending: Set<Hash128> = []
    /// The first that was found, and the item that brought it about.
    private var held: (name: Hash128, place: EntryLocation, item: Int)?
    /// The items that delete something, and where begins what goes along with it.
    private var roots: [(item: Int, start: JournalOffset)] = []

    /// The records saved in the batch that would have to go, and the items whose deletion would
    /// take a parent from others.
    private(set) var savesThatGo: Set<Hash128> = []
    private(set) var failedDeletes: Set<Int> = []

    private static let pageLimit = 512

    /// Begins behind what was staged of the batch's items.
    init(
        in zone: ZonePlace, by author: Author, _ context: PreparationContext,
        _ reading: StoreReading, commitStart: JournalOffset, wasEverShared: Bool,
        _ matcher: consuming SubscriptionMatcher?, _ anchorZone: AnchorZone
    ) {
        self.wasEverShared = wasEverShared
        self.matcher = matcher
        self.anchorZone = anchorZone
        self.zone = zone
        self.author = author
        self.context = context
        self.reading = reading
        self.commitStart = commitStart
        start = reading.head
        walked = reading.identity.version(at: start.previous)
    }

    /// Deletes all that goes along with the deletions of a batch; returns the last part.
    mutating func run(
        _ deletes: [(item: Int, name: Hash128)], _ sink: PartSink
    ) throws(EngineError) -> CommitBuffer {
        for (item, name) in deletes {
            roots.append((item, reading.head))
            let hadHeld = held != nil
            try expand(name, of: item, sink)
            if !hadHeld, let held { try expand(held.name, of: item, sink) }
            try drain(of: item, sink)
        }
        for (item, name) in deletes {
            if try hasChild(name) { failedDeletes.insert(item) }
        }
        try checkChildren()
        if let held { try append(held.place, sink) }
        return buffer
    }

    /// The matcher, once all was deleted.
    mutating func takeMatcher() -> SubscriptionMatcher? { matcher.take() }

    /// Whether a record is there at the end.
    func isThere(_ name: Hash128) throws(EngineError) -> Bool {
        name == held?.name ? false : try living(name) != nil
    }

    /// Takes along what has deleteSelf references to `target`.
    private mutating func expand(
        _ target: Hash128, of item: Int, _ sink: PartSink
    ) throws(EngineError) {
        let range = IndexKey.references(zone.number, to: target).asPrefix
        var first = range.lowerBound
        while true {
            var sources: [Hash128] = []
            try reading.scan(first..<range.upperBound) { key, _ in
                first = key.appending(UInt8(0))
                let source = key.linkedRecord
                if sources.last != source { sources.append(source) }
                return sources.count < Self.pageLimit
            }
            if sources.isEmpty { return }
            var found: [(name: Hash128, place: EntryLocation)] = []
            for source in sources where source != held?.name && !pending.contains(source) {
                guard let place = try living(source) else { continue }
                guard place.offset < commitStart else {
                    savesThatGo.insert(source)
                    continue
                }
                if held == nil {
                    held = (source, place, item)
                } else {
                    found.append((source, place))
                }
            }
            for (name, place) in found.sorted(by: { $0.place.offset < $1.place.offset }) {
                pending.insert(name)
                try append(place, sink)
                if buffer.lengthInBytes > context.partLimit / 2 { try flush(sink) }
            }
        }
    }

    /// Expands what was staged and what that brings about, until nothing is left.
    private mutating func drain(of item: Int, _ sink: PartSink) throws(EngineError) {
        while true {
            let targets = try stagedTombstones(behind: walked)
            for (name, version) in targets {
                try expand(name, of: item, sink)
                walked = version
            }
            if !targets.isEmpty { continue }
            if buffer.isEmpty { return }
            try flush(sink)
        }
    }

    /// What goes may not be the parent of what is left.
    private mutating func checkChildren() throws(EngineError) {
        if let held, try hasChild(held.name) { failedDeletes.insert(held.item) }
        // What lies at the place itself is behind it.
        var version = reading.identity.version(at: start.previous)
        while true {
            let targets = try stagedTombstones(behind: version)
            for (name, version) in targets {
                let root = roots.last { $0.start <= version.offset }
                if let root, try hasChild(name) { failedDeletes.insert(root.item) }
            }
            guard let last = targets.last else { return }
            version = last.version
        }
    }

    private func hasChild(_ name: Hash128) throws(EngineError) -> Bool {
        var hasChild = false
        try reading.scan(IndexKey.children(zone.number, of: name).asPrefix) { key, _ in
            hasChild = key.linkedRecord != held?.name
            return !hasChild
        }
        return hasChild
    }

    /// The next tombstones in the feed.
    private func stagedTombstones(
        behind version: Version
    ) throws(EngineError) -> [(name: Hash128, version: Version)] {
        let first = IndexKey.feed(zone.number, Version(rawValue: version.rawValue + 1))
        let end = KeySpace.feed.range(zone: zone.number).upperBound
        var places: [EntryLocation] = []
        try reading.scan(first..<end) { _, value in
            places.append(EntryLocation(value))
            return places.count < Self.pageLimit
        }
        var tombstones: [(name: Hash128, version: Version)] = []
        for entry in try reading.entries(places) {
            guard let tombstone = entry.withPayload({ try? Tombstone($0) }) else {
                throw .damaged(entry)
            }
            tombstones.append((reading.hash(tombstone.name), entry.version))
        }
        return tombstones
    }

    private func living(_ name: Hash128) throws(EngineError) -> EntryLocation? {
        let place = try reading.value(.record(zone.number, name)).map { EntryLocation($0) }
        return place.flatMap { $0.isDeleted ? nil : $0 }
    }

    /// Adds the tombstone of a record, and what follows from it. The last entry stays in the
    /// buffer.
    private mutating func append(
        _ place: EntryLocation, _ sink: PartSink
    ) throws(EngineError) {
        try delete(reading.entry(place))
        while let output = try matcher?.next() {
            if buffer.lengthInBytes > context.partLimit / 2 { try flush(sink) }
            try buffer.add(output, limit: context.payloadLimit)
        }
    }

    private mutating func delete(_ entry: JournalEntry) throws(EngineError) {
        var tombstone = try entry.tombstone(by: author, now: context.now / 1000, reading)
        if wasEverShared {
            tombstone.membership = try reading.membership(of: tombstone.name, in: zone)
        }
        try buffer.add(.tombstone, in: zone, limit: context.payloadLimit) {
            tombstone.write(to: &$0)
        }
        try matcher?.delete(entry, in: anchorZone)
        guard wasEverShared,
            let ending = try ShareEnding(
                of: reading.hash(tombstone.name), in: zone, by: author, context, reading)
        else { return }
        try buffer.add(.share, in: zone) { ending.share.write(to: &$0) }
        guard let record = ending.record else { return }
        try buffer.add(.tombstone, in: zone) { record.write(to: &$0) }
        if let entry = ending.recordEntry { try matcher?.delete(entry, in: anchorZone) }
    }

    private mutating func flush(_ sink: PartSink) throws(EngineError) {
        reading = try sink(.append(buffer)).reading
        buffer = CommitBuffer(capacity: context.partLimit)
        pending = []
    }
}
