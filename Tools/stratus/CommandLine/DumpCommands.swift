/// Commands about records as lines of JSON.
extension Command {
    static let dump = Command(
        "dump", "write the records of a store as lines of JSON",
        details: """
            Writes the zones and records of all databases, or of the one that --database and --as \
            choose, as lines of JSON that 'stratus load' reads: the public database first, then \
            users, zones and records in the order of their names. Two stores that hold the same \
            have the same dump. A record is written as 'stratus exec' answers it, without what the \
            store alone decides: change tags, dates, users and shares.

            Of an asset a line has the checksum and the size, not the bytes: with --asset-files DIR \
            they are written to a file of DIR that bears the checksum; without it a warning says how \
            many are left out. Names that do not fit into memory are sorted in a temporary file in \
            TMPDIR (default: /var/tmp).
            """,
        arguments: [.store],
        options: [
            .zone("only this zone"), .at,
            Option(
                "asset-files", taking: .init("DIR", .path),
                "the directory that assets are written to"),
            .skipDamaged,
        ],
        examples: [
            Example(
                "stratus dump ./store -o store.jsonl --asset-files ./assets",
                "Writes all records of the store, and their assets as files."),
            Example("stratus dump ./store --zone notes", "Writes the records of a zone."),
        ])

    static let load = Command(
        "load", "make records what the lines of a dump say",
        details: """
            Reads lines that 'stratus dump' or 'stratus diff --patch' wrote, from FILE or from \
            standard input, and makes the records in STORE what they say, those of a zone in one \
            commit: all of them, or none where one is refused; the zones before it stay loaded. STORE \
            and its zones are made where they are not there. All records of a zone are in memory \
            meanwhile.

            --mode says what becomes of what is there: replace makes it what the lines say (the \
            default); skip and keep add only what is not there; mirror also deletes what a zone has \
            and the lines do not. --as and --database choose where the lines of one database go, \
            --zone takes only those of one zone, and --as-zone gives it another name. Assets come \
            from the records that have them already, or from the directory of --asset-files. A \
            service that has STORE open does it, if its gateway listens; then FILE is to be named.
            """,
        arguments: [
            .store, Argument("FILE", "a file; -, or none: standard input", .path, isOptional: true),
        ],
        options: [
            .zone("only the lines of this zone"),
            Option("as-zone", taking: .init("NAME"), "the zone they go to (default: the same)"),
            Option("asset-files", taking: .init("DIR", .path), "the directory that assets are in"),
            .mode, .dryRun, .durability,
        ],
        examples: [
            Example(
                "stratus load ./other store.jsonl --asset-files ./assets",
                "Brings all of a dump into a store."),
            Example(
                "stratus load ./store patch.jsonl --dry-run", "Says how many records would change."),
        ])

    static let diff = Command(
        "diff", "show what two states of stores differ in",
        details: """
            Shows which zones and records of BEFORE and AFTER, each a store or an archive, differ: \
            + is only in AFTER, - only in BEFORE, and M, with the names of fields, has other \
            contents. With --at it is an earlier moment of BEFORE; without AFTER the same store \
            later, as it is now or at the moment of --until, and then only what was changed in between \
            is read. Databases are matched by the names of users. Change tags, dates, users and \
            shares do not count.

            --patch writes lines with which 'stratus load' makes BEFORE what AFTER is. The exit \
            code is 1 where there is a difference.
            """,
        arguments: [
            Argument("BEFORE", "a store or an archive", .path),
            Argument("AFTER", "another one", .path, isOptional: true),
        ],
        options: [
            .zone("only this zone"), .at,
            Option("until", taking: .init("POINT"), "AFTER, or BEFORE later, as it was then"),
            Option("patch", "write the lines that make the one the other"),
            Option("summary", "write only how many there are"),
        ],
        examples: [
            Example(
                "stratus diff ./store --at mark:before-import",
                "Shows what was changed since a mark."),
            Example(
                "stratus diff store.archive ./store --summary",
                "Counts what was changed since a backup."),
            Example(
                "stratus diff ./store ./other --patch -o patch.jsonl",
                "Writes what makes ./store what ./other is."),
        ])
}
