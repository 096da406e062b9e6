import Stratus
import StratusGateway
import StratusLanguage

/// Which records of a zone a command shows: those whose name and fields are as `--name` and `--where`
/// say.
struct RecordFilter {
    private let name: WildcardPattern?
    private let conditions: [FieldText]

    init(_ invocation: Invocation) throws(ToolError) {
        name = try invocation.value("name").map { pattern throws(ToolError) in
            guard let name = WildcardPattern(pattern, []) else {
                throw .usage(
                    "bad-value",
                    "--name takes a pattern of at most \(WildcardPattern.limit) characters")
            }
            return name
        }
        conditions = try invocation.allValues("where").map { text throws(ToolError) in
            let condition = try FieldText(argument: text)
            guard condition.kind == nil else {
                throw .usage("bad-value", "--where takes FIELD=VALUE without a type, not '\(text)'")
            }
            return condition
        }
    }

    /// Whether there is no condition.
    var takesAll: Bool { name == nil && conditions.isEmpty }

    /// The fields that it looks at.
    var fields: [String] { conditions.map(\.field) }

    func takes(_ record: Record) -> Bool {
        if let name, !name.matches(FoldedScalars(record.recordID.recordName, [])) { return false }
        return conditions.allSatisfy { record[$0.field]?.isTyped($0.value) ?? false }
    }
}
