import FoundationEssentials
import Stratus
import StratusGateway

/// What a change token is of, and whether it is good.
enum Tokens {
    static func run(_ invocation: Invocation, _ output: Output) async throws -> ExitCode {
        guard let data = Data(base64Encoded: invocation.argument("TOKEN")) else {
            throw ToolError.usage("token", "TOKEN is no change token: it is not in base64")
        }
        let token = try ChangeToken(data: data)
        let container = try await invocation.openStore()
        let info = try await container.info(of: token)
        let name = info.userRecordID?.recordName
        let user = try container.allUsers().first { $0.recordName == name }
        var object: JSONObject = ["feed": .string(info.feed.rawValue)]
        object.append("user", name.map(JSONValue.string))
        object.append("userName", (user?.userName).map(JSONValue.string))
        info.zoneID?.append(to: &object)
        object.append("offset", .offset(info.offset))
        object.append("amidFetch", .boolean(info.isAmidFetch))
        object.append("taken", .boolean(info.refusal == nil))
        object.append("error", info.refusal.map { .string($0.code.text) })
        object.append("reason", info.refusal.map { .string($0.reason) })
        try output.object("token", object)
        var lines = [("of", of(info.feed))]
        if let name { lines.append(("user", user?.text ?? name)) }
        if let zone = info.zoneID { lines.append(("zone", zone.text)) }
        lines += [
            ("seen", info.offset == 0 ? "nothing" : "up to offset \(info.offset)"),
            ("fetch", info.isAmidFetch ? "more pages to come" : "at its end"),
            ("taken", info.refusal == nil ? "yes" : "no"),
        ]
        if let refusal = info.refusal {
            lines += [("error", refusal.code.text), ("reason", refusal.reason)]
        }
        try Show.write(lines, to: output)
        return info.refusal == nil ? .ok : .tokenExpired
    }

    private static func of(_ feed: ChangeTokenInfo.Feed) -> String {
        switch feed {
        case .zone: "a zone"
        case .database: "a database"
        case .sharedZone: "a zone of another user"
        case .sharedDatabase: "what others share with the user"
        case .store: "the whole store"
        }
    }
}

extension StoreError.Code {
    fileprivate var text: String { name ?? "\(rawValue)" }
}
