/// Commands for stores of which something is damaged.
extension Command {
    static let repair = Command(
        "repair", "rebuild what of a damaged store can be rebuilt",
        details: """
            Reads every byte of STORE and says what is damaged: what can be rebuilt without a \
            loss, which is the manifest, of what the segments of the journal say of themselves, \
            and the index, of the journal; and what cannot. Nothing is changed. With --apply it is \
            done, in STORE itself; what was damaged stays beside it, in files whose names begin \
            with broken-. A damaged journal is not touched: 'stratus salvage' brings out what is \
            whole of it.

            The exit code is 0 where nothing is damaged or all of it was rebuilt, 1 where \
            something is left to do or an asset is damaged, 13 where the journal is damaged.
            """,
        arguments: [.store],
        options: [Option("apply", "do it")],
        examples: [
            Example("stratus repair ./store", "Says what is damaged and would be rebuilt."),
            Example("stratus repair ./store --apply", "Rebuilds it."),
        ])

    static let salvage = Command(
        "salvage", "make a store of what is whole of a damaged one",
        details: """
            For a store that does not open, or of which something cannot be read, where no archive \
            has what is needed. Reads STORE and changes nothing of it, and makes a store in the \
            directory NEW, which must not exist: of every entry of the journal and every chunk of \
            an asset that is whole, whatever is damaged around it. It is there when all of it was \
            proved, or not at all.

            Then it says what was lost: each stretch of the journal, with what was in it as far as \
            the index or what is left of it tells; records of which only an earlier version is \
            left; assets that are not whole; zones, users, types and fields whose names are lost, \
            and what they are called now. Zones of which it is not known whose they are belong to \
            the user lost-found.

            Change tags stay good. Change tokens of STORE are refused, so that clients fetch \
            everything again. The exit code is 0 where all that STORE held came out, 3 where \
            something is lost.
            """,
        arguments: [.store, Argument("NEW", "the directory that is made", .path)],
        examples: [
            Example("stratus salvage ./store ./saved", "Brings out what is whole."),
            Example(
                "stratus salvage ./store ./whole --json -o losses.ndjson",
                "Writes what is lost to a file, one JSON object a line."),
        ],
        whenStopped: .removesDirectory)
}
