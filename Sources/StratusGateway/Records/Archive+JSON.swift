package import Stratus

extension Archive.Part {
    /// The part that a text names: `public`, a user, or `USER/ZONE`.
    package init(text: String) {
        let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
            .map(String.init)
        self =
            text == "public"
            ? .publicDatabase : parts.count < 2 ? .user(text) : .zone(parts[1], of: parts[0])
    }

    /// The same of a part.
    package var text: String { (owner ?? "public") + (zoneName.map { "/" + $0 } ?? "") }
}

extension Archive.Information {
    /// For answers and output; `path` is where the archive lies.
    package func json(_ path: String) -> JSONObject {
        var object: JSONObject = [
            "file": .string(path), "archiveID": .string(archiveID), "storeID": .string(storeID),
            "start": .offset(range.lowerBound), "end": .offset(range.upperBound),
            "floor": .offset(floor), "history": .boolean(keepsHistory), "bytes": .integer(length),
            "made": .date(created), "chain": .integer(chainLength),
            "zones": .integer(zoneCount), "records": .integer(recordCount),
        ]
        object.append("baseID", baseID.map(JSONValue.string))
        if !parts.isEmpty { object.append("parts", .strings(parts.map(\.text))) }
        object.append("lastCommit", lastCommit.map(JSONValue.date))
        return object
    }
}

extension CompactionReport {
    /// For answers and output.
    package func json(_ isDryRun: Bool) -> JSONObject {
        [
            "dryRun": .boolean(isDryRun), "segments": .integer(segmentCount),
            "segmentBytes": .integer(segmentBytes), "neededBytes": .integer(neededBytes),
            "compactedSegments": .integer(compactedSegments),
            "compactedBytes": .integer(compactedBytes), "freedBytes": .integer(freedBytes),
        ]
    }
}
