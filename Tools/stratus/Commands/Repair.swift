import Stratus
import StratusFiles
import StratusGateway

/// `stratus repair`: rebuilds what of a store can be rebuilt without a loss.
enum Repair {
    static func run(_ invocation: Invocation, _ output: Output) async throws -> ExitCode {
        let path = invocation.argument("STORE")
        let applies = invocation.has("apply")
        let progress = ReadingProgress(applies ? "repairing" : "verifying", invocation, output)
        defer { progress.finish() }
        let plan =
            applies
            ? try await Container.repair(at: path, progress: progress.update)
            : try await Container.planRepair(at: path, progress: progress.update)
        progress.finish()
        let isDone = applies && plan.isPossible
        try output.header(schema: "stratus.repair/1")
        for place in plan.damage {
            try output.result(
                "damage", place.json,
                text: "damaged\(plan.isPossible ? ", and is rebuilt" : ""): \(place.text)")
        }
        for place in plan.remaining {
            try output.result("remaining", place.json, text: "damaged, and stays so: \(place.text)")
        }
        for step in plan.steps {
            try output.result(
                "step", ["step": .string(step.rawValue), "done": .boolean(isDone)],
                text: (isDone ? "rebuilt: " : plan.isPossible ? "would rebuild: " : "not rebuilt: ")
                    + step.text)
        }
        try output.summary(
            [
                "applied": .boolean(isDone && !plan.steps.isEmpty),
                "possible": .boolean(plan.isPossible), "steps": .integer(plan.steps.count),
                "remaining": .integer(plan.remaining.count), "entries": .integer(plan.entryCount),
                "commits": .integer(plan.commitCount),
            ], text: text(of: plan, path, applies))
        if !plan.isPossible { return .damaged }
        return plan.remaining.isEmpty && (applies || plan.steps.isEmpty) ? .ok : .differences
    }

    private static func text(of plan: RepairPlan, _ path: String, _ applies: Bool) -> String {
        let path = Output.escaped(path)
        if !plan.isPossible {
            return "the journal is damaged, and is not touched; "
                + "'stratus salvage \(path) NEW' brings out what is whole"
        }
        let held =
            "\(Quantities.count(plan.entryCount, "entry")) of "
            + Quantities.count(plan.commitCount, "commit")
        if plan.steps.isEmpty {
            return plan.remaining.isEmpty
                ? "nothing has to be rebuilt: \(held)" : "nothing can be rebuilt: \(held)"
        }
        return applies
            ? "repaired: \(held)"
                + (plan.keptFiles.isEmpty
                    ? ""
                    : "; what was damaged is kept in \(plan.keptFiles.joined(separator: ", "))")
            : "'stratus repair \(path) --apply' does that: \(held)"
    }
}

extension RepairPlan.Step {
    fileprivate var text: String {
        switch self {
        case .manifest: "the manifest, of what the segments say of themselves"
        case .index: "the index, of the journal"
        }
    }
}
