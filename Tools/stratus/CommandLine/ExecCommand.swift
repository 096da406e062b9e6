/// The command that other programs drive a store with.
extension Command {
    static let exec = Command(
        "exec", "answer requests in JSON, one a line",
        details: """
            Reads a request a line on standard input and writes an answer a line on standard \
            output: those of CloudKit Web Services, in an envelope that names the user, the \
            database and the call. README.md has an example.

            Answers come in the order of the requests, each request begun when the one before is \
            answered. With --jobs up to N requests are on their way at once, and answers come as \
            they are ready: the id of a request tells whose its answer is. A change is answered \
            when it is durable.

            While it runs no other process can write to the store. With --listen those commands of the \
            tool that change records do it through this one.

            A line that is no request is answered with BAD_REQUEST, and reading goes on. At the \
            end of the input the store is closed. With --seed and --now, without --jobs, the same \
            input makes the same store, byte for byte but for its lock, and the same answers.
            """,
        arguments: [.store],
        options: [
            Option("create", "make the store where there is none"),
            Option(
                "listen", "let 'stratus put', delete, load, revert and restore reach the store"),
            Option("jobs", taking: .init("N", .number), "up to N requests at once"),
            .durability,
            Option("read-only", "change nothing, beside another writer too"),
            Option(
                "files", taking: .init("DIR|none", .path),
                "the directory below which requests may name files, or none (default: anywhere); "
                    + "never files of a store"),
            Option(
                "now", taking: .init("ISO-TIME"),
                "a clock that stands still at that time"),
            Option(
                "seed", taking: .init("N", .number), "what identifiers and salts are drawn from"),
            Option(
                "profile", taking: .init("NAME", .oneOf(["unlimited", "cloudKit"])),
                "the limits that hold (default: unlimited)"),
            Option(
                "queries", taking: .init("WHICH", .oneOf(["service", "extended"])),
                "the predicates of queries: those of CloudKit's service, or also OR, LIKE, nil and "
                    + "the like (default: service with the profile cloudKit, else extended)"),
            Option(
                "environment", taking: .init("NAME", .oneOf(["development", "production"])),
                "whether a save may bring types and fields: of a store that --create makes "
                    + "(default: development); another one must be of it"),
        ],
        examples: [
            Example("stratus exec ./store --create", "Answers one request after the other."),
            Example(
                "stratus exec ./store --jobs 64 --durability interval",
                "Answers up to 64 requests at once; the disk is at most a second behind."),
            Example(
                "stratus exec ./store --files ./outbox",
                "Requests read and write files in and below ./outbox only."),
            Example(
                "stratus exec ./store --create --seed 1 --now 2026-01-31T12:00:00Z",
                "Makes the same store from the same input."),
        ])
}
