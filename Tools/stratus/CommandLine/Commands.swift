extension CommandTable {
    /// What `stratus` can be asked to do, common things first.
    package static let stratus = CommandTable(
        tool: "stratus",
        summary: "looks into Stratus stores, fills, compares and backs them up",
        commands: [
            .importDirectory, .exportDirectory, .dump, .load, .diff, .get, .put, .delete, .exec,
            .follow,
            .info, .users, .zones, .types, .records, .show, .query, .tree,
            .shares, .why, .whoCan, .whatCan, .subscriptions, .notifications,
            .devices,
            .log, .explain, .changes, .token, .history, .blame, .mark, .retention,
            .backup, .backups, .restore, .revert, .copy,
            .verify, .certify, .repair, .salvage,
            .hash, .asset, .stats, .pins, .gc, .compact, .checkpoint, .reindex, .schema, .help,
            .completion,
            .version,
        ],
        commonOptions: optionsOfEveryCommand)
}

extension Command.Argument {
    static let store = Self("STORE", "the directory of the store", .path)
    static let record = Self("RECORD", "the name of the record")
}

/// An option of one name is the same in every command that has it. Only --since begins elsewhere: behind
/// a token of a feed, an archive or a moment.
extension Command.Option {
    static func zone(_ summary: String, isRequired: Bool = false) -> Self {
        Self("zone", taking: .init("NAME"), summary, isRequired: isRequired)
    }

    static func since(_ summary: String) -> Self {
        Self("since", taking: .init("TOKEN"), summary)
    }

    static func type(_ summary: String) -> Self {
        Self("type", taking: .init("TYPE"), summary)
    }

    static func limit(_ summary: String) -> Self {
        Self("limit", letter: "n", taking: .init("N", .number), summary)
    }

    static func follow(_ summary: String) -> Self {
        Self("follow", summary)
    }

    static let skipDamaged = Self(
        "skip-damaged", "go on behind what is damaged, and name it on standard error")

    static let durability = Self(
        "durability", taking: .init("WHEN", .oneOf(["full", "interval", "none"])),
        "what a commit waits for: full, the disk; interval, the disk within a second; none, nothing "
            + "(default: full)")
}

/// Commands that write to a store.
extension Command {
    fileprivate static let importDirectory = Command(
        "import", "bring a directory into a zone, a record for each entry",
        details: """
            Makes a Folder, File or Link record for each entry of DIR and saves them in batches; \
            STORE is made where there is none. Run again it saves only what has changed since, and \
            deletes the records of entries that are gone. A record is named by the first 32 digits \
            of the SHA-256 of the entry's path below DIR. What a file holds is in the field \
            contents or, above 16 KiB, in the field asset.

            Entries of other kinds and files that cannot be read, or change while they are read, \
            are skipped, counted and named; the exit code is then 3. No link is followed; a store \
            in DIR is left out.
            """,
        arguments: [
            Argument("DIR", "the directory to bring in", .path),
            .store,
        ],
        options: [
            .zone("the zone to import into", isRequired: true),
            Option("checksum", "compare contents, not size, time and mode alone"),
            .durability,
        ],
        examples: [
            Example(
                "stratus import ./photos ./store --zone photos",
                "Brings ./photos into the zone photos, or brings the zone up to date."),
            Example(
                "stratus import ./photos ./store --zone photos --checksum",
                "Also notices files that have changed under the same size and time."),
            Example(
                "stratus import ./photos ./store --zone photos --durability none --progress json",
                "Lets the system choose when to write, and reports progress as JSON."),
        ])

    fileprivate static let follow = Command(
        "follow", "keep a second store equal to a store",
        details: """
            Reads the changes of STORE and applies them to the store OTHER, which is made where \
            there is none. Goes on until it is stopped; with --once, until OTHER has all that \
            STORE had. Each line has a token to go on from with --since; without one it begins \
            at the beginning. The default zone has no change feed and is not followed.
            """,
        arguments: [.store],
        options: [
            Option(
                "into", taking: .init("OTHER", .path), "the store to keep equal",
                isRequired: true),
            .since("begin after TOKEN"),
            Option("once", "end when there is nothing more to read"),
        ],
        examples: [
            Example(
                "stratus follow ./store --into ./copy", "Keeps ./copy equal until stopped."),
            Example(
                "stratus follow ./store --into ./copy --once",
                "Brings ./copy up to date and ends."),
        ])
}

/// Commands that show what is in a store.
extension Command {
    fileprivate static let info = Command(
        "info", "show on one page what a store is and holds",
        details: """
            Shows where the store is, its format, its offsets and sizes, its checkpoint, who writes \
            to it now, how it was closed otherwise, and how many zones and records each database \
            has, or the one that --database and --as choose. With --at it shows only what the store \
            held then.
            """,
        arguments: [.store],
        options: [.at],
        examples: [
            Example("stratus info ./store", "Shows what ./store is and holds."),
            Example("stratus info ./store --json", "Writes the same as one JSON object."),
            Example(
                "stratus info ./store --at mark:before-import", "Shows what it held at a mark."),
        ])

