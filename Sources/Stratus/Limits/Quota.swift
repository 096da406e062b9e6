internal import StratusFiles
internal import StratusIndex
internal import StratusJournal

/// What a commit adds to a database that has a quota.
struct QuotaCharge: Sendable {
    let database: UInt32
    /// In bytes.
    let limit: Int
    /// What the commit adds, in bytes; less than 0 where it takes away.
    var growth = 0
}

extension QuotaCharge {
    /// Whether the commit fits beside what is there and what was `staged` and is not there yet. A
    /// commit that takes nothing more always does.
    func fits(in state: FoldState, staged: [UInt32: Int]) -> Bool {
        if growth <= 0 { return true }
        do {
            let usage = Usage(try state.index.value(of: .usage(database), .blocking))
            return usage.bytes &+ (staged[database] ?? 0) &+ growth <= limit
        } catch {
            // The committer prepares the commit again, and says why.
            return false
        }
    }
}

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
        let used = Usage(try reading.value(.usage(database))).bytes
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
