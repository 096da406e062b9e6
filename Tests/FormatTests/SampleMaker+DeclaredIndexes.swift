import FoundationEssentials
import Stratus
import StratusFiles
import Support

// Stores with declared indexes.
extension SampleMaker {
    private static let other = RecordZone.ID(zoneName: "other")
    private static let gone = RecordZone.ID(zoneName: "gone")

    private static func id(_ name: String, in zone: RecordZone.ID = zone) -> Record.ID {
        Record.ID(recordName: name, zoneID: zone)
    }

    private func boat(
        _ name: String, in zone: RecordZone.ID = zone, _ fields: [String: RecordValue]
    ) -> Record {
        record(name, type: "Boat", in: zone, fields)
    }

    /// Fields of every kind that an index can have.
    private var fullFields: [String: RecordValue] {
        [
            "title": "Oslo", "berths": 4, "length": 9.5,
            "launched": .date(Date(timeIntervalSinceReferenceDate: 788_918_400.5)),
            "tags": ["Red", "red"], "sizes": [.double(.nan)], "counts": [300, 300],
            "home": .reference(Reference(recordID: Self.id("harbour"))),
            "mark": .bytes(Data([0, 1, 0x7f])), "story": "The boat, and THE second boat",
            "berth": .location(Location(latitude: 59.9, longitude: 10.7)),
        ]
    }

    /// Records from before the indexes and from behind them, in several zones; changes of what is
    /// indexed and of what is not, deletions and a move; an index dropped, and declared again.
    static func declaredIndexes() async throws -> StoreFiles {
        let maker = SampleMaker(seed: 80)
        let container = try maker.open()
        let database = container.privateDatabase(for: "alice")
        for id in [zone, other, gone] { try await database.save(RecordZone(zoneID: id)) }
        try await maker.saveBoats(database, in: [other, gone])
        let options: [(field: String, option: RecordIndex.Option)] = [
            ("title", .queryable), ("title", .sortable), ("berths", .queryable),
            ("length", .sortable), ("launched", .sortable), ("tags", .queryable),
            ("sizes", .queryable), ("counts", .queryable), ("home", .queryable),
            ("mark", .queryable), ("story", .searchable), ("tags", .searchable),
            ("berth", .queryable), ("creationDate", .sortable),
            ("creatorUserRecordID", .queryable), ("lastModifiedUserRecordID", .queryable),
        ]
        for (field, option) in options {
            try await container.addIndex(on: field, of: "Boat", option)
        }
        let columns = [
            ["title", "berths"], ["berths", "length", "title"], ["launched", "home"],
            ["creatorUserRecordID", "modificationDate"],
        ]
        for fields in columns {
            try await container.addIndex(on: fields, of: "Boat")
        }
        try await container.addUniqueIndex(on: ["note"], of: "Boat")
        try await maker.changeBoats(database)
        // Of the form of numbers, it serves both options.
        guard
            let length = try await container.indexes().first(where: { $0.fields == ["length"] })
        else { return [:] }
        try await container.removeIndex(length)
        try await maker.update("built", database) { $0["length"] = 12.25 }
        try await database.deleteRecord(withID: id("bare"))
        try await container.addIndex(on: "length", of: "Boat", .sortable)
        try await maker.update("built", database) { $0["length"] = -0.5 }
        let mark = try await container.addIndex(on: "mark", of: "Boat", .queryable)
        try await container.removeIndex(mark)
        try await container.addUniqueIndex(
            on: ["title", "berths", "length", "launched", "home", "mark"], of: "Boat")
        try await container.close()
        return maker.files
    }

    /// The schema is reset: zones, indexes and kinds go, and a field has another kind since.
    static func reset() async throws -> StoreFiles {
        let maker = SampleMaker(seed: 82)
        let container = try maker.open()
        let database = container.privateDatabase(for: "alice")
        for id in [zone, other] { try await database.save(RecordZone(zoneID: id)) }
        try await maker.saveBoats(database, in: [other])
        try await container.addIndex(on: "berths", of: "Boat", .queryable)
        try await container.importSchema(try await container.schema())
        try await container.resetSchema()
        try await database.save(RecordZone(zoneID: zone))
        try await database.save(maker.boat("built", ["berths": "four", "title": 4]))
        try await container.addIndex(on: "berths", of: "Boat", .queryable)
        try await container.close()
        return maker.files
    }

