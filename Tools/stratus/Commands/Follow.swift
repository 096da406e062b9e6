import FoundationEssentials
import Stratus
import StratusFiles
import StratusGateway

/// Keeps a second store equal to a store, through the same feed that every client has.
enum Follow {
    static func run(_ invocation: Invocation, _ output: Output) async throws -> ExitCode {
        let source = try await invocation.openStore()
        let target: Container
        do throws(StoreError) {
            target = try await invocation.openForWriting(
                invocation.requiredValue("into"), creating: true)
        } catch {
            var told = ToolError(error)
            told.file = told.file ?? invocation.requiredValue("into")
            throw told
        }
        do {
            Terminal.catchStopSignals()
            var follower = Follower(
                source: try invocation.liveDatabase(of: source),
                target: invocation.database(of: target),
                output: output,
                progress: Progress(
                    "following", .items("change"), invocation.progress, to: output,
                    at: Clock.monotonicNanoseconds))
            let code = try await follower.run(
                source, since: invocation.sinceToken(), once: invocation.has("once"))
            try await target.close()
            return code
        } catch {
            try? await target.close()
            throw error
        }
    }
}

private struct Follower {
    let source: Database
    let target: Database
    let output: Output
    var progress: Progress
    /// The tokens of zones that were followed before.
    private var zoneTokens: [RecordZone.ID: ChangeToken] = [:]
    private var changeCount: UInt64 = 0
    private var deletionCount: UInt64 = 0
    private let start = Clock.monotonicNanoseconds

    init(source: Database, target: Database, output: Output, progress: Progress) {
        self.source = source
        self.target = target
        self.output = output
        self.progress = progress
    }

    mutating func run(
        _ container: Container, since first: ChangeToken?, once: Bool
    ) async throws -> ExitCode {
        // A run that stops between two pages goes on with the token before the first of them: a
        // zone stands in the feed at its latest change, which may lie on a later page.
        var token = first
        var next = first
        if token == nil { try await deleteUnknownZones() }
        try await warnOfDefaultZone()
        while true {
            let page = try await source.databaseChanges(since: next)
            for deletion in page.deletions {
                zoneTokens[deletion.zoneID] = nil
                try await deleteZone(deletion.zoneID)
            }
            for zone in page.modifications { try await follow(zone, asOf: token) }
            next = page.changeToken
            if page.moreComing { continue }
            let isNew = page.changeToken != token
            token = page.changeToken
            if isNew {
                // A run that stops here goes on with this token, without a gap.
                try output.result(
                    "followed",
                    [
                        "token": .string(page.changeToken.description),
                        "changes": .integer(Int(clamping: changeCount)),
                    ], text: "followed to \(page.changeToken)")
                try output.flush()
            }
            let stop = Terminal.requestedStop
            if once && !isNew || stop != nil {
                progress.finish(at: Clock.monotonicNanoseconds)
                let seconds = Double(Clock.monotonicNanoseconds - start) / 1e9
                try output.summary(
                    [
                        "token": .string(page.changeToken.description),
                        "changes": .integer(Int(clamping: changeCount)),
                        "deletions": .integer(Int(clamping: deletionCount)),
                        "seconds": .double(seconds),
                    ],
                    text: "\(Quantities.count(changeCount, "change")) and "
                        + "\(Quantities.count(deletionCount, "deletion")) applied in "
                        + Quantities.duration(seconds: seconds))
                return stop.map { .signal($0) } ?? .ok
            }
            if try await !container.refresh(), !isNew { Thread.pause(microseconds: 20_000) }
        }
    }

