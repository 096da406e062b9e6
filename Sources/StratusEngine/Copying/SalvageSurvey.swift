internal import StratusBytes
internal import StratusIndex
internal import StratusJournal

/// What is found on a first reading of a damaged journal: which entries belong to complete commits,
/// and which numbers of users, zones and names they use that no entry gives any more.
struct SalvageSurvey {
    /// What takes the place of an entry that is lost.
    enum Substitute {
        case user(UInt32)
        /// Of a zone or a share.
        case zone(UInt32)
        case names(Range<UInt32>)
        /// Of a zone that is known.
        case deletion(ZonePlace)
    }

    private let registry: ProjectionRegistry
    private(set) var losses: [JournalLoss] = []
    /// Of the versions of entries.
    private(set) var greatestIncarnation: UInt16 = 0
    /// The entries of commits that were given up.
    private(set) var abandoned: [Range<JournalOffset>] = []
    /// In the order of their offsets.
    private var substitutes: [(offset: JournalOffset, kind: Substitute)] = []
    /// The zones that records lie in.
    private var zones: Set<UInt32> = []
    /// What preambles say of names, from number 0 on.
    private(set) var names: [String] = []
    /// The number of the user who has what is found of others; nil: none has yet.
    private(set) var lostFoundNumber: UInt32?
    private let lostFound: UserID
    private let database: (_ zone: UInt32) -> UInt32?
    private var numbers = Numbers()
    /// Before the commit that is open.
    private var committed = Numbers()
    private var open: JournalOffset?
    /// How many substitutes there were then.
    private var committedCount = 0
    /// Whether something was lost right before the next entry.
    private var isBehindLoss = false
    /// Whether the entries up to the next commit are those of one that may not have been written as a
    /// whole.
    private var isAmidUnwritten = false
    /// Those that were not come to.
    private var segments: ArraySlice<Manifest.Segment>
    /// Behind what was given the place of an entry in the last loss.
    private var nextPlace = JournalOffset.zero

    /// The greatest that are known.
    private struct Numbers {
        var users: UInt32 = 0
        var zones: UInt32 = 0
        var names: UInt32 = 0
    }

    /// - Parameter database: what is known of a zone otherwise.
    init(
        _ manifest: Manifest, _ registry: ProjectionRegistry, lostFound: UserID,
        database: @escaping (_ zone: UInt32) -> UInt32?
    ) {
        self.lostFound = lostFound
        self.database = database
        segments = manifest.segments[...]
        self.registry = registry
    }

    mutating func take(_ part: JournalSalvage.Part) {
        switch part {
        case .loss(let loss):
            losses.append(loss)
            nextPlace = loss.range.lowerBound
            if loss.mayBeUnwritten {
                giveUpOpenCommit(at: loss.range.lowerBound)
                isAmidUnwritten = true
            }
            // What keeps the journal alone is no end of a commit.
            isBehindLoss = isBehindLoss || !loss.isOfJournalAlone
        case .entry(let entry) where entry.kind.isEntry:
            greatestIncarnation = max(greatestIncarnation, entry.version.incarnation)
            defer { isBehindLoss = false }
            guard begin(entry) else { return }
            // What cannot be decoded is left out later.
            try? entry.withPayload { payload throws(FormatError) in try note(entry, payload) }
            if entry.header.isLast { open = nil }
        case .entry(let preamble):
            preamble.withPayload { payload in
                guard let found = try? SchemaPreamble(payload) else { return }
                if found.names.count > names.count { names = found.names }
                defineNames(upTo: found.nameCount)
            }
        }
    }

    /// What takes the place of entries that are lost, the deletions of zones among them, in the order
    /// of their offsets.
    func substitutes(
        and deletedZones: [ZonePlace]
    ) -> [(offset: JournalOffset, kind: Substitute)] {
        var all = substitutes + deletedZones.map { ($0.offset, .deletion($0)) }
        all.sort { $0.offset < $1.offset }
        for place in all.indices.dropFirst() {
            // A loss has room for more entries than it can have held.
            all[place].offset = max(all[place].offset, all[place - 1].offset.next)
        }
        return all
    }

