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
        let container = try await Container.open(at: invocation.argument("STORE"))
        let mark = try await container.closing {
            guard invocation.has("remove") else { return try await container.mark(name) }
            let mark = try await Invocation.mark(name, in: container)
            try await container.removeMark(mark)
            return mark
        }
        try output.result("mark", mark.json, text: mark.text)
        return .ok
    }

    private static func listMarks(
        _ invocation: Invocation, _ output: Output
    ) async throws -> ExitCode {
        let container = try await invocation.openStore()
        try output.header(schema: "stratus.marks/1", columns: "offset  date  name")
        for mark in try await container.marks() {
            try output.result("mark", mark.json, text: mark.text)
        }
        return .ok
    }

    static func retention(_ invocation: Invocation, _ output: Output) async throws -> ExitCode {
        let history: History
        if let text = invocation.value("history") {
            guard let policy = policy(text) else {
                throw ToolError.usage(
                    "bad-value",
                    "--history takes none, everything, an age such as 30d, 12h, 90m or 45s, or a "
                        + "size such as 500MiB or 10GiB, not \(text)")
            }
            let container = try await Container.open(at: invocation.argument("STORE"))
            history = try await container.closing {
                try await container.setHistoryPolicy(policy)
                return try await container.history()
            }
        } else {
            history = try await invocation.openStore().history()
        }
        var object: JSONObject = ["history": .string(history.policy.text)]
        object.append("from", history.floor.map(JSONValue.offset))
        try output.object("retention", object)
        try Show.write(
            [
                ("history", history.policy.text),
                ("kept from", history.floor.map { "offset \($0)" } ?? "now"),
            ], to: output)
        return .ok
    }

    private static let ages = ["d": 86_400, "h": 3600, "m": 60, "s": 1]
    private static let sizes = ["B": 0, "KiB": 10, "MiB": 20, "GiB": 30, "TiB": 40]

    private static func policy(_ text: String) -> History.Policy? {
        switch text {
        case "none": return History.Policy.none
        case "everything": return .everything
        default: break
        }
        let digits = text.prefix { $0.isASCII && $0.isNumber }
        guard let number = Int(digits) else { return nil }
        let unit = String(text.dropFirst(digits.count))
        if let seconds = ages[unit] {
            let (age, overflow) = number.multipliedReportingOverflow(by: seconds)
            return overflow ? nil : .age(seconds: age)
        }
        guard let power = sizes[unit] else { return nil }
        let (bytes, overflow) = number.multipliedReportingOverflow(by: 1 << power)
        return overflow ? nil : .bytes(bytes)
    }
}

extension History.Policy {
    /// As `--history` takes it.
    var text: String {
        switch self {
        case .none: return "none"
        case .everything: return "everything"
        case .age(let seconds):
            for (unit, length) in [("d", 86_400), ("h", 3600), ("m", 60)]
            where seconds > 0 && seconds % length == 0 {
                return "\(seconds / length)\(unit)"
            }
            return "\(seconds)s"
        case .bytes(let count):
            for (unit, power) in [("TiB", 40), ("GiB", 30), ("MiB", 20), ("KiB", 10)]
            where count > 0 && count % (1 << power) == 0 {
                return "\(count >> power)\(unit)"
            }
            return "\(count)B"
        }
    }
}

extension Mark {
    fileprivate var text: String {
        "\(offset)  \(Timestamp.text(date))  \(Output.escaped(name))"
    }

    fileprivate var json: JSONObject {
        ["name": .string(name), "offset": .offset(offset), "date": .date(date)]
    }
}