    /// Applies what changed in a zone since the last time or, after a start, since the token of
    /// the database.
    private mutating func follow(_ zone: RecordZone.ID, asOf token: ChangeToken?) async throws {
        var since = zoneTokens[zone]
        let isKnown = try await target.allRecordZones().contains { $0.zoneID == zone }
        if since == nil, isKnown, let token {
            do {
                since = try await source.zoneToken(for: zone, asOf: token)
            } catch {
                switch error.code {
                // The zone was made since: all of it is new.
                case .changeTokenExpired: break
                // Gone meanwhile: the next page of the database says so.
                case .zoneNotFound, .userDeletedZone: return
                default: throw error
                }
            }
        }
        if !isKnown { try await target.save(RecordZone(zoneID: zone)) }
        var waiting = Waiting()
        while true {
            let page: RecordZoneChanges
            do {
                page = try await source.recordZoneChanges(inZoneWith: zone, since: since)
            } catch {
                switch error.code {
                case .changeTokenExpired:
                    // The zone was made anew: what is here belongs to the old one.
                    since = nil
                    continue
                // Gone meanwhile: the next page of the database says so.
                case .zoneNotFound: return
                default: throw error
                }
            }
            if page.isFullSnapshot { try await empty(zone) }
            since = page.changeToken
            try await take(page, &waiting)
            if !page.moreComing { break }
            if waiting.isEmpty { zoneTokens[zone] = since }
        }
        // What still waits goes together: parents that change places with their children, say.
        if let failure = try await apply(Array(waiting.saves.values), waiting.deletes) {
            throw failure
        }
        zoneTokens[zone] = since
    }

    /// What cannot be applied yet. A feed is in the order of last changes: a record may come before
    /// its parent, or a parent go before its child has another one.
    private struct Waiting {
        var saves: [Record.ID: Record] = [:]
        /// The saves that wait for a record to be there.
        var dependents: [Record.ID: [Record.ID]] = [:]
        var deletes: [Record.ID] = []

        var isEmpty: Bool { saves.isEmpty && deletes.isEmpty }

        mutating func hold(_ record: Record, for missing: Record.ID? = nil) {
            saves[record.recordID] = record
            if let missing { dependents[missing, default: []].append(record.recordID) }
        }

        /// Takes out what waits for one of `records`, and in turn for that; behind them.
        mutating func release(_ records: [Record]) -> [Record] {
            var released = records
            var next = 0
            while next < released.count {
                for id in dependents.removeValue(forKey: released[next].recordID) ?? [] {
                    if let record = saves.removeValue(forKey: id) { released.append(record) }
                }
                next += 1
            }
            return released
        }
    }

    /// Applies of a page what can be, and of what waited what can be now. A change is looked at
    /// once when it comes and once when what it waits for has come, so that the work grows with
    /// the feed alone.
    private mutating func take(
        _ page: RecordZoneChanges, _ waiting: inout Waiting
    ) async throws {
        var changed: [Record.ID: Record] = [:]
        for record in page.modifications { changed[record.recordID] = record.copy }
        // A newer state replaces one that waits.
        for id in changed.keys { waiting.saves[id] = nil }
        for deletion in page.deletions { waiting.saves[deletion.recordID] = nil }
        let needed = Set(changed.values.flatMap(\.neededRecords)).subtracting(changed.keys)
        let there = try await existing(needed)
        var dependents: [Record.ID: [Record]] = [:]
        var missing: [Record.ID] = []
        for record in changed.values {
            for id in record.neededRecords where !there.contains(id) {
                dependents[id, default: []].append(record)
                if changed[id] == nil { missing.append(id) }
            }
        }
        // What needs a record of the page that itself has to wait, waits for that.
        while let id = missing.popLast() {
            for record in dependents.removeValue(forKey: id) ?? [] {
                guard changed.removeValue(forKey: record.recordID) != nil else { continue }
                waiting.hold(record, for: id)
                missing.append(record.recordID)
            }
        }
        let ready = waiting.release(Array(changed.values))
        if let failure = try await apply(ready, []) {
            guard failure.code == .referenceViolation else { throw failure }
            // It goes with what comes behind: a parent and its child that change places, say.
            for record in ready { waiting.hold(record) }
        }
        try await delete(page.deletions.map(\.recordID), &waiting)
    }

    /// Which of the records are there.
    private func existing(_ ids: Set<Record.ID>) async throws -> Set<Record.ID> {
        if ids.isEmpty { return [] }
        var found: Set<Record.ID> = []
        for (id, result) in try await target.records(for: Array(ids), desiredKeys: []) {
            do {
                _ = try result.get()
                found.insert(id)
            } catch {
                if error.code != .unknownItem { throw error }
            }
        }
        return found
    }

    /// Deletes what no record that is still there has as its parent; the rest waits.
    private mutating func delete(
        _ ids: [Record.ID], _ waiting: inout Waiting
    ) async throws {
        if ids.isEmpty { return }
        let result = try await target.modifyRecords(
            saving: [], deleting: ids, atomically: false)
        for (id, outcome) in result.deleteResults {
            do {
                try outcome.get()
                count(deletions: 1)
            } catch {
                guard error.code == .referenceViolation else { throw error }
                waiting.deletes.append(id)
            }
        }
    }

