internal import StratusArchive
internal import StratusEngine
internal import StratusJournal

/// What a restore of a whole store would make, which was found out without making it.
package struct StoreRestorePlan: Hashable, Sendable {
    /// A zone that would come back.
    package struct Zone: Hashable, Sendable {
        /// The owner of its database, named as of ``RestoredAccess``; nil: the public database.
        package var owner: String?
        package var zoneName: String
        /// How many records would be in it.
        package var recordCount: Int
    }

    /// 32 hexadecimal digits, of the store in the archive. A clone gets another one.
    package var storeID: String
    /// Up to here the store would be the one that was copied, as an offset.
    package var offset: UInt64
    /// Of all databases, but for default zones without records.
    package var zones: [Zone] = []
    /// Named as of ``RestoredAccess``, in the order in which they came.
    package var users: [String] = []
    /// What others than owners might do in the store.
    package var access: [RestoredAccess] = []
    /// What they may do in the original, and would be ended.
    package var endedAccess: [RestoredAccess] = []

    /// How many records would come back.
    package var recordCount: Int { zones.reduce(0) { $0 + $1.recordCount } }
}

extension StoreRestorePlan {
    /// - Parameters:
    ///   - zones: those of the state.
    ///   - keepsAccess: whether what is shared stays so, and users keep their roles.
    init(
        of source: Container, to offset: UInt64, _ reading: StoreReading,
        zones: [ArchiveTable.Zone], keepsAccess: Bool
    ) throws(EngineError) {
        self.init(storeID: source.identity.storeID.description, offset: offset)
        var names: [String: String] = [:]
        for number in 0..<reading.userCount {
            // Users that came later have none in this state.
            guard let user = try reading.userEntry(number + 1) else { continue }
            names[UserID(bits: user.bits).recordName] = user.name
            users.append(user.name)
        }
        let all = try reading.access()
        (access, endedAccess) = keepsAccess ? (all, []) : ([], all)
        // A share ends with its record.
        var ended: [RecordZone.ID: Int] = [:]
        for share in endedAccess.compactMap(\.share) { ended[share.zoneID, default: 0] += 1 }
        self.zones = zones.map { zone in
            let id = RecordZone.ID(zoneName: zone.name, ownerName: zone.owner)
            return Zone(
                owner: zone.owner.isEmpty ? nil : names[zone.owner] ?? zone.owner,
                zoneName: zone.name, recordCount: zone.recordCount - (ended[id] ?? 0))
        }
    }
}
