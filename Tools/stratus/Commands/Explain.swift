import FoundationEssentials
import Stratus
import StratusGateway
import StratusEngine
import StratusJournal

/// What lies at a place of a store.
enum Explain {
    static func run(_ invocation: Invocation, _ output: Output) async throws -> ExitCode {
        let place = try place(invocation.argument("PLACE"))
        let container = try await invocation.openStore()
        let found = try container.explain(place)
        var object: JSONObject = ["part": .string(found.part)]
        var lines: [(name: String, value: String)] = [("part", found.part)]
        if let file = found.file {
            object.append("file", .string(file))
            lines.append(("file", file))
        }
        if let bytes = found.bytes {
            object.append("firstByte", .integer(bytes.lowerBound))
            object.append("length", .integer(bytes.count))
            lines.append(("bytes", "\(bytes.lowerBound) to \(bytes.upperBound - 1)"))
        }
        if let offset = found.line?.entry.offset.rawValue ?? found.offset {
            object.append("offset", .offset(offset))
            lines.append(("offset", "\(offset)"))
        }
        if let line = found.line { describe(line, container, output, &object, &lines) }
        switch found.fate {
        case .newest:
            object.append("newest", .boolean(true))
            lines.append(("version", "the newest of the record"))
        case .replaced(let newest):
            object.append("newest", .boolean(false))
            object.append("newestOffset", .offset(newest))
            lines.append(("version", "an earlier one: the newest is at offset \(newest)"))
        case nil: break
        }
        try output.object("place", object)
        try Show.write(lines, to: output)
        return .ok
    }

    private static func describe(
        _ line: JournalLog.Line, _ container: Container, _ output: Output,
        _ object: inout JSONObject, _ lines: inout [(name: String, value: String)]
    ) {
        let entry = line.entry
        let description = container.describe(entry)
        func add(_ key: String, _ name: String, _ text: String?) {
            guard let text else { return }
            object.append(key, .string(text))
            lines.append((name, text))
        }
        add("kind", "kind", description.kind)
        let zone = JournalZone(of: entry, in: container)
        zone.append(to: &object)
        if let text = zone.text { lines.append(("zone", text)) }
        add("recordName", "record", description.recordName)
        add("recordType", "type", description.recordType)
        add("detail", "detail", description.detail)
        guard entry.kind.isEntry else { return }
        object.append("ordinal", .integer(Int(entry.header.ordinal)))
        object.append("last", .boolean(entry.header.isLast))
        var commit = "entry \(entry.header.ordinal + 1) of its commit"
        if let date = entry.commitDate {
            object.append("commitTime", .date(date))
            commit += ", the last, \(output.date(date))"
        }
        lines.append(("commit", commit))
    }

    /// An offset, or a file, a colon and a byte.
    private static func place(_ text: String) throws -> StorePlace {
        if let offset = UInt64(text) { return .offset(offset) }
        if let colon = text.lastIndex(of: ":"), let byte = Int(text[text.index(after: colon)...]) {
            return .byte(byte, file: String(text[..<colon]))
        }
        throw ToolError.usage(
            "bad-value", "a PLACE is an offset, or FILE:BYTE as 'stratus log' shows it, not \(text)"
        )
    }
}
