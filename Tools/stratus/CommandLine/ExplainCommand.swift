extension Command {
    static let explain = Command(
        "explain", "tell what lies at a place of a store",
        details: """
            Tells what a store has at an offset of its journal, or at a byte of one of its files, as \
            messages about damage name them: which part of which file it is and, of an entry, what it \
            holds, when it was committed, and whether it is the newest version of its record. Of a place \
            in damage it tells that damage.
            """,
        arguments: [
            .store,
            Argument("PLACE", "an offset, or the name of a file, a colon and a byte of it"),
        ],
        examples: [
            Example("stratus explain ./store 712", "Tells what lies at the offset 712."),
            Example(
                "stratus explain ./store journal-0000000000000000:5696",
                "Tells what lies at a byte of a segment."),
        ])
}
