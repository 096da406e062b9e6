/// Commands that prove something about a store.
extension Command {
    static let verify = Command(
        "verify", "check every byte of a store",
        details: """
            Reads the whole store, its journal, its index and its assets, changes nothing, and \
            names each finding with its file, byte and kind, and of an asset with record and \
            field. An index that is whole is compared with one rebuilt from the journal; what of \
            that does not fit into memory lies in a temporary file in TMPDIR (default: /var/tmp). \
            Damage of the index, or of one of the two copies of the manifest, loses nothing: reindex \
            heals it; what is whole of a damaged journal, salvage brings out. Where the last write \
            before a crash is not whole, the severity of the finding is possibleLoss if the write \
            may have been acknowledged, and else tornTail, which is no damage. Beside a running \
            writer only what is durable is checked.

            With --against the store is also compared with a certificate of it that 'stratus certify' \
            has written, or of the store that it is a copy of: that its history up to then is the \
            same, whatever was committed, compacted or restored since. It says what of that is \
            proved: the chain, unless the journal was compacted there, and what each zone held, \
            where that state is the last one or a mark or the retention keeps it. Where nothing of \
            it can be told any more the exit code is 3.

            A store that takes too long to be read at once is read in parts: --subset 3/7 reads the \
            third of seven that together are the whole store, and --max-duration begins nothing more \
            after so long, a file of the journal or the index or some chunks of assets. --resume FILE \
            keeps the place in FILE, at which the next run goes on. A part checks what it reads; that \
            the index says what the journal does, and which records a damaged chunk is of, only a run \
            over the whole store tells.

            The exit code is 0 where nothing is damaged, 1 where something is, may be lost or is not \
            as certified, 13 where both copies of the manifest are damaged and nothing could be \
            checked.
            """,
        arguments: [.store],
        options: [
            Option(
                "against", taking: .init("CERTIFICATE", .path),
                "compare the history with this certificate"),
            Option(
                "rate", taking: .init("SIZE"),
                "read no more than SIZE a second, such as 20MiB: beside a service"),
            Option("subset", taking: .init("N/T"), "read the Nth of T parts of the store"),
            Option(
                "max-duration", taking: .init("TIME"),
                "begin nothing more after TIME, such as 90m or 2h"),
            Option(
                "resume", taking: .init("FILE", .path),
                "go on where FILE says, and write into it where the next run does"),
        ],
        examples: [
            Example("stratus verify ./store", "Checks the store."),
            Example("stratus verify ./store --rate 50MiB", "Leaves a service room to work."),
            Example("stratus verify ./store --subset 3/7", "Checks the third of seven parts."),
            Example(
                "stratus verify ./store --max-duration 2h --resume ./place",
                "Checks for two hours, each time from where the last run ended."),
            Example(
                "stratus verify ./store --json -o findings.ndjson",
                "Writes what is found to a file, one JSON object a line."),
            Example(
                "stratus verify ./store --against store.certificate",
                "Checks also that nothing of what was certified has changed."),
        ])

    static let certify = Command(
        "certify", "write a certificate of what a store holds",
        details: """
            Writes, as one object of JSON, which store STORE is, where its last commit ended, the \
            chain over its journal up to there, and of each zone of all databases how many records \
            it holds and their content hash. Keep it elsewhere: 'stratus verify --against' shows \
            later whether the store, or a copy of it, still has that history. 'stratus mark', run \
            right after it, keeps the state, so that the zones can be compared then, too. It finds \
            lost, exchanged and changed commits; it proves nothing against someone who wants to \
            forge a history. A service may have the store open and go on writing.
            """,
        arguments: [.store],
        examples: [
            Example(
                "stratus certify ./store -o store.certificate", "Writes a certificate to a file."),
            Example("stratus certify ./store", "Writes it to standard output."),
        ])

    static let hash = Command(
        "hash", "write the hash of what a store holds",
        details: """
            Two databases with the same zones and records have the same hash, however they came \
            to be. Zones, record names, types, fields and parents count; change tags, dates and \
            users only with --system. Where a record cannot be read there is no hash, and every \
            damaged place is named.
            """,
        arguments: [.store],
        options: [
            .zone("only this zone"),
            Option("system", "count change tags, dates and users too"), .at,
        ],
        examples: [
            Example("stratus hash ./store", "Writes the hash of the private database."),
            Example(
                "stratus hash ./copy --zone photos", "Writes the hash of one zone, to compare."),
        ])
}