    /// Behind the last part.
    mutating func finish() { giveUpOpenCommit(at: JournalOffset(rawValue: .max)) }

    /// The zones that records lie in and of which the first entry is lost.
    var orphans: Set<UInt32> {
        let lost = substitutes.compactMap {
            if case .zone(let number) = $0.kind { number } else { nil }
        }
        return zones.intersection(lost)
    }

    /// How many users there are, as far as is known.
    var userCount: UInt32 { numbers.users }

    /// Whether its commit may be complete, as far as it is known by now.
    private mutating func begin(_ entry: JournalEntry) -> Bool {
        while let segment = segments.first, entry.offset >= segment.limit {
            if segment.state != .sealed { giveUpOpenCommit(at: segment.end) }
            segments.removeFirst()
        }
        // Of what is compacted all commits are complete.
        if entry.isOfCompleteCommit {
            open = nil
            return true
        }
        isAmidUnwritten = isAmidUnwritten && entry.header.ordinal > 0
        if isAmidUnwritten {
            abandoned.append(entry.offset..<entry.offset.next)
            return false
        }
        guard entry.header.ordinal == 0 || open == nil else { return true }
        giveUpOpenCommit(at: entry.offset)
        committed = numbers
        committedCount = substitutes.count
        open = entry.offset
        return true
    }

    /// A commit that another one follows, or that ends with its segment, was given up, unless its last
    /// entry may be what was lost right before.
    private mutating func giveUpOpenCommit(at end: JournalOffset) {
        guard let start = open.take(), !isBehindLoss else { return }
        abandoned.append(start..<max(end, start.next))
        numbers = committed
        substitutes.removeLast(substitutes.count - committedCount)
    }

    private mutating func note(
        _ entry: JournalEntry, _ payload: Span<UInt8>
    ) throws(FormatError) {
        switch entry.kind {
        case .user:
            let user = try UserEntry(payload)
            if user.bits == lostFound.bits { lostFoundNumber = user.number }
            defineUsers(upTo: user.number - 1)
            numbers.users = max(numbers.users, user.number)
        case .zone:
            let zone = try ZoneEntry(payload)
            defineUsers(upTo: zone.database)
            defineZones(upTo: zone.number - 1)
            numbers.zones = max(numbers.zones, zone.number)
        case .share:
            let share = try ShareEntry(payload)
            defineZones(upTo: entry.zone)
            defineZones(upTo: share.began == .none ? share.number - 1 : share.number)
            numbers.zones = max(numbers.zones, share.number)
        case .names:
            let addition = try SchemaAddition(payload)
            defineNames(upTo: Int(addition.firstNumber))
            let end = addition.firstNumber + UInt32(addition.names.count)
            numbers.names = max(numbers.names, end)
        default:
            if entry.kind == .record { zones.insert(entry.zone) }
            var check = NumberCheck()
            try registry.validate(payload, of: entry, &check)
            defineZones(upTo: check.greatest.zone)
            defineUsers(upTo: check.greatest.user)
            defineNames(upTo: check.greatest.nameCount)
        }
    }

    private mutating func defineUsers(upTo number: UInt32) {
        while numbers.users < number, substitute(.user(numbers.users + 1)) { numbers.users += 1 }
    }

    private mutating func defineZones(upTo number: UInt32) {
        while numbers.zones < number {
            // Whose it is must be known before.
            if let user = database(numbers.zones + 1) { defineUsers(upTo: user) }
            guard substitute(.zone(numbers.zones + 1)) else { return }
            numbers.zones += 1
        }
    }

    private mutating func defineNames(upTo end: Int) {
        guard numbers.names < end, end <= Schema.nameLimit,
            substitute(.names(numbers.names..<UInt32(end)))
        else { return }
        numbers.names = UInt32(end)
    }

    /// Gives it an offset of which the entry is lost; false where there is none left.
    private mutating func substitute(_ kind: Substitute) -> Bool {
        guard let loss = losses.last, nextPlace < loss.range.upperBound else { return false }
        let place = max(nextPlace, JournalOffset(rawValue: 1))
        substitutes.append((place, kind))
        nextPlace = place.next
        return true
    }
}
