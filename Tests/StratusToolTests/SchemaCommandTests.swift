import StratusTool
import Testing

/// The text of schemas, checked and compared.
@Suite struct SchemaCommandTests {
    private static let schema = """
        DEFINE SCHEMA
            RECORD TYPE Note (
                title STRING QUERYABLE SORTABLE,
                "___recordID" REFERENCE QUERYABLE,
                GRANT READ, CREATE, WRITE TO "_icloud"
            );
        """

    @Test func `a schema is checked, with the place of what is wrong`() async throws {
        let place = try Place()
        try place.write(Self.schema, "whole.ckdb")
        let whole = try await place.run("schema validate @/whole.ckdb")
        #expect(whole.code == .ok && whole.results == "1 record type, 0 errors, 0 warnings\n")
        try place.write(
            Self.schema.replacing("title STRING QUERYABLE", with: "title ASSET QUERYABLE"),
            "wrong.ckdb")
        let wrong = try await place.run("schema validate @/wrong.ckdb")
        #expect(wrong.code == .differences && wrong.results.contains("line 3, column 9: error"))
        try place.write(Self.schema.replacing("STRING", with: "TEXT"), "broken.ckdb")
        let broken = try await place.run("schema validate @/broken.ckdb")
        #expect(broken.code == .usage && broken.messages.contains("line 3, column 15"))
        #expect(try await place.run("schema validate @/none.ckdb").code == .notFound)
        #expect(try await place.run("schema diff @/whole.ckdb").code == .usage)
    }

    @Test func `equal schemas are equal texts, and others are compared`() async throws {
        let place = try Place()
        try place.write(Self.schema, "one.ckdb")
        try place.write("// by hand\n" + Self.schema.replacing("    ", with: " "), "two.ckdb")
        let one = try await place.run("schema format @/one.ckdb")
        let two = try await place.run("schema format @/two.ckdb")
        #expect(one.code == .ok && one.results == two.results)
        #expect(try await place.run("schema diff @/one.ckdb @/two.ckdb").code == .ok)
        try place.write(
            Self.schema.replacing("title STRING QUERYABLE SORTABLE", with: "count INT64"),
            "new.ckdb")
        let changed = try await place.run("schema diff @/one.ckdb @/new.ckdb")
        #expect(changed.code == .differences)
        #expect(changed.results.contains("add field 'Note.count' of type INT64"))
        #expect(changed.results.contains("its data would be lost"))
        let deployed = try await place.run("schema diff @/one.ckdb @/new.ckdb --production")
        #expect(deployed.results.contains("refused"))
    }
    @Test func `the schema of a store is shown, imported and deployed`() async throws {
        let place = try Place()
        try place.write("three!", "tree/c.txt")
        try await place.importTree()
        let shown = try await place.run("schema show @/store")
        #expect(shown.code == .ok && shown.results.contains("RECORD TYPE File"))
        let wanted = shown.results.replacing(/name +STRING/, with: "name STRING QUERYABLE")
        #expect(wanted != shown.results)
        try place.write(wanted, "wanted.ckdb")
        let query = "query @/store File name='c.txt' --explain"
        #expect(try await place.run(query).results.contains("all records of the type"))
        let imported = try await place.run("schema import @/store @/wanted.ckdb")
        #expect(imported.code == .ok && imported.results.contains("QUERYABLE"))
        let after = try await place.run("schema show @/store").results
        #expect(after.contains(/name +STRING +QUERYABLE/))
        #expect(try await place.run(query).results.contains("index File.name QUERYABLE"))
        try place.write(wanted.replacing("name STRING QUERYABLE", with: ""), "less.ckdb")
        #expect(try await place.run("schema import @/store @/less.ckdb").code != .ok)
        #expect(
            try await place.run("schema deploy @/store @/wanted.ckdb").results == "0 changes made\n"
        )
        #expect(try await place.run("schema import @/store").code == .usage)
        let pair = "\n// stratus: INDEX byName ON File (name, mode)\n"
        try place.write(wanted + pair, "pair.ckdb")
        #expect(try await place.run("schema import @/store @/pair.ckdb").code == .ok)
        let both = "query @/store File name='c.txt'&&mode>0 --explain"
        #expect(try await place.run(both).results.contains("index File (name, mode)"))
        try place.write(wanted + "\n// stratus: UNIQUE oneName ON File (name)\n", "one.ckdb")
        let unique = try await place.run("schema import @/store @/one.ckdb")
        #expect(unique.results.contains("remove index 'byName'"))
        #expect(unique.results.contains("add unique index 'oneName'"))
        #expect(try await place.run(query).results.contains("index File (name) UNIQUE"))
    }

    @Test func `a field gets another name in the schema and in all records`() async throws {
        let place = try Place()
        for name in ["a", "b", "c"] { try place.write(name, "tree/\(name).txt") }
        try await place.importTree()
        let count = try await place.run("query @/store File mode!=NULL --count").results
        let renamed = try await place.run(
            "schema rename @/store --field File.mode --to permissions")
        #expect(renamed.code == .ok && count.count > 1)
        #expect(renamed.results == count.replacing("\n", with: " records changed\n"))
        let shown = try await place.run("schema show @/store").results
        #expect(shown.contains(/permissions +INT64/))
        let after = try await place.run("query @/store File permissions!=NULL --count")
        #expect(after.results == count)
        #expect(try await place.run("query @/store File mode!=NULL --count").results == "0\n")
        let again = try await place.run(
            "schema rename @/store --field File.mode --to permissions")
        #expect(again.code == .ok && again.results == "0 records changed\n")
        for (field, name, code) in [
            ("File.name", "permissions", .usage), ("File.none", "x", .notFound),
            ("None.mode", "x", .notFound), ("mode", "x", .usage),
        ] as [(String, String, ExitCode)] {
            let run = "schema rename @/store --field \(field) --to \(name)"
            #expect(try await place.run(run).code == code, "\(run)")
        }
        #expect(try await place.run("schema rename @/store --field File.mode").code == .usage)
    }

    @Test func `a schema is reset where that is asked for twice`() async throws {
        let place = try Place()
        try place.write("three!", "tree/c.txt")
        try await place.importTree()
        #expect(try await place.run("schema reset @/store").code == .usage)
        #expect(try await place.run("schema show @/store").results.contains("RECORD TYPE File"))
        #expect(try await place.run("schema reset @/store --yes").code == .ok)
        #expect(try await !place.run("schema show @/store").results.contains("RECORD TYPE"))
        #expect(try await place.run("query @/store File --count").results.contains("0"))
    }
}
