/// The command about the text of schemas.
extension Command {
    static let schema = Command(
        "schema", "show or change the schema of a store; check, format or compare its text",
        details: """
            show STORE: the schema as text, with the indexes that there are. import STORE FILE: makes \
            the schema of a store of the development environment what FILE says, declares and builds \
            the indexes that it asks for, and removes others; where a type or a field would go nothing \
            is changed. deploy STORE FILE: the same of either environment, and only adds. rename STORE \
            --field TYPE.FIELD --to NAME: gives a field another name, in the schema, in indexes and in \
            all records of the type, in the development environment; each record is saved again, and \
            where one has a value under both names, that of NAME stays. Done twice, it goes on where \
            it was interrupted. reset STORE: deletes all zones of all databases with their records, in \
            the development environment, and forgets the schema; users stay, and what history is kept. \
            validate FILE: whether the text is a schema that CloudKit takes, in the language that cktool \
            exports; each finding with line and column. format FILE: the same schema in one \
            form, so that equal schemas are equal texts. diff FILE NEW: what an import of NEW over \
            FILE would change, and what of it would lose data or be refused. What CloudKit cannot \
            say stands in comments that its tools pass over: // stratus: INDEX byState ON Note \
            (state, due) is an index on several fields; // stratus: UNIQUE at the end of the line of \
            a field, or // stratus: UNIQUE oneName ON Note (first, last), lets no two records of a \
            zone have the same values there, and is refused where some have already.
            """,
        arguments: [
            Argument(
                "WHAT", "what to do",
                .oneOf([
                    "show", "import", "deploy", "rename", "reset", "validate", "format", "diff",
                ])),
            Argument(
                "FILE", "the text of a schema, or the store where the schema is that of a store",
                .path),
            Argument("NEW", "the schema that is, or would be, imported", .path, isOptional: true),
        ],
        options: [
            Option("production", "with diff: in the production environment, which only adds"),
            Option(
                "field", taking: .init("TYPE.FIELD"), "with rename: a field of a record type"),
            Option("to", taking: .init("NAME"), "with rename: what the field is to be named"),
            Option("yes", "with reset: that all records are to go"),
        ],
        examples: [
            Example("stratus schema show ./store", "Writes the schema of a store."),
            Example(
                "stratus schema import ./store schema.ckdb",
                "Makes it what a file says, and builds its indexes."),
            Example(
                "stratus schema rename ./store --field Note.title --to heading",
                "Gives the field title of all records of the type Note another name."),
            Example(
                "stratus schema reset ./other --yes",
                "Makes a store of tests like new, but for its users."),
            Example("stratus schema validate schema.ckdb", "Checks a schema."),
            Example("stratus schema format schema.ckdb", "Writes it in one form."),
            Example(
                "stratus schema diff old.ckdb schema.ckdb --production",
                "Says what a deployment would change."),
        ])
}
