import Stratus
import StratusBytes
import StratusEngine
import StratusFiles
import StratusJournal

/// The entries of a ``SharingHistory`` in a zone of a store: what each states of the one before it is
/// found here, and not by what plans saves.
struct SharingEntries {
    /// The last entry of a record, or its tombstone.
    private struct Entry {
        var version: Version
        var isLiving: Bool
        /// Of the payload, and of the whole frame, in bytes.
        var length: Int
        var frameLength: Int
        /// Of a living record; nil: it is in no share, and no members entry took it out of one.
        var membership: ShareMembership?
    }

    private struct Share {
        var number: UInt32
        var root: Int
        var began = Version.none
        /// When the participant joined.
        var since = Version.none
    }

    static let (owner, participant) = ("alice", "bob")
    static let type = "T"

    private let engine: Engine
    private let zone: UInt32
    private var entries: [Entry?] = Array(repeating: nil, count: SharingHistory.recordCount)
    private var shares: [Share] = []
    private(set) var count = 0

    /// Makes the zone of that name in a store of ``makeStore()``.
    init(_ name: String, in container: Container) throws {
        engine = try container.engine()
        zone = engine.published.current.fold.zoneCount + 1
        var buffer = CommitBuffer()
        let entry = ZoneEntry(
            number: zone, database: 1, state: .alive, capabilities: .custom,
            name: name)
        try buffer.add(.zone, zone: zone) { entry.write(to: &$0) }
        _ = try engine.commitBlocking(EntriesCommit(buffer: buffer))
    }

    /// A store in memory, in which the owner has the number 1, the participant 2, and the type 0.
    static func makeStore() async throws -> Container {
        var options = JournalOptions()
        options.segmentLength = 1 << 20
        let container = try Container(
            writing: MemoryStorage(), creating: true, durability: .none, options: options,
            steppedByCaller: true)
        for user in [owner, participant] {
            let zone = RecordZone.ID(zoneName: "first")
            let database = container.privateDatabase(for: user)
            try await database.save(RecordZone(zoneID: zone))
            let record = Record.ID(recordName: "first", zoneID: zone)
            try await database.save(Record(recordType: type, recordID: record))
        }
        return container
    }

    /// Commits what the entries of a change are to say, of which `history` tells the rest.
    mutating func write(
        _ statements: [SharingHistory.Statement], of history: SharingHistory
    ) throws {
        var buffer = CommitBuffer()
        // What is known of each once the commit has its place.
        var then: [(place: Int, note: (inout SharingEntries, Version) -> Void)] = []
        for (number, statement) in statements.enumerated() {
            let isLast = number == statements.count - 1
            switch statement {
            case .record(let record, let share):
                let place = buffer.count
                let entry = try add(record, share, isLast, of: history, to: &buffer)
                then.append((place, { $0.note(entry, of: record, $1) }))
            case .deletion(let record):
                then.append((buffer.count, { $0.noteDeletion(of: record, $1) }))
                try addTombstone(of: record, to: &buffer)
            case .members(let records, let share):
                for (old, group) in Dictionary(grouping: records, by: { self.share(of: $0) })
                    .sorted(by: { $0.key < $1.key })
                {
                    then.append((buffer.count, { $0.noteMembers(group, in: share, $1) }))
                    try addMembers(group, from: old, to: share, &buffer)
                }
            case .share(let share, let root):
                let number = engine.published.current.fold.zoneCount + 1
                shares.append(Share(number: number, root: root))
                then.append((buffer.count, { $0.shares[share].began = $1 }))
                try add(shares[share], .alive, to: &buffer)
            case .shareEnd(let share): try add(shares[share], .ended, to: &buffer)
            case .acceptance(let share):
                then.append((buffer.count, { $0.shares[share].since = $1 }))
                try addParticipant(of: shares[share], isIn: true, to: &buffer)
            case .departure(let share):
                try addParticipant(of: shares[share], isIn: false, to: &buffer)
            }
        }
        count += statements.count
        guard let start = try engine.commitBlocking(EntriesCommit(buffer: buffer)).start else {
            return
        }
        for (place, note) in then {
            note(&self, Version(incarnation: 0, offset: start.advanced(byBytes: place)))
        }
    }
}

// Entries of records.
extension SharingEntries {
    /// The number of the share that the index has a record in, ended or not; 0: none.
    private func share(of record: Int) -> UInt32 { entries[record]?.membership?.share ?? 0 }

