/// Commands that read and change single records by hand.
extension Command {
    static let get = Command(
        "get", "write the value of a field of a record",
        details: """
            Writes the value of one field, and nothing else, in the form that 'stratus put' takes: \
            text as it is, a number in digits, a timestamp in UTC or, where that has no room for it, \
            in seconds since 1970 with an s, bytes in base64, a location as LATITUDE,LONGITUDE, a \
            reference as the name of its record. A list is written one value a line. An asset is what \
            'stratus asset' writes; 'stratus show' has all fields of a record.
            """,
        arguments: [.store, .record, Argument("FIELD", "the name of the field")],
        options: [.zone("the zone the record is in", isRequired: true), .at],
        examples: [
            Example("stratus get ./store note-1 title --zone notes", "Writes the note's title."),
            Example(
                "stratus get ./store note-1 title --zone notes --at mark:before-import",
                "Writes the title that it had then."),
        ])

    static let put = Command(
        "put", "make a record, or change fields of one",
        details: """
            Gives fields of a record values, and leaves its other fields as they are. Where there is no \
            such record one of --type is made. A VALUE is of the type that the schema has for the \
            field, or else text; FIELD:TYPE=VALUE says another one: string, int64, double, timestamp \
            (2026-11-23T14:30:00Z), bytes (base64), location (LATITUDE,LONGITUDE), reference (the \
            name of a record of the zone) or asset (the path of a file). A list gets its values one by \
            one: FIELD=VALUE again for each; of a field that is new, 'FIELD:TYPE[]=VALUE' makes a list \
            of one value.

            The zone must be there: 'stratus load', 'stratus import' and 'stratus exec' make zones. A \
            service that has the store open makes the change, if its gateway listens; if not, the exit \
            code is 11.
            """,
        arguments: [
            .store, .record,
            Argument(
                "FIELD=VALUE", "a field, and its value as text", isOptional: true,
                isVariadic: true),
        ],
        options: [
            .zone("the zone the record is in", isRequired: true),
            .type("the type of a record that is made"),
            Option("unset", taking: .init("FIELD"), "remove a field", isRepeatable: true),
            Option("parent", taking: .init("NAME"), "make that record of the zone its parent"),
            .durability,
        ],
        examples: [
            Example(
                "stratus put ./store note-1 title='A first note' size:int64=3 --zone notes --type Note",
                "Makes a note."),
            Example(
                "stratus put ./store note-1 size=4 tags=red tags=blue --zone notes --unset title",
                "Changes its fields."),
        ])

    static let delete = Command(
        "delete", "delete records",
        details: """
            Deletes the records of these names, and those with a reference of the action DELETE_SELF \
            to one of them; none where one is not there. It is one commit, in which all are deleted or \
            none; but in the public database and in default zones, which know no such commits, those \
            that may be deleted are. 'stratus revert --at' brings records back where a mark was made or \
            the history is kept, 'stratus restore' from an archive. A service that has the store open \
            does it, as with 'stratus put'.
            """,
        arguments: [
            .store, Argument("RECORD", "the name of a record", isVariadic: true),
        ],
        options: [.zone("the zone the records are in", isRequired: true), .durability],
        examples: [
            Example("stratus delete ./store note-1 note-2 --zone notes", "Deletes two records."),
            Example(
                "stratus delete ./store note-1 --database public --zone _defaultZone",
                "Deletes a record of the public database."),
        ])
}
