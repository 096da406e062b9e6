import StratusLanguage

/// Schemas as CloudKit's tools export them, and as people write them.
enum SchemaSamples {
    static let boats = """
        DEFINE SCHEMA
            CREATE ROLE Curator;

            RECORD TYPE Users ( "___createTime" TIMESTAMP, nickname STRING QUERYABLE SEARCHABLE,
                GRANT WRITE TO "_creator", GRANT READ TO "_world" );

            RECORD TYPE Boat (
                "___recordID"   REFERENCE QUERYABLE,
                "___createTime" TIMESTAMP QUERYABLE SORTABLE,
                name            STRING QUERYABLE SORTABLE SEARCHABLE,
                berths          INT64 QUERYABLE SORTABLE,
                draught         NUMBER PREFERRED AS DOUBLE,
                launched        TIMESTAMP SORTABLE,
                mooring         LOCATION QUERYABLE,
                harbour         REFERENCE QUERYABLE,
                tags            LIST<STRING> QUERYABLE SEARCHABLE,
                crew            LIST<REFERENCE>,
                photo           ASSET,
                logbookKey      ENCRYPTED BYTES,
                "queryable"     STRING,              // a reserved word as a field name
                GRANT WRITE TO "_creator", GRANT CREATE TO "_icloud", GRANT READ TO "_world",
                GRANT READ, CREATE, WRITE TO Curator
            );
        """

    /// Down to the last blank, what the printer must produce.
    static let export = """
        DEFINE SCHEMA

            CREATE ROLE editor;
            CREATE ROLE viewer;

            RECORD TYPE CD_Trip (
                CD_budget          DOUBLE QUERYABLE SORTABLE,
                CD_codes           LIST<ENCRYPTED STRING>,
                CD_entityName      STRING QUERYABLE SEARCHABLE SORTABLE,
                CD_payload         BYTES QUERYABLE SORTABLE,
                CD_payload_ckAsset ASSET,
                "___createTime"    TIMESTAMP,
                "___createdBy"     REFERENCE,
                "___etag"          STRING,
                "___modTime"       TIMESTAMP QUERYABLE SORTABLE,
                "___modifiedBy"    REFERENCE,
                "___recordID"      REFERENCE QUERYABLE,
                members            LIST<STRING> QUERYABLE SEARCHABLE SORTABLE,
                GRANT WRITE TO "_creator",
                GRANT READ, CREATE, WRITE TO "_icloud",
                GRANT READ TO "_world",
                GRANT READ, WRITE TO editor
            );

            RECORD TYPE Users (
                "___createTime" TIMESTAMP,
                roles           LIST<INT64>,
                GRANT WRITE TO "_creator",
                GRANT READ TO "_world"
            );

            RECORD TYPE "cloudkit.share" (
                "___createTime"               TIMESTAMP,
                "cloudkit.thumbnailImageData" BYTES,
                "cloudkit.title"              STRING,
                "cloudkit.type"               STRING,
                GRANT READ, CREATE, WRITE TO "_creator"
            );

            // stratus: INDEX byBudget ON CD_Trip (CD_entityName, CD_budget DESC)
            // stratus: UNIQUE oneName ON CD_Trip (CD_entityName)
            // stratus: COLLATION BINARY ON CD_Trip (CD_entityName, members)

        """
}
