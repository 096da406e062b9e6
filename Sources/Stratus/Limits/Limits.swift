internal import StratusFiles
internal import Synchronization
internal import StratusEngine

/// The profile of a container at work: who may make a call now.
final class Limits: Sendable {
    let profile: Profile
    /// In nanoseconds, never going back.
    private let clock: @Sendable () -> UInt64
    private let debts = Mutex(RequestDebts())
    /// How many commits to each zone are unfinished; zones without any are not listed.
    private let lines = Mutex<[Line: Int]>([:])

    private struct Line: Hashable {
        var scope: DatabaseScope
        var zoneName: String
    }

    /// Nil where nothing is limited, so that nothing has to be asked.
    init?(_ profile: Profile, _ clock: Clock) {
        if profile == .unlimited { return nil }
        self.profile = profile
        self.clock = clock.monotonic
    }

    /// Counts a request of `user`.
    func admit(_ user: UserID?) throws(EngineError) {
        guard let rate = profile.requestRate else { return }
        let now = clock()
        let wait = debts.withLock { $0.add(user, rate, now: now) }
        guard let wait else { return }
        var error = StoreError(.requestRateLimited, "too many requests of this user")
        error.retryAfter = .nanoseconds(Int64(clamping: wait))
        throw .refused(error)
    }

    /// Counts an unfinished commit to a zone, until it leaves.
    func enter(_ scope: DatabaseScope, _ zone: RecordZone.ID) throws(EngineError) {
        guard let limit = profile.commitsWaitingPerZone else { return }
        let line = Line(scope: scope, zoneName: zone.zoneName)
        let isAdmitted = lines.withLock { lines in
            let count = lines[line] ?? 0
            guard count < max(1, limit) else { return false }
            lines[line] = count + 1
            return true
        }
        if isAdmitted { return }
        var error = StoreError(.zoneBusy, "too many commits wait for this zone").with(zone)
        error.retryAfter = .milliseconds(100)
        throw .refused(error)
    }

    func leave(_ scope: DatabaseScope, _ zone: RecordZone.ID) {
        guard profile.commitsWaitingPerZone != nil else { return }
        let line = Line(scope: scope, zoneName: zone.zoneName)
        lines.withLock { lines in
            let count = lines[line] ?? 0
            lines[line] = count > 1 ? count - 1 : nil
        }
    }

    /// Checks how many items a call names.
    func check(itemCount: Int) throws(EngineError) {
        guard let limit = profile.itemsPerRequest, itemCount > limit else { return }
        throw .refused(
            .limitExceeded,
            "the call has \(itemCount) items, which is more than the maximum (\(limit))")
    }

    /// Checks how many bytes a call sends.
    func check(bytesOf items: [RecordItem]) throws(EngineError) {
        guard let limit = profile.bytesPerRequest else { return }
        var total = 0
        for item in items {
            guard case .save(let record, let rule) = item else { continue }
            let length = record.lengthSent(rule.policy)
            total += length
            guard total > limit else { continue }
            let error = StoreError(
                .limitExceeded, "the call sends more than the maximum of \(limit) bytes")
            // Where one record is too much by itself, fewer of them are of no help.
            throw .refused(length > limit ? error.with(record.recordID) : error)
        }
    }
}

/// What the users have asked for lately, as the time by which each has waited long enough for it:
/// a token bucket that is full once that time is past, and then forgotten.
struct RequestDebts {
    /// By user, in nanoseconds.
    private(set) var times: [UserID?: UInt64] = [:]
    private var sweepCount = 64

    /// Counts a request, or says how many nanoseconds are to pass before it would be.
    mutating func add(
        _ user: UserID?, _ rate: Profile.RequestRate, now: UInt64
    ) -> UInt64? {
        let period = max(1, 1_000_000_000 / UInt64(max(1, rate.perSecond)))
        let (room, isHuge) = period.multipliedReportingOverflow(
            by: UInt64(max(1, rate.burst)) - 1)
        let time = max(times[user] ?? now, now)
        if !isHuge, time - now > room { return time - now - room }
        times[user] = time + period
        if times.count > sweepCount {
            times = times.filter { $0.value > now }
            sweepCount = max(64, times.count * 2)
        }
        return nil
    }
}

extension Record {
    /// How many bytes of values a save sends under `policy`.
    func lengthSent(_ policy: SavePolicy) -> Int {
        var length = 0
        for edit in edits.all {
            // The bytes of assets are not counted.
            guard let value = edit.value, !value.hasAssets else { continue }
            length += ValueFormat.length(of: value)
        }
        guard policy == .allKeys else { return length }
        stored.forEach { field in
            let isEdited = stored.schema.name(field.number).map { edits.edit(of: $0) != nil }
            if isEdited == false, field.kind.element != .asset { length += field.range.count }
            return true
        }
        return length
    }
}
