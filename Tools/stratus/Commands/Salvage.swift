import Stratus
import StratusFiles
import StratusGateway

/// `stratus salvage`: makes a store of what is whole of a damaged one.
enum Salvage {
    static func run(_ invocation: Invocation, _ output: Output) async throws -> ExitCode {
        let path = invocation.argument("NEW")
        let progress = ReadingProgress("salvaging", invocation, output)
        defer { progress.finish() }
        let report = try await Container.salvage(
            invocation.argument("STORE"), to: path, progress: progress.update)
        progress.finish()
        try output.header(schema: "stratus.salvage/1")
        for place in report.damage {
            try output.result("damage", place.json, text: "damaged: \(place.text)")
        }
        for place in report.unreadable {
            try output.result(
                "unreadable", place.json,
                text: "the medium does not give back: \(place.text)")
        }
        for loss in report.losses { try write(loss, output) }
        for place in report.leftOut {
            try output.result(
                "leftOut", place.json,
                text: "left out, since it needs what is lost: \(place.text)")
        }
        for place in report.assets {
            let record = place.record.map { Output.escaped($0.recordName) } ?? ""
            let zone = place.record.map { Output.escaped($0.zoneID.zoneName) } ?? ""
            let owner = place.record?.zoneID.ownerName ?? RecordZone.ID.currentUser
            try output.result(
                "asset", place.json,
                text: "lost in part: the asset \(Output.escaped(place.field ?? "")) of the record "
                    + "\(record) of the zone \(zone)"
                    + (owner == RecordZone.ID.currentUser ? "" : " of \(owner)"))
        }
        for zone in report.zones {
            try output.result(
                "zone",
                [
                    "zoneName": .string(zone.zoneName), "user": .string(zone.owner),
                    "ownerKnown": .boolean(zone.isOwnerKnown),
                ],
                text: "a zone without its name: it is \(zone.zoneName) of the user \(zone.owner)"
                    + (zone.isOwnerKnown ? "" : ", since it is not known whose it was"))
        }
        for user in report.users {
            try output.result(
                "user", ["user": .string(user)], text: "a user without a name: \(user)")
        }
        for name in report.inventedNames {
            try output.result(
                "name", ["name": .string(name)], text: "a type or field without its name: \(name)")
        }
        try output.summary(report.json, text: text(of: report, path))
        return report.isComplete ? .ok : .partial
    }

    private static func write(_ loss: SalvageReport.Loss, _ output: Output) throws {
        var object = loss.place.json
        object.append("end", .offset(loss.offsets.upperBound))
        object.append("journalAlone", .boolean(loss.isOfJournalAlone))
        object.append("mayBeUnwritten", .boolean(loss.mayBeUnwritten))
        object.append("known", .boolean(loss.isKnown))
        object.append("maps", .array(loss.maps.map(JSONValue.string)))
        object.append(
            "entries",
            .array(
                loss.entries.map { .object($0.json) }))
        object.append("records", .array(loss.records.map { .object($0.json) }))
        try output.result(
            "loss", object,
            text: "lost: offsets \(loss.offsets.lowerBound) to \(loss.offsets.upperBound)"
                + meaning(of: loss))
        for record in loss.records { try output.line("  " + record.text) }
        if !loss.maps.isEmpty {
            try output.line(
                "  the newest state of \(loss.maps.joined(separator: ", ")): an earlier one is in "
                    + "force, look at what users may do")
        }
    }

    private static func meaning(of loss: SalvageReport.Loss) -> String {
        if loss.mayBeUnwritten { return ", at the end, which may never have been acknowledged" }
        if loss.isOfJournalAlone { return ", which held no entry" }
        if loss.isKnown {
            return loss.isHarmless && loss.records.isEmpty ? ", which the index did not need" : ""
        }
        if loss.entries.isEmpty { return ", and it is not known what was there" }
        return ", with "
            + loss.entries.map(\.text).joined(separator: ", ")
    }

    private static func text(of report: SalvageReport, _ path: String) -> String {
        let made =
            "\(Output.escaped(path)): \(Quantities.count(report.recordCount, "record")) in "
            + Quantities.count(report.zoneCount, "zone")
        return made
            + (report.isComplete
                ? "; nothing of what the store holds is lost"
                : "; what is lost is said above")
    }
}

extension SalvageReport.Loss.Entry {
    fileprivate var json: JSONObject {
        var object: JSONObject = ["kind": .string(kind), "zone": .integer(Int(zoneNumber))]
        object.append("zoneName", zoneName.map(JSONValue.string))
        object.append("user", owner.map(JSONValue.string))
        return object
    }

    fileprivate var text: String {
        if zoneNumber == 0 { return kind }
        guard let zoneName else { return "\(kind) of zone number \(zoneNumber)" }
        return "\(kind) of the zone \(Output.escaped(zoneName))" + (owner.map { " of \($0)" } ?? "")
    }
}

extension SalvageReport.LostRecord {
    fileprivate var json: JSONObject {
        var object: JSONObject = ["zone": .string(zoneName), "state": .string(state.rawValue)]
        object.append("user", owner.map(JSONValue.string))
        object.append("recordName", recordName.map(JSONValue.string))
        return object
    }

    fileprivate var text: String {
        let name = recordName.map { "the record \(Output.escaped($0))" } ?? "a record"
        let place =
            "\(name) of the zone \(Output.escaped(zoneName))" + (owner.map { " of \($0)" } ?? "")
        return switch state {
        case .missing: place + ": nothing is left of it"
        case .earlier: place + ": an earlier version is in its place"
        case .deleted: place + ": deleted again, since its deletion is what is lost"
        }
    }
}

extension SalvageReport {
    fileprivate var json: JSONObject {
        [
            "storeID": .string(storeID), "offset": .offset(offset), "zones": .integer(zoneCount),
            "records": .integer(recordCount), "entries": .integer(entryCount),
            "losses": .integer(losses.count), "leftOut": .integer(leftOut.count),
            "assets": .integer(assets.count), "chunks": .integer(unreadableChunkCount),
            "complete": .boolean(isComplete),
        ]
    }
}
