/// Commands about assets.
extension Command {
    static let exportDirectory = Command(
        "export", "write an imported directory back, byte for byte",
        details: """
            Writes the folders, files and links that 'import' brought into a zone to DIR, which \
            must not exist, with their modes and dates; DIR itself stays private. User \
            and group IDs, extended attributes and hard links are not stored.

            What cannot be written is skipped, counted and named; the exit code is then 3. A file \
            of which the store has damaged bytes is left out and named with the place of the \
            damage; the exit code is then 1. A damaged record ends the export, or with \
            --skip-damaged is left out and named like that.
            """,
        arguments: [.store, Argument("DIR", "the directory to make", .path)],
        options: [
            .zone("the zone that was imported into", isRequired: true),
            Option(
                "preserve-permissions",
                "keep set-user, set-group and sticky bits, which are cleared otherwise: a program "
                    + "with them runs as the user who exports"), .at, .skipDamaged,
        ],
        examples: [
            Example(
                "stratus export ./store ./again --zone photos",
                "Writes what is in the zone photos to ./again."),
            Example(
                "stratus export ./store ./root --zone system --preserve-permissions",
                "Restores a system, with its set-user programs."),
        ])

    static let asset = Command(
        "asset", "write an asset of a record to a file or to standard output",
        details: """
            Writes the asset in the field FIELD of a record, or a part of it, to FILE, which must \
            not exist, and is there whole or not at all; its mode is 0600. Without FILE \
            it goes to standard output, or to where --output says; on a terminal only where FILE \
            or --output is '-'.
            """,
        arguments: [
            .store, .record,
            Argument("FIELD", "the name of the field"),
            Argument("FILE", "the file to make, or -", .path, isOptional: true),
        ],
        options: [
            .zone("the zone the record is in", isRequired: true),
            Option("offset", taking: .init("BYTE", .number), "begin at BYTE (default: 0)"),
            Option("length", taking: .init("BYTES", .number), "write at most BYTES bytes"), .at,
        ],
        examples: [
            Example(
                "stratus asset ./store photo-1 image ./photo.jpg --zone album",
                "Writes the asset to photo.jpg."),
            Example(
                "stratus asset ./store photo-1 image --zone album --length 4096 -o head",
                "Writes its first 4096 bytes to the file head, also where there is one."),
        ])

    static let compact = Command(
        "compact", "rewrite the journal without what is needed no longer",
        details: """
            Rewrites segments of the journal without entries that were replaced and that no open \
            snapshot sees, compresses the rest, and deletes the old files. Change tags and change \
            tokens stay good. Files that a reading process still needs go once it has ended. The \
            store does the same by itself when enough of it is needed no longer.

            With --erase every file of journal, index and assets that holds anything of what was \
            replaced or deleted is rewritten, so that nothing of it is left; files that a reading \
            process still needs are named. Names of zones, types, fields and users stay, and names \
            of deleted records for as long as deletions are remembered: 'stratus retention'.
            """,
        arguments: [.store],
        options: [
            Option("dry-run", "only say what that would bring"),
            Option("erase", "leave nothing of what is needed no longer in any file"),
        ],
        examples: [
            Example("stratus compact ./store", "Compacts the journal."),
            Example("stratus compact ./store --dry-run", "Says what that would bring, about."),
            Example(
                "stratus compact ./store --erase", "Leaves nothing of what was deleted in any file."
            ),
        ])

    static let gc = Command(
        "gc", "delete unreferenced chunks of assets",
        details: """
            Takes back the chunks that no record needs any more, nor any open snapshot; copies \
            what is left of segments that are mostly dead; and deletes the segments in which \
            nothing is named. What a crash or a cancelled save has left goes too. Segments that \
            a reading process may still need stay until the next time. Of each segment it is said \
            why it goes.
            """,
        arguments: [.store],
        options: [Option("dry-run", "only say what would go, and why")],
        examples: [
            Example("stratus gc ./store", "Deletes unreferenced chunks."),
            Example("stratus gc ./store --dry-run", "Says what that would be."),
        ])
}
