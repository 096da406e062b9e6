import FoundationEssentials
import Stratus
import StratusGateway

/// Who reads a store, and what is kept for it.
enum Pins {
    static func run(_ invocation: Invocation, _ output: Output) async throws -> ExitCode {
        let container = try await invocation.openStore()
        let own = Int(ProcessInfo.processInfo.processIdentifier)
        try output.header(schema: "stratus.pins/1", columns: "generation  made  kept  processes")
        for pin in try await container.pins() {
            let processes = pin.processes.filter { $0 != own }
            // Of the newest generation nothing is kept that is not needed anyway.
            if pin.isNewest, processes.isEmpty { continue }
            var object: JSONObject = [
                "generation": .integer(Int(pin.generation)), "newest": .boolean(pin.isNewest),
            ]
            object.append("made", pin.date.map(JSONValue.date))
            object.append("keptBytes", .integer(pin.keptBytes))
            object.append("processes", .array(processes.map { .integer($0) }))
            let readers =
                processes.isEmpty
                ? "no process that is known" : processes.map(String.init).joined(separator: ", ")
            try output.result(
                "pin", object,
                text: "\(pin.generation)  \(pin.date.map { output.date($0) } ?? "-")  "
                    + "\(Quantities.size(UInt64(pin.keptBytes)))  \(readers)")
        }
        return .ok
    }
}
