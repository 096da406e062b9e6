import StratusFiles
import StratusJournal
import Support

/// The power goes at one moment of a run; the store is opened again, and what it holds is compared
/// with what was known at that moment.
struct CrashTrial {
    let run: CrashRun
    let point: CrashPoint
    let disk: SimulatedDisk
    private(set) var generator: SeededGenerator
    private(set) var problem: String?
    private(set) var tally = CrashTally()
    private var store: TestStore

    init(_ run: CrashRun, number: Int, seed: UInt64) {
        self.run = run
        point = run.points[number]
        generator = SeededGenerator(seed: seed)
        generator = SeededGenerator(seed: generator.next() &+ UInt64(number))
        disk = point.crashed(seed: generator.next())
        disk.options.capacity = nil
        store = TestStore(
            on: disk, seed: seed ^ 0xffff, preamble: run.store.preamble, maps: seed % 2 == 1)
        store.policy = run.store.policy
        store.options.groupLimit = run.store.options.groupLimit
        store.durability = run.store.durability
    }

    mutating func perform() {
        tally.points = 1
        tally.calls[run.calls[point.call - 1], default: 0] += 1
        for option in disk.options.names { tally.options[option, default: 0] += 1 }
        // Damage before the end that a close stated would hardly ever come up.
        let isClosing = run.isClosing(at: point.call) && generator.oneIn(2)
        if isClosing || generator.oneIn(8) {
            damage(isClosing ? .activeSegment : nil)
            return
        }
        if generator.oneIn(10) {
            crashAgain()
            if generator.oneIn(4) { crashAgain() }
        }
        do {
            let session = try store.open()
            tally.rows[session.report.row, default: 0] += 1
            check(session)
            if problem == nil { problem = try store.problem(session, besideReaders: false) }
            if session.report.checkpoint != nil { tally.checkpoints += 1 }
            if problem == nil, generator.oneIn(2) { try goOn(session) }
        } catch {
            problem = "opening: \(error)"
        }
    }

    /// The power goes a second time, in the middle of the opening.
    private mutating func crashAgain() {
        tally.recoveryCrashes += 1
        disk.crashAtCall = 1 + generator.below(60)
        // Whatever the opening says, the next one decides.
        _ = try? store.open()
        disk.crash(seed: generator.next())
    }

    private mutating func check(_ session: TestStore.Session) {
        let numbers = session.recovered.map(\.number)
        let least = run.known(at: point.call).durableCount
        problem = run.mismatch(numbers, at: point.call, leastCount: least)
    }

    /// What was recovered stays, and new commits come behind all that ever was.
    private mutating func goOn(_ session: TestStore.Session) throws {
        let before = session.recovered
        let first = run.submissions.count + 1_000
        let added = (0..<3).map { place in
            ModelCommit(UInt64(first + place), [20 + generator.below(3_000)])
        }
        for commit in added { session.commit([commit]) }
        let published = session.outcomes.published
        let last = max(run.known(at: point.call).lastOffset, before.last?.offsets.last ?? 0)
        for commit in published.dropFirst(before.count) where commit.offsets[0] <= last {
            problem = "offset \(commit.offsets[0]) again, after \(last)"
        }
        guard published.count == before.count + added.count else {
            problem = "\(session.outcomes.all.compactMap(\.failure)) after the recovery"
            return
        }
        if generator.oneIn(4), let frozen = session.frozen() { try session.take(frozen) }
        let isClosed = generator.oneIn(2)
        if isClosed {
            try session.committer.close()
        } else if store.durability != .full {
            session.kill()
        }
        if store.durability == .full || isClosed { disk.crash(seed: generator.next()) }
        let again = try store.open()
        tally.laterOpenings += 1
        if again.recovered != published {
            problem = "\(again.recovered.map(\.number)), not \(published.map(\.number))"
        }
        if isClosed, !again.report.wasClean { problem = "not clean, though it was closed" }
    }
}

// Damage on top of a crash: it must be refused or cost at most what was never certain.
extension CrashTrial {
    private mutating func damage(_ kind: CrashDamage.Kind?) {
        do {
            guard let damage = try CrashDamage(kind, to: store, &generator) else { return }
            tally.damages[damage.kind, default: 0] += 1
            do {
                let session = try store.open()
                let row = session.report.row
                tally.damagedRows[row, default: 0] += 1
                checkDamaged(session, damage)
            } catch {
                tally.note(error)
                problem = damage.objection(to: error)
            }
        } catch {
            problem = "before the damage: \(error)"
        }
    }

    private mutating func checkDamaged(_ session: TestStore.Session, _ damage: CrashDamage) {
        let numbers = session.recovered.map(\.number)
        problem = run.mismatch(numbers, at: point.call, leastCount: 0)
        let least = run.known(at: point.call).durableCount
        guard problem == nil else { return }
        if numbers.count < least, !session.report.possibleLoss {
            problem =
                "\(damage) lost \(least - numbers.count) commits, "
                + "row \(session.report.row.rawValue), without a word"
        } else if damage.mustBeDiscarded, session.report.discardedCheckpoint == nil {
            problem = "\(damage) was let through"
        } else if damage.mustBeReported, session.report.manifestDamage == nil {
            problem = "\(damage) was let through without a word"
        } else if damage.mustBeRefused {
            problem = "\(damage) was let through, row \(session.report.row.rawValue)"
        } else if damage.kind == .staleFrame, session.report.row != .staleBytes {
            problem = "\(damage) was taken for row \(session.report.row.rawValue)"
        }
    }
}

extension DiskOptions {
    /// What the disk does worse than it must.
    var names: [String] {
        var names: [String] = []
        if tearsSectors { names.append("torn sectors") }
        if garbageInGaps { names.append("garbage in gaps") }
        if garbageInAllocations { names.append("garbage in allocations") }
        if failedSyncEvicts { names.append("failed sync evicts") }
        return names.isEmpty ? ["none of these"] : names
    }
}