    private mutating func count(saves: Int = 0, deletions: Int = 0) {
        changeCount += UInt64(saves)
        deletionCount += UInt64(deletions)
        progress.update(changeCount + deletionCount, at: Clock.monotonicNanoseconds)
    }

    /// Applies changes in one commit. Returns why nothing could be applied, where that is so.
    private mutating func apply(
        _ saves: [Record], _ deletes: [Record.ID]
    ) async throws -> StoreError? {
        if saves.isEmpty, deletes.isEmpty { return nil }
        let (stale, refusal) = try await keysToRemove(saves, beside: deletes)
        if let refusal { return refusal }
        let result = try await target.modifyRecords(
            saving: saves.map { stale[$0.recordID] ?? $0 }, deleting: deletes,
            savePolicy: .allKeys)
        if let failure = result.partialFailure { return firstOwn(of: failure) }
        count(saves: saves.count, deletions: deletes.count)
        return nil
    }

    /// The first error that is an item's own.
    private func firstOwn(of failure: StoreError) -> StoreError {
        failure.partialErrors.values.first { $0.code != .batchRequestFailed } ?? failure
    }

    /// A save never removes fields that it does not name, so those that the source no longer has
    /// are named.
    private func keysToRemove(
        _ saves: [Record], beside deletes: [Record.ID]
    ) async throws -> (changed: [Record.ID: Record], refusal: StoreError?) {
        var changed: [Record.ID: Record] = [:]
        var ofOtherType: [Record.ID] = []
        let held = try await target.records(for: saves.map(\.recordID))
        for record in saves {
            guard let result = held[record.recordID] else { continue }
            let old: Record
            do {
                old = try result.get()
            } catch {
                if error.code == .unknownItem { continue }
                throw error
            }
            var new = old
            for key in old.allKeys where record[key] == nil { new[key] = nil }
            new.take(from: record)
            new.parent = record.parent
            if old.recordType == record.recordType {
                changed[record.recordID] = new
            } else {
                ofOtherType.append(record.recordID)
            }
        }
        if ofOtherType.isEmpty { return (changed, nil) }
        // With all that is gone, since that may lie below.
        let result = try await target.modifyRecords(
            saving: [], deleting: ofOtherType + deletes)
        return (changed, result.partialFailure.map { firstOwn(of: $0) })
    }

    /// What the first page of a full fetch does not bring is not there.
    private func empty(_ zone: RecordZone.ID) async throws {
        let page = try await target.records(inZoneWith: zone, desiredKeys: [], resultsLimit: 1)
        if page.records.isEmpty { return }
        try await target.deleteRecordZone(withID: zone)
        try await target.save(RecordZone(zoneID: zone))
    }

    private func deleteZone(_ zone: RecordZone.ID) async throws {
        do {
            try await target.deleteRecordZone(withID: zone)
        } catch {
            if error.code != .zoneNotFound { throw error }
        }
    }

    /// The default zone has no feed, in CloudKit as here.
    private func warnOfDefaultZone() async throws {
        let page = try await source.records(inZoneWith: .default, desiredKeys: [], resultsLimit: 1)
        if page.records.isEmpty { return }
        output.warning(
            "follow.default-zone",
            "the default zone has records and no change feed: it is not followed")
    }

    /// A start without a token makes the copy equal whatever it held.
    private func deleteUnknownZones() async throws {
        let known = Set(try await source.allRecordZones().map(\.zoneID))
        for zone in try await target.allRecordZones() where !known.contains(zone.zoneID) {
            try await deleteZone(zone.zoneID)
        }
    }
}

extension Record {
    /// The same type, fields and parent, as a record that was never saved.
    fileprivate var copy: Record {
        var copy = copied(as: recordID)
        copy.parent = parent
        return copy
    }

    /// What must be there when the record is saved.
    fileprivate var neededRecords: [Record.ID] {
        var needed = parent.map { [$0.recordID] } ?? []
        for key in allKeys {
            switch self[key] {
            case .reference(let reference) where reference.action == .validate:
                needed.append(reference.recordID)
            case .list(let values):
                for case .reference(let reference) in values where reference.action == .validate {
                    needed.append(reference.recordID)
                }
            default: break
            }
        }
        return needed
    }
}
