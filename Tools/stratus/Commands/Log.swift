import FoundationEssentials
import Stratus
import StratusFiles
import StratusGateway
import StratusJournal
import StratusEngine

/// Shows the entries of the journal.
enum Log {
    static func run(_ invocation: Invocation, _ output: Output) async throws -> ExitCode {
        try invocation.refuse("follow", with: ["until", "reverse"])
        try invocation.refuseShared()
        let follows = invocation.has("follow")
        let container = try await invocation.openStore()
        let end = try await invocation.offset("until", in: container)
        var from = try await invocation.offset("since", in: container) ?? 0
        var writer = try LogWriter(invocation, container, output)
        if follows { Terminal.catchStopSignals() }
        try output.header(
            schema: "stratus.log/1", columns: "offset  file:byte  kind  zone  record  detail")
        while true {
            do {
                if invocation.has("reverse") {
                    try writer.writeReversed(from: from, to: end)
                } else {
                    try writer.write(from: &from, to: end)
                }
            } catch {
                throw StoreError(translating: error)
            }
            guard follows, writer.left > 0 else { return writer.hasSkipped ? .partial : .ok }
            try output.flush()
            if let signal = try await container.waitForChanges() { return .signal(signal) }
        }
    }
}

/// Writes the lines of a log that are asked for.
private struct LogWriter {
    let invocation: Invocation
    let container: Container
    let output: Output
    /// Of the entry that was looked at last, and whether that is one of those asked for. Many entries in a
    /// row lie in one zone.
    private var zone = JournalZone()
    private var isChosen: Bool
    /// So many may still be written.
    var left: Int
    /// Whether something was damaged, and skipped.
    private(set) var hasSkipped = false

    init(_ invocation: Invocation, _ container: Container, _ output: Output) throws {
        self.invocation = invocation
        self.container = container
        self.output = output
        left = try invocation.limit() ?? .max
        isChosen = zone.isChosen(by: invocation, in: container)
    }

    /// Goes on at `from`, which is then where the next call does.
    mutating func write(from: inout UInt64, to end: UInt64?) throws {
        var log = container.log(
            from: from, to: end, skipsDamaged: invocation.has("skip-damaged"))
        func nameSkipped() {
            let skipped = log.takeSkipped().filter { $0.offset?.rawValue ?? 0 >= from }
            name(skipped)
            from = skipped.last?.offset.map { $0.rawValue + 1 } ?? from
        }
        while left > 0, let line = try log.nextLine() {
            nameSkipped()
            if try write(line) { left -= 1 }
            from = line.entry.offset.rawValue + 1
        }
        nameSkipped()
    }

    /// The same, the last one first.
    mutating func writeReversed(from: UInt64, to end: UInt64?) throws {
        var log = container.reversedLog(
            from: from, to: end, skipsDamaged: invocation.has("skip-damaged"))
        while left > 0, let line = try log.nextLine() {
            name(log.takeSkipped())
            if try write(line) { left -= 1 }
        }
        name(log.takeSkipped())
    }

    private mutating func name(_ skipped: [JournalDamage]) {
        output.skipped(skipped.map { StoreError(translating: $0) })
        hasSkipped = hasSkipped || !skipped.isEmpty
    }

    /// Returns whether the line is one that is asked for.
    private mutating func write(_ line: JournalLog.Line) throws -> Bool {
        let entry = line.entry
        if entry.zone != zone.number {
            zone = JournalZone(of: entry, in: container)
            isChosen = zone.isChosen(by: invocation, in: container)
        }
        guard isChosen else { return false }
        let description = container.describe(entry)
        if invocation.has("record") {
            guard let name = description.recordName, invocation.allValues("record").contains(name)
            else { return false }
        }
        var object: JSONObject = [
            "offset": .offset(entry.offset.rawValue), "file": .string(line.file),
            "byte": .integer(line.byte), "length": .integer(entry.header.frameLength),
            "kind": .string(description.kind),
        ]
        object.append("epoch", line.group.map { .integer(Int($0.epoch)) })
        if entry.version.offset != entry.offset {
            object.append("version", .offset(entry.version.rawValue))
        }
        zone.append(to: &object)
        object.append("recordName", description.recordName.map(JSONValue.string))
        object.append("recordType", description.recordType.map(JSONValue.string))
        object.append("detail", description.detail.map(JSONValue.string))
        if entry.kind.isEntry {
            object.append("ordinal", .integer(Int(entry.header.ordinal)))
            object.append("last", .boolean(entry.header.isLast))
        }
        let time = entry.commitDate
        object.append("commitTime", time.map(JSONValue.date))
        try output.object("entry", object)
        var parts = ["\(entry.offset)", "\(line.file):\(line.byte)", description.kind]
        if let zone = zone.text { parts.append(Output.escaped(zone)) }
        if let name = description.recordName { parts.append(Output.escaped(name)) }
        if let type = description.recordType { parts.append(type) }
        if let detail = description.detail { parts.append(Output.escaped(detail)) }
        if let time { parts.append("commit \(output.date(time))") }
        try output.line(parts.joined(separator: "  "))
        return true
    }
}

/// The zone that an entry of the journal lies in.
struct JournalZone {
    /// 0: it lies in none.
    private(set) var number: UInt32 = 0
    /// By its number where nothing names it.
    private(set) var name: String?
    private var isPublic = false
    /// Of the owner; nil where nothing names it.
    private var recordName: String?
    /// What the host calls the owner.
    private var userName: String?

    /// None.
    init() {}

    init(of entry: JournalEntry, in container: Container) {
        number = entry.zone
        guard number > 0 else { return }
        guard let zone = container.zone(number: number) else {
            name = "zone \(number)"
            return
        }
        name = zone.name
        isPublic = zone.owner == 0
        guard !isPublic, let owner = try? container.user(number: zone.owner) else { return }
        (recordName, userName) = (owner.recordName, owner.hostName)
    }

    /// Whether it has the name and lies in the database that the command line chooses, if any.
    func isChosen(by invocation: Invocation, in container: Container) -> Bool {
        if let asked = invocation.value("zone"), asked != name { return false }
        guard invocation.choosesDatabase else { return true }
        if invocation.database == .public { return isPublic }
        return recordName.isSame(as: container.userRecordName(for: invocation.user))
    }

    /// As `backup --only` names zones; nil: there is none.
    var text: String? {
        let owner = isPublic ? "public" : userName ?? recordName
        return name.map { name in owner.map { "\($0)/\(name)" } ?? name }
    }

    func append(to object: inout JSONObject) {
        guard let name else { return }
        object.append("zone", .string(name))
        guard isPublic || recordName != nil else { return }
        object.append(isPublic ? .public : .private, of: recordName, userName)
    }
}

extension JournalEntry {
    /// When the commit was made that ends with it; nil where none does.
    var commitDate: Date? {
        commitTime.map { Date(timeIntervalSince1970: Double($0) / 1_000_000) }
    }
}

extension Invocation {
    /// The offset of the moment that an option names, which need not be one that is kept.
    fileprivate func offset(
        _ option: String, in container: Container
    ) async throws -> UInt64? {
        guard let text = value(option) else { return nil }
        if let offset = UInt64(text) { return offset }
        return try await container.offset(at: try await point(text, in: container))
    }
}
