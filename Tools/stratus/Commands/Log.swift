import FoundationEssentials
import Stratus
import StratusFiles
import StratusGateway
import StratusJournal
import StratusEngine

/// Shows the entries of the journal.
enum Log {
    static func run(_ invocation: Invocation, _ output: Output) async throws -> ExitCode {
        let container = try await invocation.openStore()
        let end = invocation.number("to")
        var from = invocation.number("from") ?? 0
        let follows = invocation.has("follow")
        let skipsDamaged = invocation.has("skip-damaged")
        var hasSkipped = false
        if follows { Terminal.catchStopSignals() }
        try output.header(
            schema: "stratus.log/1", columns: "offset  file:byte  kind  zone  record  detail")
        while true {
            var log = container.log(from: from, to: end, skipsDamaged: skipsDamaged)
            func nameSkipped() {
                let skipped = log.takeSkipped().filter { $0.offset?.rawValue ?? 0 >= from }
                output.skipped(skipped.map { StoreError(translating: $0) })
                hasSkipped = hasSkipped || !skipped.isEmpty
                from = skipped.last?.offset.map { $0.rawValue + 1 } ?? from
            }
            do {
                while let line = try log.nextLine() {
                    nameSkipped()
                    try write(line, container, output)
                    from = line.entry.offset.rawValue + 1
                }
                nameSkipped()
            } catch let error as Output.Closed {
                throw error
            } catch {
                throw StoreError(translating: error)
            }
            guard follows, from < end ?? .max else { return hasSkipped ? .partial : .ok }
            try output.flush()
            if let signal = Terminal.requestedStop { return .signal(signal) }
            if try await !container.refresh() { Thread.pause(microseconds: 20_000) }
        }
    }

    private static func write(
        _ line: JournalLog.Line, _ container: Container, _ output: Output
    ) throws {
        let entry = line.entry
        let description = container.describe(entry)
        let zone = entry.zone == 0 ? nil : container.zoneName(entry.zone) ?? "zone \(entry.zone)"
        var object: JSONObject = [
            "offset": .offset(entry.offset.rawValue), "file": .string(line.file),
            "byte": .integer(line.byte), "length": .integer(entry.header.frameLength),
            "kind": .string(description.kind),
        ]
        object.append("epoch", line.group.map { .integer(Int($0.epoch)) })
        if entry.version.offset != entry.offset {
            object.append("version", .offset(entry.version.rawValue))
        }
        object.append("zone", zone.map(JSONValue.string))
        object.append("recordName", description.recordName.map(JSONValue.string))
        object.append("recordType", description.recordType.map(JSONValue.string))
        object.append("detail", description.detail.map(JSONValue.string))
        if entry.kind.isEntry {
            object.append("ordinal", .integer(Int(entry.header.ordinal)))
            object.append("last", .boolean(entry.header.isLast))
        }
        let time = entry.commitTime.map {
            Date(timeIntervalSince1970: Double($0) / 1_000_000)
        }
        object.append("commitTime", time.map(JSONValue.date))
        try output.object("entry", object)
        var parts = ["\(entry.offset)", "\(line.file):\(line.byte)", description.kind]
        if let zone { parts.append(Output.escaped(zone)) }
        if let name = description.recordName { parts.append(Output.escaped(name)) }
        if let type = description.recordType { parts.append(type) }
        if let detail = description.detail { parts.append(Output.escaped(detail)) }
        if let time { parts.append("commit \(Timestamp.text(time))") }
        try output.line(parts.joined(separator: "  "))
    }
}