    /// Fields whose strings are compared by their bytes, alone and with others, from the first save on and from
    /// later on, one of them under another name since.
    static func collation() async throws -> StoreFiles {
        let maker = SampleMaker(seed: 83)
        let container = try maker.open()
        let database = container.privateDatabase(for: "alice")
        try await database.save(RecordZone(zoneID: zone))
        try await container.importSchema(
            """
            DEFINE SCHEMA
            RECORD TYPE Boat (
                berths INT64,
                sign STRING QUERYABLE SORTABLE SEARCHABLE,
                tags LIST<STRING> QUERYABLE,
                title STRING QUERYABLE SORTABLE,
                GRANT WRITE TO "_creator",
                GRANT CREATE TO "_icloud",
                GRANT READ TO "_world"
            );
            // stratus: COLLATION BINARY ON Boat (sign, tags)
            // stratus: INDEX places ON Boat (sign, title)
            // stratus: INDEX names ON Boat (title, sign)
            // stratus: UNIQUE signs ON Boat (sign, berths)
            """)
        let signs = [
            "", "Straße", "STRASSE", "a", "a\u{0}", "a\u{0}b", "A", "20 bytes long, these",
        ]
        _ = try await database.modifyRecords(
            saving: signs.enumerated().map { place, sign in
                maker.boat(
                    "boat-\(place)",
                    [
                        "sign": .string(sign), "title": .string(sign), "berths": 2,
                        "tags": [.string(sign), "Red", "red"],
                    ])
            } + [maker.boat("bare", ["berths": 2])])
        try await maker.update("boat-3", database) { $0["sign"] = "B" }
        try await database.deleteRecord(withID: id("boat-4"))
        try await container.setCollation(.binary, of: "title", ofRecordType: "Boat")
        try await container.setCollation(.folded, of: "tags", ofRecordType: "Boat")
        try await container.migrate("Boat", [.rename("title", to: "name")], asHost: "host")
        try await maker.update("boat-5", database) { $0["name"] = "b" }
        try await container.close()
        return maker.files
    }

    private func update(
        _ name: String, _ database: Database, _ change: (inout Record) -> Void
    ) async throws {
        var record = try await database.record(for: Self.id(name))
        change(&record)
        try await database.save(record)
    }

    private func saveBoats(_ database: Database, in zones: [RecordZone.ID]) async throws {
        try await database.save(record("harbour", type: "Harbour", ["title": "Bergen"]))
        try await database.save(boat("built", fullFields))
        for zone in zones {
            try await database.save(boat("built", in: zone, ["title": "Straße", "berths": -1]))
        }
        try await database.save(boat("bare", ["note": "without a field of an index"]))
        try await database.save(boat("deleted", ["title": "Løgstør, Østergade 12", "tags": []]))
        try await database.save(boat("moved", fullFields))
    }

    private func changeBoats(_ database: Database) async throws {
        // Nothing that an index knows of has changed.
        try await update("built", database) { $0["note"] = "no rows change" }
        try await update("built", database) { $0["title"] = "OSLO" }
        try await update("built", database) { boat in
            boat["title"] = "Bodø"
            boat["berths"] = nil
            boat["tags"] = []
            boat["mark"] = nil
            boat["story"] = "Second thoughts"
            boat["berth"] = .location(Location(latitude: -33.9, longitude: 538.4))
        }
        try await update("bare", database) { $0["berths"] = .int64(.min) }
        try await database.deleteRecord(withID: Self.id("deleted"))
        try await database.save(boat("new", fullFields))
        try await database.deleteRecord(withID: Self.id("new"))
        try await database.save(boat("new", ["title": "", "length": .double(.nan)]))
        try await database.moveRecords([Self.id("moved")], to: Self.other)
        // The name with another type, which has no index.
        try await database.save(record("deleted", type: "Harbour", ["title": "Oslo"]))
        _ = try await database.modifyRecords(
            saving: (0..<3).map { boat("batch-\($0)", ["berths": .int64(Int64($0))]) },
            deleting: [Self.id("harbour")])
        try await database.deleteRecordZone(withID: Self.gone)
    }

    /// Indexes on records of which compactions have left the last versions, and those at a mark: rows
    /// are taken from the fields where the version is missing that an entry speaks of.
    static func compactedIndexes() async throws -> StoreFiles {
        let maker = SampleMaker(seed: 81)
        let container = try maker.open()
        let database = container.privateDatabase(for: "alice")
        try await maker.fill(database, saves: 12, length: 600)
        try await maker.replaceAll(database, text: "first ")
        try await container.addIndex(on: "number", of: "Note", .queryable)
        try await container.addIndex(on: "text", of: "Note", .queryable)
        try await container.addIndex(on: "text", of: "Note", .searchable)
        try await container.mark("built")
        try await container.addIndex(on: "text", of: "Note", .sortable)
        try await container.addIndex(on: ["text", "number"], of: "Note")
        try await container.addIndex(on: "modificationDate", of: "Note", .sortable)
        try await maker.replaceAll(database, text: "second ")
        try await database.deleteRecord(withID: id("note-3"))
        try await database.deleteRecord(withID: id("note-4"))
        try await database.save(maker.record("note-4", type: "Task", ["number": 4]))
        try await maker.update("note-8", database) { $0["number"] = -8 }
        try await maker.replaceAll(database, text: "third ")
        try await container.maintenance.compact()
        try await maker.update("note-9", database) { $0["text"] = "late" }
        let dropped = try await container.addIndex(on: "number", of: "Task", .queryable)
        try await container.removeIndex(dropped)
        try await maker.replaceAll(database, text: "fourth ")
        try await database.deleteRecord(withID: id("note-10"))
        try await container.maintenance.compact()
        try await maker.replaceAll(database, text: "fifth ")
        try await container.close()
        try maker.forgetCheckpoint()
        return maker.files
    }
}
