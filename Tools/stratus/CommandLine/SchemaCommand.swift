/// The command about the text of schemas.
extension Command {
    static let schema = Command(
        "schema", "check, format or compare the text of a CloudKit schema",
        details: """
            validate FILE: whether the text is a schema that CloudKit takes, in the language that \
            cktool exports; each finding with line and column. format FILE: the same schema in one \
            form, so that equal schemas are equal texts. diff FILE NEW: what an import of NEW over \
            FILE would change, and what of it would lose data or be refused. What CloudKit cannot \
            say stands in comments that its tools pass over, such as // stratus: UNIQUE byTitle ON \
            Note (title).
            """,
        arguments: [
            Argument(
                "WHAT", "validate, format or diff", .oneOf(["validate", "format", "diff"])),
            Argument("FILE", "the text of a schema", .path),
            Argument("NEW", "for diff, the schema that would be imported", .path, isOptional: true),
        ],
        options: [
            Option("production", "with diff: in the production environment, which only adds")
        ],
        examples: [
            Example("stratus schema validate schema.ckdb", "Checks a schema."),
            Example("stratus schema format schema.ckdb", "Writes it in one form."),
            Example(
                "stratus schema diff old.ckdb schema.ckdb --production",
                "Says what a deployment would change."),
        ])
}
