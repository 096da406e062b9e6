extension Command.Argument {
    fileprivate static let archive = Self("ARCHIVE", "the file of an archive", .path)
}

/// Commands about archives of a store.
extension Command {
    static let backup = Command(
        "backup", "write an archive of a store",
        details: """
            Writes what STORE holds as of one commit into one file: all databases, zones, records \
            and assets. A service may have the store open and go on writing. The file is there, \
            whole and durable, when the command has ended, or not at all; an existing file is not \
            replaced. In a directory it gets a name that says store and offset; -o DIR/ makes the \
            directory where there is none.

            With --only the archive has a part of the store, from which zones are brought back: public \
            is the public database, USER the private one of that user, USER/ZONE one zone of it. A \
            user whose name is public, or has a /, is named by the user record name. Such an archive \
            has the schema, the marks and the policies of the whole store, but no other zones, and \
            not what users have besides zones, such as subscriptions.

            With --since the archive holds what changed since another one, its base, and needs it \
            to be read: both have to lie in one directory. With --or-full it is a full one, with a \
            warning, where the base is missing, of another store or another copy of it, of other parts, \
            or older than what STORE has forgotten, or what it says of itself is damaged; 'backups \
            verify' reads all of it.

            With --follow it goes on until it is stopped: whenever something changed it writes an \
            archive into the directory of -o, which it makes, at most one in so many seconds. Each goes \
            on from the newest archive of STORE there, and has no content hashes; where there is none to \
            go on from, and after --full-every archives, one is full.

            Where a service has STORE open and its gateway listens, it leaves a mark, backup, at the \
            state that the archive has, which stays readable with '--at mark:backup'; earlier marks \
            of the name are removed once the archive is there. What the state needs takes room in \
            STORE until then. A service that does not answer within a minute leaves none. --mark gives \
            another name, and leaves the mark also in a store that no service has open; --no-mark leaves \
            none.

            'stratus backups' looks into archives, 'stratus restore' brings back what they hold.
            """,
        arguments: [.store],
        options: [
            Option(
                "only", taking: .init("PART"), "only that part: public, USER or USER/ZONE",
                isRepeatable: true),
            Option(
                "since", taking: .init("ARCHIVE", .path), "only what changed since that archive"),
            Option("or-full", "a full archive where that of --since cannot be used"),
            Option("history", "also each earlier state that the store keeps"),
            Option("no-hash", "do not compute content hashes, by which a restore is proved"),
            Option("mark", taking: .init("NAME"), "the name of the mark (default: backup)"),
            Option("no-mark", "leave no mark"),
            Option(
                "follow", taking: .init("SECONDS", .number),
                "an archive of what changed every so many seconds"),
            Option(
                "full-every", taking: .init("N", .number),
                "with --follow, a full archive after N (default: 1000)"),
        ],
        examples: [
            Example("stratus backup ./store -o store.archive", "Writes a full archive."),
            Example(
                "stratus backup ./store -o later.archive --since store.archive",
                "Writes what changed since."),
            Example(
                "stratus backup ./store -o notes.archive --only local/notes",
                "Writes an archive of one zone."),
            Example("stratus backup ./store -o ./archives/", "Writes one into a directory."),
            Example(
                "stratus backup ./store -o daily.archive --mark daily",
                "Keeps the state readable that the archive has."),
            Example(
                "stratus backup ./store -o ./archives --follow 60",
                "Keeps the archives there no more than a minute behind."),
        ],
        writesFile: true, whenStopped: .undoes)

    static let backups = Command(
        "backups", "look into archives, verify or merge them",
        details: """
            list DIR: the archives in a directory, each with the range of the journal that it \
            covers. show ARCHIVE: what it says of itself, with its zones. verify ARCHIVE: reads \
            every byte of it and of those that it goes on from, and all that they mean. merge \
            ARCHIVE -o FILE: writes what it and those that it goes on from hold as one full \
            archive. forget DIR: deletes the archives that no --keep option keeps: of each store and \
            each copy of it on its own, of each choice of --only, and of those with history and \
            without. What a kept one goes on from is kept, too, and nothing is deleted while an \
            archive in DIR cannot be opened. The store is not needed for any of this.
            """,
        arguments: [
            Argument(
                "WHAT", "list, show, verify, merge or forget",
                .oneOf(["list", "show", "verify", "merge", "forget"])),
            Argument("PATH", "an archive; for list and forget a directory", .path),
        ],
        options: [
            Option("keep-last", taking: .init("N", .number), "the newest N"),
            Option("keep-daily", taking: .init("N", .number), "the newest of each of N days"),
            Option("keep-weekly", taking: .init("N", .number), "the newest of each of N weeks"),
            Option("keep-monthly", taking: .init("N", .number), "the newest of each of N months"),
            .dryRun,
        ],
        examples: [
            Example("stratus backups list .", "Lists the archives that are here."),
            Example("stratus backups show store.archive", "Shows what an archive holds."),
            Example("stratus backups verify store.archive", "Reads all of it."),
            Example(
                "stratus backups merge later.archive -o whole.archive",
                "Makes one archive of a chain."),
            Example(
                "stratus backups forget ./archives --keep-last 7 --keep-monthly 12 --dry-run",
                "Says which archives would be deleted."),
        ],
        writesFile: true)