    fileprivate static let users = Command(
        "users", "list the users of a store",
        details: """
            Lists the users who ever wrote to the store, in the order in which they came, each with \
            its number, its user record name, the name that its host first gave, and what its \
            private database holds; then, where the host has said so, the name of the person, \
            addresses, whether others may find the user by them, an account that is not available, \
            and roles. --as takes either name.
            """,
        arguments: [.store],
        options: Option.listing("users") + [.at],
        examples: [
            Example("stratus users ./store", "Lists all users."),
            Example("stratus users ./store --json", "Writes them, one JSON object a line."),
            Example("stratus users ./store --reverse --limit 10", "Lists the ten who came last."),
        ])

    fileprivate static let zones = Command(
        "zones", "list the zones of a store",
        details: """
            Lists the zones of all databases, or of the one that --database and --as choose: the \
            public database first, then those of the users in the order in which they came. In \
            each, the default zone comes first and the others by name, with the number of their \
            records. The zones that others share with a user are those of --database shared: they \
            are named OWNER/ZONE, and so --zone names them. A damaged zone ends the list; with \
            --skip-damaged the others are listed, each that is left out is named with its offset, \
            and the exit code is 3.
            """,
        arguments: [.store],
        options: Option.listing("zones") + [.at, .skipDamaged],
        examples: [
            Example("stratus zones ./store", "Lists the zones of all databases."),
            Example(
                "stratus zones ./store --database public",
                "Lists the zones of the public database."),
            Example(
                "stratus zones ./store --as anna", "Lists the zones of Anna's private database."),
        ])

    fileprivate static let types = Command(
        "types", "list the record types of a store",
        details: """
            Lists the record types of the store, each with its fields and with how many records of \
            it there are in all databases, or in the one that --database and --as choose. Indexes and \
            grants are in 'stratus schema show'. With --at the records are counted that there were; \
            which types and fields there are is always told as of now.
            """,
        arguments: [.store],
        options: Option.listing("types") + [.at],
        examples: [
            Example("stratus types ./store", "Lists the types of all databases."),
            Example(
                "stratus types ./store --as anna --json",
                "Counts the records in Anna's private database, one JSON object a line."),
        ])

    fileprivate static let records = Command(
        "records", "list the records of a zone",
        details: """
            Lists the names of the records of a zone with their types and change tags, in an order \
            of the store's own, which stays the same. A damaged record ends the list; with \
            --skip-damaged the others are listed, each that is left out is named with its offset, \
            and the exit code is 3.
            """,
        arguments: [.store],
        options: [
            .zone("the zone to list", isRequired: true),
            .type("only records of TYPE"),
            Option(
                "name", taking: .init("GLOB"),
                "only records whose name is like GLOB: * is any text, ? a character, \\ in front "
                    + "makes them themselves"),
            Option(
                "where", taking: .init("FIELD=VALUE"),
                "only records whose FIELD is VALUE, upper and lower case told apart, or a list that "
                    + "has it; again: and others",
                isRepeatable: true),
        ] + Option.listing("records") + [.at, .skipDamaged],
        examples: [
            Example(
                "stratus records ./store --zone photos --limit 20",
                "Lists the first twenty records of the zone photos."),
            Example(
                "stratus records ./store --zone photos --type File --json",
                "Writes the records of type File, one JSON object a line."),
            Example(
                "stratus records ./store --zone notes --name 'note-*' --where done=1 --count",
                "Counts the notes that are done."),
        ])

    fileprivate static let show = Command(
        "show", "show a record",
        details: "Shows the system fields and the fields of one record.",
        arguments: [.store, .record],
        options: [.zone("the zone the record is in", isRequired: true), .at],
        examples: [
            Example("stratus show ./store note-1 --zone notes", "Shows the record note-1."),
            Example(
                "stratus show ./store note-1 --zone notes --json",
                "Writes it as one JSON object, bytes as base64."),
        ])