    private func add(
        _ record: Int, _ share: Int?, _ isLast: Bool, of history: SharingHistory,
        to buffer: inout CommitBuffer
    ) throws -> Entry {
        let before = entries[record]
        let isUpdate = before?.isLiving ?? false
        let revision = Int64(history.records[record]?.revision ?? 0)
        var head = RecordHead(
            type: 0, modified: revision, by: Author(1), created: 0, creator: 1,
            previous: before?.version ?? .none, isUpdate: isUpdate)
        head.replacedLength = isUpdate ? before?.length ?? 0 : 0
        let number = share.map { shares[$0].number }
        let stays = isUpdate && before?.membership?.share == number
        head.formerMembership = isUpdate && !stays ? before?.membership : nil
        head.membership =
            stays
            ? before?.membership
            : number.map { ShareMembership(share: $0, since: .none, place: 0) }
        let start = buffer.count
        try buffer.add(.record, zone: zone) { writer in
            // The feed does not read parents.
            head.write(name: Self.name(of: record), parent: nil, to: &writer)
            writer.varint(0)
        }
        let length = buffer.payload(at: start)?.count ?? 0
        return Entry(
            version: .none, isLiving: true, length: length,
            frameLength: FrameFormat.frameLength(payload: length, isLast: isLast),
            membership: head.membership)
    }

    private mutating func note(_ entry: Entry, of record: Int, _ version: Version) {
        var entry = entry
        entry.version = version
        if entry.membership?.since == Version.none { entry.membership?.since = version }
        entries[record] = entry
    }

    private func addTombstone(of record: Int, to buffer: inout CommitBuffer) throws {
        guard let before = entries[record] else { return }
        var tombstone = Tombstone(
            type: 0, name: Self.name(of: record), previous: before.version, by: Author(1),
            deleted: 0)
        tombstone.replacedLength = before.length
        tombstone.membership = before.membership
        try buffer.add(.tombstone, zone: zone) { tombstone.write(to: &$0) }
    }

    private mutating func noteDeletion(of record: Int, _ version: Version) {
        entries[record]?.version = version
        entries[record]?.isLiving = false
        entries[record]?.membership = nil
    }

    private func addMembers(
        _ records: [Int], from old: UInt32, to share: Int?, _ buffer: inout CommitBuffer
    ) throws {
        let items = records.compactMap { record in
            entries[record].map { entry in
                MembersEntry.Item(
                    name: Self.name(of: record), type: 0, version: entry.version,
                    length: entry.frameLength, since: entry.membership?.since ?? .none,
                    place: entry.membership?.place ?? 0)
            }
        }
        let new = share.map { shares[$0].number } ?? 0
        let members = MembersEntry(oldShare: old, newShare: new, items: items)
        try buffer.add(.members, zone: zone) { members.write(to: &$0) }
    }

    private mutating func noteMembers(_ records: [Int], in share: Int?, _ version: Version) {
        for (place, record) in records.enumerated() {
            entries[record]?.membership = ShareMembership(
                share: share.map { shares[$0].number } ?? 0, since: version,
                place: UInt32(place) + 1)
        }
    }

    static func name(of record: Int) -> String { "r\(record)" }
    static func number(ofRecord name: String) -> Int { Int(name.dropFirst()) ?? -1 }
}

// Entries of shares.
extension SharingEntries {
    private func add(
        _ share: Share, _ state: ShareState, to buffer: inout CommitBuffer
    ) throws {
        let entry = ShareEntry(
            number: share.number, began: share.began, state: state, permission: 1,
            link: Hash128(high: 1, low: UInt64(share.number)),
            recordName: "share\(share.number)", rootName: Self.name(of: share.root))
        try buffer.add(.share, zone: zone) { entry.write(to: &$0) }
    }

    private func addParticipant(
        of share: Share, isIn: Bool, to buffer: inout CommitBuffer
    ) throws {
        let entry = ParticipantEntry(
            share: share.number, id: Hash128(high: 2, low: 2), user: 2, role: 3, permission: 2,
            status: isIn ? .accepted : .removed, since: isIn ? .none : share.since, added: 0,
            lookupKind: 0, lookup: "")
        try buffer.add(.participant, zone: zone) { entry.write(to: &$0) }
    }
}
