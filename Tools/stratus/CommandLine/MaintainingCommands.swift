/// Commands about the index of a store.
extension Command {
    static let stats = Command(
        "stats", "show what the index of a store takes",
        details: """
            Shows the entries and bytes of each map of the index and of each of its sorted runs, \
            the newest first; what is in memory only, the cache, and how much of the journal lies \
            behind the checkpoint, which the next opening has to read. Memory and cache are those \
            of this tool. Entries that no reader needs any more count until a merge drops them.

            With --assets: what assets hold (logical), what is left of that where equal parts are \
            stored once (unique), and what that takes, compressed (stored); then how many chunks \
            there are by their lengths. Unreferenced chunks count until gc or the \
            store itself collects them.
            """,
        arguments: [.store],
        options: [
            Option("assets", "show what assets hold and take instead")
        ],
        examples: [
            Example("stratus stats ./store", "Shows what the index takes."),
            Example("stratus stats ./store --assets", "Shows what assets take."),
            Example(
                "stratus stats ./store --json", "Writes the same, one JSON object a line."),
        ])

    static let pins = Command(
        "pins", "list who reads a store, and what is kept for it",
        details: """
            Lists the generations of the files of STORE that other processes of this machine read, by \
            their numbers: when each was made, how much it keeps that the store does not need any \
            more, and the processes. What compaction and collection have replaced is deleted once \
            no process reads it. A generation that no process reads is deleted when the store is opened \
            for writing.
            """,
        arguments: [.store],
        examples: [
            Example("stratus pins ./store", "Lists what is read now, or nothing."),
            Example("stratus pins ./store --json", "Writes the same as JSON objects."),
        ])

    static let checkpoint = Command(
        "checkpoint", "write the index to disk, so that the next opening is quick",
        details: """
            Opens the store for writing, reads what of the journal is not in the index on disk, \
            and writes that there. Stores do so by themselves as they grow and when they are \
            closed; this is for one whose writer died, or for a copy.
            """,
        arguments: [.store],
        examples: [
            Example("stratus checkpoint ./store", "Writes a checkpoint."),
            Example(
                "stratus checkpoint ./store --json", "Says where it lies as one JSON object."),
        ])

    static let reindex = Command(
        "reindex", "rebuild the index of a store from its journal",
        details: """
            Reads the whole journal and writes the index once more, as small as it can be. \
            Whatever lies there of the old one is not looked at, so that this heals any damage of \
            it; the journal is not changed. The manifest is written again, too, both copies of it. Stopped \
            on its way it leaves a whole store.
            """,
        arguments: [.store],
        examples: [
            Example("stratus reindex ./store", "Rebuilds the index."),
            Example(
                "stratus reindex ./store --progress json --json",
                "Reports progress and result as JSON."),
        ])
}
