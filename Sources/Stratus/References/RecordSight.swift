internal import StratusBytes
internal import StratusEngine
internal import StratusIndex

/// Which records of a zone the caller of a batch sees. One that the caller does not see is missing:
/// `Formats/README.md`, "Permissions".
struct RecordSight {
    /// What the caller sees of another user's zone; nil: all.
    let access: SharedZone?
    /// What the caller may read of the public database; nil: all.
    private let reader: PublicReader?
    private let zone: UInt32

    init(
        of batch: RecordBatch, in zone: UInt32, _ access: SharedZone?, _ reading: StoreReading
    ) throws(EngineError) {
        self.access = access
        self.zone = zone
        reader = try batch.publicReader(reading)
    }

    /// Whether the caller sees the record of that name at a place. What that relies on is added to the
    /// read set.
    func sees(
        _ name: Hash128, at place: EntryLocation, _ reading: StoreReading,
        _ readSet: inout [IndexKey]
    ) throws(EngineError) -> Bool {
        if let access {
            readSet.append(.member(zone, name))
            if try access.grant(of: name, reading) == nil { return false }
        }
        return try reader?.mayRead(place, reading) ?? true
    }
}
