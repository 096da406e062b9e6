import FoundationEssentials
import Stratus
import StratusGateway

/// What of its past a store keeps.
enum Keep {
    static func marks(_ invocation: Invocation, _ output: Output) async throws -> ExitCode {
        guard let name = invocation.optionalArgument("NAME") else {
            if invocation.has("remove") {
                throw ToolError.usage("mark", "--remove needs the NAME of a mark")
            }
            return try await listMarks(invocation, output)
        }
        let removes = invocation.has("remove")
        let mark = try await invocation.changing { container in
            guard removes else { return try await container.mark(name).json }
            let mark = try await Invocation.mark(name, in: container)
            try await container.removeMark(mark)
            return mark.json
        } through: { service in
            // What there is no mark of is said as without a service.
            if removes { _ = try await Invocation.mark(name, in: service.store) }
            return try await service.call(
                removes ? "store/unmark" : "store/mark", ["name": .string(name)], invocation)
        }
        let date = try invocation.localTime.date(mark.text("date") ?? "")
        try output.result("mark", mark, text: text(mark.text("offset"), date, name, output))
        return .ok
    }

    private static func listMarks(
        _ invocation: Invocation, _ output: Output
    ) async throws -> ExitCode {
        let container = try await invocation.openStore()
        try output.header(schema: "stratus.marks/1", columns: "offset  date  name")
        for mark in try await container.marks() {
            try output.result(
                "mark", mark.json, text: text(String(mark.offset), mark.date, mark.name, output))
        }
        return .ok
    }

    /// Of a mark; what a service does not say of it is left out.
    private static func text(
        _ offset: String?, _ date: Date?, _ name: String, _ output: Output
    ) -> String {
        let parts = [offset, date.map { output.date($0) }, Output.escaped(name)]
        return parts.compactMap(\.self).joined(separator: "  ")
    }

    static func retention(_ invocation: Invocation, _ output: Output) async throws -> ExitCode {
        let past = try policy("history", of: invocation)
        let deletions = try policy("deletions", of: invocation)
        let lifetime = try notificationLifetime(of: invocation)
        let count = invocation.number("notification-count")
        let (history, notifications): (History, NotificationPolicy)
        if past == nil, deletions == nil, lifetime == nil, count == nil {
            let container = try await invocation.openStore()
            (history, notifications) = (
                try await container.history(), try await container.notificationPolicy()
            )
        } else {
            let container = try await invocation.openForWriting()
            (history, notifications) = try await container.closing {
                if let past { try await container.setHistoryPolicy(past) }
                if let deletions { try await container.setDeletionPolicy(deletions) }
                var policy = try await container.notificationPolicy()
                if let lifetime { policy.lifetime = lifetime }
                if let count { policy.count = Int(clamping: count) }
                if lifetime != nil || count != nil {
                    try await container.setNotificationPolicy(policy)
                }
                return (try await container.history(), policy)
            }
        }
        var object: JSONObject = ["history": .string(history.policy.text)]
        object.append("from", history.floor.map(JSONValue.offset))
        object.append("deletions", .string(history.deletions.text))
        let age = History.Policy.age(seconds: notifications.lifetime).text
        object.append("notifications", .string(age))
        object.append("notificationCount", .integer(notifications.count))
        try output.object("retention", object)
        try Show.write(
            [
                ("history", history.policy.text),
                ("kept from", history.floor.map { "offset \($0)" } ?? "now"),
                ("deletions", history.deletions.text),
                ("notifications", "\(age), \(notifications.count) of a user"),
            ], to: output)
        return .ok
    }

    private static func notificationLifetime(of invocation: Invocation) throws -> Int? {
        guard let text = invocation.value("notifications") else { return nil }
        guard let seconds = Quantities.number(text, in: Quantities.ages) else {
            throw ToolError.usage(
                "bad-value",
                "--notifications takes an age such as 30d, 12h, 90m or 45s, not \(text)")
        }
        return seconds
    }

    private static func policy(
        _ option: String, of invocation: Invocation
    ) throws -> History.Policy? {
        guard let text = invocation.value(option) else { return nil }
        guard let policy = policy(text) else {
            throw ToolError.usage(
                "bad-value",
                "--\(option) takes none, everything, an age such as 30d, 12h, 90m or 45s, or a "
                    + "size such as 500MiB or 10GiB, not \(text)")
        }
        return policy
    }

    private static func policy(_ text: String) -> History.Policy? {
        switch text {
        case "none": return History.Policy.none
        case "everything": return .everything
        default: break
        }
        if let seconds = Quantities.number(text, in: Quantities.ages) {
            return .age(seconds: seconds)
        }
        return Quantities.number(text, in: Quantities.sizes).map { .bytes($0) }
    }
}

extension History.Policy {
    /// As the options take it.
    var text: String {
        switch self {
        case .none: "none"
        case .everything: "everything"
        case .age(let seconds): Self.text(seconds, Quantities.ages)
        case .bytes(let count): Self.text(count, Quantities.sizes)
        }
    }

    /// A number of the longest unit that divides it; 0 of the shortest.
    private static func text(_ value: Int, _ units: [Quantities.Unit]) -> String {
        let unit = units.first { value != 0 && value % $0.length == 0 } ?? units[units.count - 1]
        return "\(value / unit.length)\(unit.name)"
    }
}
