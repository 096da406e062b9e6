import StratusFiles
import StratusJournal
import Support

/// What was counted over many crash points.
struct CrashTally {
    var points = 0
    var runs = 0
    /// Workloads of fewer than 50 commits or 3 segments.
    var shortRuns = 0
    var recoveryCrashes = 0
    var laterOpenings = 0
    /// Openings after a crash that began at a checkpoint.
    var checkpoints = 0
    /// Crash points by the call that had just been made, and by what the disk did.
    var calls: [DiskCall: Int] = [:]
    var options: [String: Int] = [:]
    /// What openings decided after a crash, and after a crash and damage.
    var rows: [RecoveryRow: Int] = [:]
    var damagedRows: [RecoveryRow: Int] = [:]
    var damages: [CrashDamage.Kind: Int] = [:]
    var refusedManifests = 0

    /// Counts a refusal.
    mutating func note(_ error: any Error) {
        switch error {
        case JournalError.refused(let row, _): damagedRows[row, default: 0] += 1
        case JournalError.storage: damagedRows[.readError, default: 0] += 1
        default: refusedManifests += 1
        }
    }

    mutating func add(_ other: CrashTally) {
        points += other.points
        runs += other.runs
        shortRuns += other.shortRuns
        recoveryCrashes += other.recoveryCrashes
        laterOpenings += other.laterOpenings
        checkpoints += other.checkpoints
        refusedManifests += other.refusedManifests
        calls.merge(other.calls, uniquingKeysWith: +)
        options.merge(other.options, uniquingKeysWith: +)
        rows.merge(other.rows, uniquingKeysWith: +)
        damagedRows.merge(other.damagedRows, uniquingKeysWith: +)
        damages.merge(other.damages, uniquingKeysWith: +)
    }

    /// How often a row was decided.
    func count(_ row: RecoveryRow) -> Int { rows[row, default: 0] + damagedRows[row, default: 0] }

    /// The counts in Markdown.
    var report: String {
        let total = [
            ["crash points", "\(points)"],
            ["workloads of 50 commits in 3 segments and more", "\(runs - shortRuns)"],
            ["crashes during recovery", "\(recoveryCrashes)"],
            ["openings after further commits", "\(laterOpenings)"],
            ["openings that began at a checkpoint", "\(checkpoints)"],
            ["manifests refused", "\(refusedManifests)"],
        ]
        let calls = DiskCall.allCases.compactMap { call in
            self.calls[call].map { ["\(call)", "\($0)"] }
        }
        let rows = RecoveryRow.allCases.map { row in
            [row.rawValue, "\(self.rows[row, default: 0])", "\(damagedRows[row, default: 0])"]
        }
        let damages = CrashDamage.Kind.allCases.map { kind in
            [kind.rawValue, "\(self.damages[kind, default: 0])"]
        }
        let options = self.options.sorted { $0.key < $1.key }.map { [$0.key, "\($0.value)"] }
        return [
            Campaign.table(["what", "count"], total),
            Campaign.table(["crash after call", "points"], calls),
            Campaign.table(["the disk's misdeeds", "points"], options),
            Campaign.table(["recovery row", "after a crash", "after damage too"], rows),
            Campaign.table(["damage on top", "points"], damages),
        ].joined(separator: "\n")
    }
}
