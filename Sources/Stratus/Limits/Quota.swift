internal import StratusFiles
internal import StratusIndex
internal import StratusJournal
internal import StratusEngine

/// How much room a quota leaves to a commit that is being encoded.
struct QuotaRoom: Sendable {
    private(set) var charge: QuotaCharge
    private var room: Int

    /// Nil where the database has no quota.
    init?(
        _ scope: DatabaseScope, _ database: UInt32, _ limits: Limits?, _ reading: StoreReading,
        _ context: PreparationContext
    ) throws(EngineError) {
        guard let limit = limits?.profile.quota(of: scope) else { return nil }
        charge = QuotaCharge(database: database, limit: limit)
        let used = StoredUsage(try reading.value(.usage(database))).bytes
        room = min(limit, 1 << 60) &- used &- (context.staged[database] ?? 0)
    }

    /// The longest payload that may take the place of `replaced` bytes: one that is no longer may
    /// always.
    func payloadLimit(replacing replaced: Int) -> Int { replaced &+ max(0, room) }

    mutating func count(_ length: Int, replacing replaced: Int) {
        room &-= length &- replaced
        charge.growth &+= length &- replaced
    }

    /// Whether what was counted is more than there was room for.
    var isExceeded: Bool { charge.growth > 0 && room < 0 }

    var error: StoreError {
        StoreError(.quotaExceeded, "the quota of \(charge.limit) bytes is used up")
    }
}
