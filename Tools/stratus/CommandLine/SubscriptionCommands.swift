/// Commands about subscriptions, what they notify of, and the devices that are sent it.
extension Command {
    static let subscriptions = Command(
        "subscriptions", "list the subscriptions of a store",
        details: """
            Lists the subscriptions of all users, or of the user that --user names, in all \
            databases, or in the one that --database names: the user, the database, the ID of the \
            subscription, its kind, the zone or * for all, the type of the records or * for all, \
            and of a query what it fires on and its predicate. With --json each comes as \
            'subscriptions/list' answers it, with what its notifications say. Of a user whose account \
            cannot be used now none are listed, also with --at.
            """,
        arguments: [.store],
        options: [Option("user", taking: .init("NAME"), "only the subscriptions of this user")]
            + Option.listing("subscriptions") + [.at],
        examples: [
            Example("stratus subscriptions ./store", "Lists all subscriptions."),
            Example(
                "stratus subscriptions ./store --user alice --database public --json",
                "Writes those of Alice in the public database, one JSON object a line."),
        ])

    static let devices = Command(
        "devices", "list the devices that are sent pushes",
        details: """
            Lists the devices of all users, or of the user that --user names, that are registered \
            for pushes: the user, the name of the device, the environment of its token, the token, \
            and the offset of the journal up to which the device was sent its pushes. A token that \
            is no text is written in hexadecimal digits behind 0x, and with --json as 'tokenHex'. \
            A copy of a store has no devices until they register with it.
            """,
        arguments: [.store],
        options: [Option("user", taking: .init("NAME"), "only the devices of this user")],
        examples: [
            Example("stratus devices ./store", "Lists all devices."),
            Example(
                "stratus devices ./store --user alice --json",
                "Writes those of Alice, one JSON object a line."),
        ])

    static let notifications = Command(
        "notifications", "show what a user was notified of",
        details: """
            Writes the notifications of a user that are kept, or those since TOKEN, the oldest \
            first, each as a JSON object on a line of its own with the payload for a device. The \
            last line has the token to go on with. Read marks are among them: they name the \
            notification that was marked and are nothing to be sent.

            With --follow it goes on until it is stopped, beside the process that writes to the \
            store. Behind what it found it writes the token to go on with, so that a sender that \
            stops and begins again with the last token leaves nothing out; what was written after \
            that token comes once more. With --device it leaves out what that device of the user \
            changed itself, as pushes do. With --payloads each payload is written to a file of its \
            own in DIR, which is made where there is none; a file is whole and on the disk before \
            its line is written. Sorted by name the files are in the order in which what they tell \
            of was committed, and the same notification always has the same name.
            """,
        arguments: [.store],
        options: [
            Option(
                "user", taking: .init("NAME"), "the user who is notified", isRequired: true),
            .since("begin after TOKEN"),
            .limit("at most N notifications, and end then"),
            .follow("wait for new notifications at the end, until stopped"),
            Option(
                "device", taking: .init("NAME"), "the device of the user that is to be notified"),
            Option(
                "payloads", taking: .init("DIR", .path), "write each payload to a file in DIR"),
        ],
        examples: [
            Example(
                "stratus notifications ./store --user alice",
                "Writes all that Alice was notified of, one JSON object a line."),
            Example(
                "stratus notifications ./store --user alice --device phone --follow",
                "Goes on with what her phone is to be sent."),
            Example(
                "stratus notifications ./store --user alice --follow --payloads ./outbox",
                "Writes the payloads to files, for a program that sends them."),
        ])
}
