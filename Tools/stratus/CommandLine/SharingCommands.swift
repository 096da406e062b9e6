/// Commands about shares, and about who may do what.
extension Command {
    static let tree = Command(
        "tree", "show the records of zones below their parents",
        details: """
            Shows each zone, and in it each record below the parent that it names, with its type. Of \
            a shared zone or record it says what the user may do and how many others have a part in \
            it. With --as it shows what that user sees: the user's own zones, then those that others \
            share with the user, named OWNER/ZONE; with --database only those of one database. \
            Without both it shows the zones of all users as their owners see them.

            Records beside each other come in an order of the store's own, which stays the same. With \
            --count it counts the records that it would show. With --at it shows what there was \
            then, to users whose accounts can be used now.
            """,
        arguments: [.store],
        options: [.zone("only this zone"), .limit("at most N records"), .count, .at],
        examples: [
            Example("stratus tree ./store --as bob", "Shows what Bob sees, his own and shared."),
            Example(
                "stratus tree ./store --as alice --database private --zone notes",
                "Shows Alice's zone notes, with what is shared of it."),
            Example(
                "stratus tree ./store --as bob --at mark:before-import",
                "Shows what Bob saw at a mark."),
        ])

    static let shares = Command(
        "shares", "list the shares of a store",
        details: """
            Lists the shares of all users, or of the owner that --user names: the owner, the zone, \
            the root or * for the whole zone, how many others have a part in it, what anyone with \
            the link may do, and how many have accepted and how many were only invited. With --json \
            each comes with its link and its participants.
            """,
        arguments: [.store],
        options: [
            Option("user", taking: .init("NAME"), "only the shares of this owner"),
            .zone("only the shares in this zone"),
        ] + Option.listing("shares") + [.at],
        examples: [
            Example("stratus shares ./store", "Lists all shares."),
            Example(
                "stratus shares ./store --at mark:before-import",
                "Lists what was shared at a mark, and with whom."),
            Example(
                "stratus shares ./store --user alice --zone notes --json",
                "Writes those in Alice's zone notes, one JSON object a line."),
        ])

    static let why = Command(
        "why", "show whether a user may do something to a record, and by which rule",
        details: """
            Shows whether USER may read, write or delete RECORD, or create a record below it or, in \
            the public database, another one of its type; the rule that decides it, and the share \
            that gives the user the right. The user - is an anonymous caller. The record is in the \
            zone --zone (default: the default zone) of the private database of the user that --as \
            names, or of the public database with --database public. With --at it shows what held \
            then, to users whose accounts can be used now.
            """,
        arguments: [
            .store, Argument("USER", "the user meant, or -"), .action,
            .record,
        ],
        options: [.zone("the zone the record is in"), .at],
        examples: [
            Example(
                "stratus why ./store bob write note-1 --zone notes --as alice",
                "Shows whether Bob may change Alice's record note-1, and why."),
            Example(
                "stratus why ./store - read boat-1 --database public",
                "Shows whether anyone may read a record of the public database."),
            Example(
                "stratus why ./store bob read note-1 --zone notes --as alice --at mark:before-import",
                "Shows whether Bob could read it at a mark."),
        ])

    static let whoCan = Command(
        "who-can", "list the users who may do something to a record",
        details: """
            Lists the users who may do that to RECORD, each with the rule that allows it; - is an \
            anonymous caller. Users whom the store does not know are not listed. Actions, records and \
            moments are named as for 'stratus why'.
            """,
        arguments: [.store, .action, .record],
        options: [.zone("the zone the record is in"), .at],
        examples: [
            Example(
                "stratus who-can ./store write note-1 --zone notes --as alice",
                "Lists who may change Alice's record note-1."),
            Example(
                "stratus who-can ./store read boat-1 --database public --json",
                "Writes who may read a record of the public database, one JSON object a line."),
        ])

    static let whatCan = Command(
        "what-can", "list what a user may read and write",
        details: """
            Lists the private database of USER, the public database with the roles by which its \
            types grant something, and each share that the user was invited to or joined: the zone \
            as OWNER/ZONE, the root or * for the whole zone, what the user may do in it, and as \
            what. What each role may do is part of the schema: 'stratus schema show'. With --at it \
            lists what held then, to a user whose account can be used now.
            """,
        arguments: [.store, Argument("USER", "the user meant")], options: [.at],
        examples: [
            Example("stratus what-can ./store bob", "Lists what Bob may do."),
            Example(
                "stratus what-can ./store bob --json", "Writes it, one JSON object a line."),
        ])
}

extension Command.Argument {
    fileprivate static let action = Self(
        "ACTION", "what the user would do", .oneOf(["read", "create", "write", "delete"]))
}
