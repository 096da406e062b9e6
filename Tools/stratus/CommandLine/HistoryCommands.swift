extension Command.Option {
    static let at = at(isRequired: false)

    static func at(isRequired: Bool) -> Self {
        Self(
            "at", taking: .init("POINT"),
            "as it was then: an offset, a date, a date and time (local unless a time zone follows), "
                + "mark:NAME or a change token", isRequired: isRequired)
    }
}

/// Commands about the past of a store.
extension Command {
    static let history = Command(
        "history", "list the versions of a record",
        details: """
            Lists the versions of a record that the store keeps, the newest first or, with --reverse, \
            the oldest, each with its offset, when and by whom it was saved, its change tag and its \
            zone; also those from before it was moved, and deletions. With --json each comes with \
            the record as it was. Which versions there are depends on the marks of the store and on \
            its retention: 'stratus mark' and 'stratus retention'.
            """,
        arguments: [.store, .record],
        options: [
            .zone("the zone the record is in", isRequired: true),
            .limit("at most N versions"), Option("reverse", "the oldest version first"), .at,
        ],
        examples: [
            Example(
                "stratus history ./store note-1 --zone notes",
                "Lists the versions of the record note-1."),
            Example(
                "stratus history ./store note-1 --zone notes --limit 1 --json",
                "Writes the newest one with its fields, or when it was deleted."),
        ])

    static let blame = Command(
        "blame", "show which save set each field of a record",
        details: """
            Shows for each field of a record the version with which it got the value that it has. \
            Where the versions before are not kept it may have been an earlier one, which is said.
            """,
        arguments: [.store, .record],
        options: [.zone("the zone the record is in", isRequired: true), .at],
        examples: [
            Example(
                "stratus blame ./store note-1 --zone notes",
                "Shows who set the fields of the record note-1, and when."),
            Example(
                "stratus blame ./store note-1 --zone notes --at mark:before-import",
                "Shows the same of what it was at a mark."),
        ])

    static let mark = Command(
        "mark", "mark this moment of a store, list its marks or remove one",
        details: """
            Without NAME it lists the marks of STORE, each with its offset and date. With NAME it \
            makes a mark: what the store holds now can be read with '--at mark:NAME' until the mark \
            is removed, whatever is changed later. Names need not be unique; --at and --remove \
            take the latest mark of a name. Of a store that a service has open, that one makes and \
            removes marks, if its gateway listens.
            """,
        arguments: [.store, Argument("NAME", "the name of the mark", isOptional: true)],
        options: [Option("remove", "remove the mark")],
        examples: [
            Example("stratus mark ./store before-import", "Marks this moment."),
            Example("stratus mark ./store", "Lists the marks."),
            Example("stratus mark ./store before-import --remove", "Removes the mark."),
        ])

    static let retention = Command(
        "retention", "show or set how much of its past a store keeps",
        details: """
            Shows how much of its past STORE keeps beside what marks keep, and from where on, or \
            sets it: none; all that was the newest state within an AGE (30d, 12h, 90m, 45s) before \
            the last commit; all within so many bytes of the journal (500MiB, 10GiB); everything. \
            Compaction frees what is not kept. What was before the policy was set does not come \
            back.

            Deletions are remembered for change feeds, for 90 days if nothing else is set. A client \
            whose change token is older than a forgotten deletion has to fetch the whole zone again.

            Notifications are kept for 30 days, and the last 10,000 of a user, if nothing else is \
            set.
            """,
        arguments: [.store],
        options: [
            Option(
                "history", taking: .init("POLICY"), "keep none, everything, an age or a size"),
            Option(
                "deletions", taking: .init("POLICY"),
                "remember deletions: none, everything, an age or a size"),
            Option("notifications", taking: .init("AGE"), "keep notifications so long"),
            Option(
                "notification-count", taking: .init("N", .number),
                "keep so many notifications of a user"),
        ],
        examples: [
            Example("stratus retention ./store", "Shows what is kept."),
            Example("stratus retention ./store --history 30d", "Keeps thirty days from now on."),
            Example("stratus retention ./store --history none", "Keeps no history any more."),
            Example(
                "stratus retention ./store --deletions 30d", "Forgets deletions after thirty days."),
            Example(
                "stratus retention ./store --notifications 7d --notification-count 500",
                "Keeps notifications for a week, and the last 500 of a user."),
        ])
}