    static let restore = Command(
        "restore", "make a store of an archive, or bring records back from one",
        details: """
            Without --zone: makes the store that ARCHIVE holds in the directory STORE, which must \
            not exist; it is there when all of it was proved, or not at all. Change tokens from up \
            to the archive stay good, later ones are refused. With --clone it becomes another \
            store, of which no token of the original is good: for a copy that is used beside it. \
            Its shares are ended and its roles taken back, unless --with-access keeps them. \
            Each share and role that comes back is listed. --dry-run lists the zones and users of the \
            store that would be made, and each access that would come back or end; it refuses what \
            the restore would refuse at its beginning. \
            --at chooses an earlier state of an archive with history. --rehearse makes the store \
            beside STORE, proves it, reads every byte of it, says how long a restore takes, and \
            deletes it.

            With --zone: brings a zone back into STORE, which exists, or with --record some records \
            with all below them, in one commit, behind which shares are made again one by one; ARCHIVE \
            may be one of --only. --mode says what becomes of what is there: skip brings back only \
            what is gone; keep leaves what was changed since; replace makes all of it what it was (the \
            default); mirror also deletes what was not there. A zone that is not in STORE comes back \
            with its change tags, dates, users and deletions, so that clients of the original go on in \
            it; not with --as-zone or --to-user another one. What was shared comes back as its owner's \
            alone, unless --with-access shares it again: each share of a record that is meant, or of \
            the zone, unless something of it is shared now; with its participants and a link of STORE. \
            Newer records below it are shared, too. --dry-run says what would be done. A service that \
            has STORE open does it, if its gateway listens.

            With --fields only those fields of the records come back, such as an asset, and nothing \
            below the records; everything else of them stays as it is. --mode then says what \
            becomes of these fields: skip brings back only those that are gone; keep also changes \
            others, unless the record was changed since; replace makes all those what they were \
            that there were; mirror also removes those that were not there. A record that is not \
            there comes back whole, without --fields.
            """,
        arguments: [.archive, .store],
        options: [
            .at,
            Option("clone", "make another store with the same content"),
            Option(
                "with-access",
                "with --clone, also what is shared, and roles; with --zone, its shares"),
            Option("rehearse", "make the store, prove it, tell the time and delete it"),
            .zone("bring this zone back into a store that exists"),
            Option(
                "record", taking: .init("NAME"), "only this record and all below it",
                isRepeatable: true),
            .fields,
            Option(
                "as-zone", taking: .init("NAME"),
                "the zone it is brought back to (default: the same)"),
            Option(
                "to-user", taking: .init("USER"), "the user whose it becomes (default: the same)"),
            .mode, .dryRun,
        ],
        examples: [
            Example("stratus restore store.archive ./restored", "Makes a store of an archive."),
            Example(
                "stratus restore store.archive ./planned --clone --dry-run",
                "Says what another store made of it would have."),
            Example(
                "stratus restore store.archive ./rehearsed --rehearse",
                "Proves that the store can be restored, and how fast."),
            Example(
                "stratus restore store.archive ./store --zone notes --dry-run",
                "Says what would come back into a zone."),
            Example(
                "stratus restore store.archive ./store --zone notes --mode skip",
                "Brings back what was deleted."),
            Example(
                "stratus restore store.archive ./store --zone album --record photo-1 --fields image",
                "Brings the image of one record back."),
        ],
        whenStopped: .removesDirectory)

    static let revert = Command(
        "revert", "bring a zone back from the past of its own store",
        details: """
            Makes a zone, or some of its records with all below them, what they were at an earlier \
            moment of the same store, in one commit. What of the past there is depends on marks \
            and retention: 'stratus mark' and 'stratus retention'. --mode and --fields are those of \
            'stratus restore', but mirror is the default: what was not there goes. --with-access \
            also shares again what was shared and is not now. Nothing is \
            lost: what is replaced can be brought back the same way, as long as it is kept. A \
            service that has STORE open does it, if its gateway listens.
            """,
        arguments: [.store],
        options: [
            .zone("the zone", isRequired: true),
            .at(isRequired: true),
            Option(
                "record", taking: .init("NAME"), "only this record and all below it",
                isRepeatable: true),
            .fields,
            Option("with-access", "also shares that have ended since"),
            .mode, .dryRun,
        ],
        examples: [
            Example(
                "stratus revert ./store --zone notes --at mark:before-import --dry-run",
                "Says what would change."),
            Example(
                "stratus revert ./store --zone notes --at mark:before-import",
                "Makes the zone what it was at a mark."),
        ])

    static let copy = Command(
        "copy", "copy a store, also while a service writes to it",
        details: """
            Makes a copy of STORE in the directory COPY, which must not exist, as of one commit. \
            Copying the files of a store that is open fails at random; this does not. The copy is \
            of the same store and goes its own way: neither takes change tokens that the other \
            hands out later. Where files can share blocks (XFS, Btrfs), most assets take no room in \
            the copy. With --clone it is another store, whose shares are ended and whose roles are \
            taken back, unless --with-access keeps them. Each share and role of the copy is listed.
            """,
        arguments: [.store, Argument("COPY", "the directory that is made", .path)],
        options: [
            Option("clone", "make another store with the same content"),
            Option("with-access", "with --clone, also what is shared, and roles"),
        ],
        examples: [
            Example("stratus copy ./store ./copy", "Copies a store."),
            Example("stratus copy ./store ./other --clone", "Makes another one of it."),
        ],
        whenStopped: .removesDirectory)
}

extension Command.Option {
    static let mode = Self(
        "mode", taking: .init("MODE", .oneOf(["skip", "keep", "replace", "mirror"])),
        "what becomes of what is there")
    fileprivate static let fields = Self(
        "fields", taking: .init("NAMES"),
        "with --record, only these fields of it, separated by commas, such as an asset")
    static let dryRun = Self("dry-run", "only say what would be done")
}
