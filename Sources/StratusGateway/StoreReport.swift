package import Stratus

// What the tool and the maintenance calls say about a store, in the same words.

/// What a store is and holds, and how it was opened.
package struct StoreReport: Sendable {
    package var information: StoreInformation
    package var recovery: Container.RecoveryReport
    package var statistics: IndexStatistics
    /// Of the databases that were asked about.
    package var zoneCount = 0
    package var recordCount = 0

    package init(of container: Container) async throws(StoreError) {
        information = container.information
        recovery = container.recoveryReport
        statistics = try await container.indexStatistics()
    }

    /// Counts what a database holds.
    package mutating func count(zones: Int, records: Int) {
        zoneCount += zones
        recordCount += records
    }

    /// Without `path` the report does not say where the store is.
    package func json(path: String? = nil) -> JSONObject {
        var object = JSONObject()
        object.append("path", path.map(JSONValue.string))
        let rest: JSONObject = [
            "storeID": .string(information.storeID), "created": .date(information.created),
            "formatVersion": .integer(information.formatVersion),
            "environment": .string(information.environment.rawValue),
            "head": .offset(information.head), "segments": .integer(information.segmentCount),
            "journalBytes": .integer(information.journalLength),
            "users": .integer(information.userCount), "names": .integer(information.nameCount),
            "zones": .integer(zoneCount), "records": .integer(recordCount),
            "closedCleanly": .boolean(recovery.wasClean),
            "possibleLoss": .boolean(recovery.possibleLoss),
        ]
        object.append(rest)
        object.append("lastCommit", information.lastCommit.map(JSONValue.date))
        statistics.appendCheckpoint(to: &object)
        return object
    }
}

extension IndexStatistics {
    package var json: JSONObject {
        var object: JSONObject = [
            "tables": .integer(tables), "bytes": .integer(bytes),
            "memtableEntries": .integer(memtableEntries),
            "memtableBytes": .integer(memtableBytes), "cacheLimit": .integer(cacheLimit),
            "cacheBytes": .integer(cacheBytes), "cacheHits": .integer(cacheHits),
            "cacheMisses": .integer(cacheMisses),
        ]
        object.append("cacheHitRate", cacheHitRate.map(JSONValue.double))
        appendCheckpoint(to: &object)
        return object
    }

    package func json(replayed commits: UInt64) -> JSONObject {
        var object: JSONObject = [
            "replayedCommits": .integer(Int(clamping: commits)), "tables": .integer(tables),
            "bytes": .integer(bytes),
        ]
        appendCheckpoint(to: &object)
        return object
    }

    fileprivate func appendCheckpoint(to object: inout JSONObject) {
        object.append("checkpoint", checkpoint.map(JSONValue.offset))
        object.append("journalBytesSinceCheckpoint", .integer(journalBytesSinceCheckpoint))
    }
}

extension StoreVerification {
    /// How many findings have that severity.
    package func count(of severity: Finding.Severity) -> Int {
        findings.count { $0.severity == severity }
    }

    /// What was read, and how many findings there are; `differences` of them are those from a
    /// certificate, where the store was compared with one.
    package func json(differences: Int? = nil) -> JSONObject {
        var object: JSONObject = [
            "findings": .integer(findings.count + (differences ?? 0)),
            "damage": .integer(count(of: .damage)),
            "possibleLoss": .integer(count(of: .possibleLoss)),
            "tornTail": .integer(count(of: .tornTail)), "segments": .integer(segmentCount),
            "commits": .integer(commitCount), "entries": .integer(entryCount),
            "bytes": .integer(bytesRead), "tables": .integer(tableCount),
            "tableBytes": .integer(tableBytes), "checkpoint": .boolean(hasCheckpoint),
            "chunks": .integer(chunkCount), "chunkBytes": .integer(chunkBytes),
        ]
        object.append("differences", differences.map { .integer($0) })
        object.append("next", next.map { .string($0.description) })
        return object
    }
}

extension StoreVerification.Finding {
    /// What was found, what it means, and the next command.
    package var json: JSONObject {
        var object = place.json(hint: hint)
        object.append("severity", .string(severity.rawValue))
        return object
    }

    /// The next command.
    package var hint: String {
        switch severity {
        case .tornTail: "'stratus checkpoint STORE' ends the journal there"
        case .possibleLoss:
            "'stratus diff ARCHIVE STORE' shows what an archive has of it, 'stratus checkpoint STORE' "
                + "ends the journal there"
        case .damage:
            place.cure
                ?? "'stratus restore ARCHIVE NEW' makes the store anew, 'stratus salvage STORE NEW' "
                + "one of what is whole"
        }
    }
}

extension StoreError.Place {
    /// What is wrong where, and what heals it.
    package var json: JSONObject { json(hint: cure) }

    fileprivate func json(hint: String?) -> JSONObject {
        var object: JSONObject = [
            "id": .string(kind), "file": .string(file), "byte": .integer(byte),
        ]
        object.append("offset", offset.map(JSONValue.offset))
        object.append("recordName", record.map { .string($0.recordName) })
        // None has a zone of the public database.
        let owner = record?.zoneID.ownerName
        object.append(
            "user", owner == RecordZone.ID.currentUser ? nil : owner.map(JSONValue.string))
        object.append("zone", record.map { .string($0.zoneID.zoneName) })
        object.append("field", field.map(JSONValue.string))
        object.append("hint", hint.map(JSONValue.string))
        return object
    }

    fileprivate var cure: String? {
        StoreVerification.canBeMadeAnew(self) ? "'stratus reindex STORE' heals it" : nil
    }
}