    fileprivate static let log = Command(
        "log", "show the entries of the journal",
        details: """
            Shows the entries of the journal in the order they were written, or the last one first \
            with --reverse, each with its offset, its place in a file, its zone as USER/ZONE and its \
            commit; with --zone or --record, those of zones or of records of a name; with --as or \
            --database, those in zones of one database. An offset shown can be given to --since and \
            --until. Damage ends it; with --skip-damaged it goes on at the next whole frame, names \
            what is damaged, and the exit code is 3.
            """,
        arguments: [.store],
        options: [
            .zone("only entries of zones of this name"),
            Option(
                "record", taking: .init("NAME"),
                "only entries of records of this name; again: and of another",
                isRepeatable: true),
            Option(
                "since", taking: .init("POINT"),
                "begin at an offset, or behind a date and time, mark:NAME or a change token"),
            Option("until", taking: .init("POINT"), "end there"),
            .limit("at most N entries"), .reverse,
            .follow("wait for new entries at the end, until stopped"), .skipDamaged,
        ],
        examples: [
            Example("stratus log ./store", "Shows the whole journal."),
            Example(
                "stratus log ./store --since 4096 --until 65536", "Shows a part of the journal."),
            Example("stratus log ./store --reverse -n 20", "Shows the last twenty entries."),
            Example(
                "stratus log ./store --zone notes --as anna --reverse -n 5",
                "Shows what became last of Anna's zone notes."),
            Example(
                "stratus log ./store --zone notes --record note-1 --since mark:before-import",
                "Shows what became of a record since a mark."),
            Example(
                "stratus log ./store --follow --json",
                "Goes on with what is written, one JSON object a line."),
        ])

    fileprivate static let changes = Command(
        "changes", "show what has changed since a token",
        details: """
            Shows what a client that synchronizes would be given: the changed zones of the \
            database or, with --zone, the changed records of a zone; with --all what a worker of the \
            host would be, the changed zones of all databases. The last line has the token to go on \
            with. With --follow it goes on with changes as they come, until stopped, and each group of \
            them ends with a token. A damaged record fails the call, and there is no token beyond it. With \
            --skip-damaged the others are shown, each that is left out is named with its offset, \
            and the exit code is 3: who goes on with the token does not have all changes.
            """,
        arguments: [.store],
        options: [
            .zone("the changes of this zone"),
            .since("only what changed after TOKEN"),
            .limit("at most N changes (default: one page, of up to 1000)"),
            Option("all", "the changes of all databases"),
            .follow("wait for more at the end, until stopped"), .at, .skipDamaged,
        ],
        examples: [
            Example("stratus changes ./store", "Shows the zones that have changed."),
            Example(
                "stratus changes ./store --all --follow --json",
                "Names each zone of any database in which something changes, as it does."),
            Example(
                "stratus changes ./store --zone photos --limit 100 --json",
                "Writes the first hundred changes of the zone photos, and the next token."),
        ])
}

// Of a token for the feeds.
extension Command {
    /// As they look.
    private static let someToken = "AQcPy0MzM+gHZwhvlJ58rNwyjvn7FHo1O1QAAAAAEAMAAAAAAADeN2qL"

    fileprivate static let token = Command(
        "token", "show what a change token is of, and whether a store takes it",
        details: """
            Shows what the reader of TOKEN follows (a zone, a database, what others share, or the \
            whole store), whose it is, up to which offset of the journal its reader has seen \
            everything, and whether it is amid a fetch. Then it says whether STORE takes the token, \
            and if not, with which error it answers and why; the exit code is 15 then. A reader whose \
            token is refused for good begins again, without one.
            """,
        arguments: [.store, Argument("TOKEN", "a change token, as 'stratus changes' shows it")],
        examples: [
            Example(
                "stratus token ./store \(someToken)",
                "Shows what the token is of, and why the store refuses it."),
            Example("stratus token ./store \(someToken) --json", "Writes it as one JSON object."),
        ])
}

/// Commands that need no store.
extension Command {
    fileprivate static let help = Command(
        "help", "show what the tool or a command can do",
        details: """
            Without COMMAND it lists the commands. With --json it writes the whole table of \
            commands, for programs; with --man the page as man reads it.
            """,
        arguments: [Argument("COMMAND", "the command meant", .command, isOptional: true)],
        options: [Option("man", "write it as a page for man")],
        examples: [
            Example("stratus help import", "Shows what import takes, with examples."),
            Example("stratus help --json", "Writes all commands, one JSON object a line."),
            Example("stratus help import --man -o stratus-import.1", "Writes a page for man."),
        ])

    fileprivate static let completion = Command(
        "completion", "write the completion script of a shell",
        details: "The script is for the shell to read when it starts.",
        arguments: [
            Argument(
                "SHELL", "the shell meant: bash, zsh or fish",
                .oneOf(Completion.Shell.allCases.map(\.rawValue)))
        ],
        examples: [
            Example("stratus completion bash", "Writes the script for bash."),
            Example(
                "stratus completion fish -o stratus.fish", "Writes the script for fish to a file."),
        ])

    fileprivate static let version = Command(
        "version", "show the version of the tool",
        details: "The version of a store's format is shown by info.",
        examples: [
            Example("stratus version", "Shows the version."),
            Example("stratus version --json", "Writes it as a JSON object."),
        ])
}
