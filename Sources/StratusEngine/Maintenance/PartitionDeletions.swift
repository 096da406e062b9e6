internal import StratusIndex
internal import StratusJournal

/// What decides when a share forgets.
struct OwnedShare {
    var zone: UInt32
    /// Of the zone.
    var horizon: JournalOffset
    /// Nil where the share is in force.
    var end: JournalOffset?
}

/// What the rows of a partition say of deletions; they are given in their order, and those of a
/// zone before those of its shares, whose numbers are greater.
struct PartitionDeletions {
    private static let noDeletion = JournalOffset(rawValue: .max)

    private(set) var partition: UInt32 = 0
    /// The zone that forgets: the partition itself or, in that of a share, the share's.
    private(set) var zone: UInt32 = 0
    private(set) var isOfShare = false
    /// The last one that is forgotten by now.
    private(set) var horizon = JournalOffset.zero
    /// The first one of a record of which a mark still needs an earlier version: it must be there
    /// where the index is made anew.
    private(set) var neededFrom = PartitionDeletions.noDeletion
    /// The same of zones before, by their numbers, where there is one.
    private var neededOfZones: [UInt32: JournalOffset] = [:]
    /// That of the record whose rows are being given.
    private var last: NeededRows.Row?
    /// Participations that ended, of which a mark still needs an earlier state.
    private(set) var neededParticipations: Set<IndexKey> = []
    private var lastParticipation: IndexKey?

    mutating func take(_ row: NeededRows.Row) {
        if partition != row.key.uint32(at: 0) {
            if !isOfShare, neededFrom < Self.noDeletion { neededOfZones[partition] = neededFrom }
            partition = row.key.uint32(at: 0)
            zone = partition
            isOfShare = false
            horizon = .zero
            neededFrom = Self.noDeletion
            last = nil
        }
        if row.key.isHorizon { horizon = JournalOffset(rawValue: row.value.first) }
        if row.key.keyspace == KeySpace.participations.rawValue {
            if row.key == lastParticipation { neededParticipations.insert(row.key) }
            lastParticipation = row.key
        }
        guard row.key.keyspace == KeySpace.records.rawValue else { return }
        if let last, last.key == row.key {
            neededFrom = min(neededFrom, JournalOffset(rawValue: last.value.stamp))
        }
        last = row.isLapsing ? row : nil
    }

    /// As ``neededFrom`` of a zone whose rows were given.
    func neededFrom(ofZone zone: UInt32) -> JournalOffset {
        if !isOfShare, zone == partition { return neededFrom }
        return neededOfZones[zone] ?? Self.noDeletion
    }

    /// The partition is that of a share. Where there is no such share, nothing is forgotten.
    mutating func enter(_ share: OwnedShare?) {
        isOfShare = true
        zone = share?.zone ?? 0
        horizon = share?.horizon ?? Self.noDeletion
        neededFrom = neededOfZones[zone] ?? Self.noDeletion
    }
}
