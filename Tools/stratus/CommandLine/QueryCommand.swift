/// The command that finds records by the values of their fields.
extension Command {
    static let query = Command(
        "query", "find records by the values of their fields",
        details: """
            Finds the records of TYPE that satisfy PREDICATE, or all of them, in the zones of the \
            database or in the one that --zone names. PREDICATE is text in the format of \
            NSPredicate: comparisons such as "size > 1024", "name BEGINSWITH 'a'", "tags CONTAINS \
            'red'", "date < now()" or "self CONTAINS 'two words'", joined by AND, OR and NOT. Of a \
            field that a record does not have neither a comparison nor its negation holds. Strings \
            are equal whatever their case. The system fields are recordID, creationDate, \
            creatorUserRecordID, modificationDate and lastModifiedUserRecordID.

            Without --sort the records come in an order of the store's own, which stays the same. \
            Records without a field that they are sorted by come first, or last where it descends. \
            --reverse turns the order around; records with equal values of all fields that they are \
            sorted by stay in the store's own order. \
            A damaged record ends the command; with --skip-damaged the others are listed, each \
            that is left out is named with its offset, and the exit code is 3.
            """,
        arguments: [
            .store, Argument("TYPE", "the type of the records"),
            Argument("PREDICATE", "the condition (default: all records)", isOptional: true),
        ],
        options: [
            .zone("only this zone (default: all zones of the database)"),
            Option(
                "sort", taking: .init("FIELD[:desc]"),
                "sort by FIELD, ascending or descending; again: by a second field",
                isRepeatable: true),
            Option(
                "fields", taking: .init("NAMES"),
                "show these fields, separated by commas, and no others"),
            .limit("at most N records"), .reverse,
            Option("count", "write only how many records there are"),
            Option(
                "total", taking: .init("FIELD"),
                "write only how many there are, and sum, minimum and maximum of FIELD"),
            Option("explain", "write only how the records are found, and which indexes would help"),
            .at, .skipDamaged,
        ],
        examples: [
            Example(
                "stratus query ./store File 'size>1048576' --zone photos --sort size:desc",
                "Lists the files above 1 MiB in the zone photos, the largest first."),
            Example(
                "stratus query ./store File \"name='README.md'\" --fields name,size --json",
                "Writes the records of that name in any zone, one JSON object a line."),
            Example(
                "stratus query ./store File --total size",
                "Counts the files of all zones and adds up their sizes."),
        ])
}
