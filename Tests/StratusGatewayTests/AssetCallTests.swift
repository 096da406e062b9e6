import FoundationEssentials
import Stratus
import StratusGateway
import Testing

@Suite struct AssetCallTests {
    /// A directory with the file `in` of ten bytes, gone with the value.
    private final class Folder {
        let path = "\(FileManager.default.temporaryDirectory.path)/stratus-\(UUID().uuidString)"

        init() throws {
            try FileManager.default.createDirectory(
                atPath: path, withIntermediateDirectories: true)
            try Data("0123456789".utf8).write(to: URL(filePath: path + "/in"))
        }

        deinit { try? FileManager.default.removeItem(atPath: path) }

        func text(_ name: String) -> String? {
            FileManager.default.contents(atPath: "\(path)/\(name)").map {
                String(decoding: $0, as: UTF8.self)
            }
        }
    }

    private static func create(_ value: String) -> String {
        #"{"operationType":"forceUpdate","record":{"recordName":"a","recordType":"Note","#
            + #""fields":{"f":{"value":\#(value)}}}}"#
    }

    private static func download(_ more: String) -> String {
        #"{"recordName":"a","zoneID":{"zoneName":"notes"},"fieldName":"f",\#(more)}"#
    }

    @Test func `a file is saved by its path or by a receipt, and written to another`() async throws
    {
        let folder = try Folder()
        let gateway = try await TestGateway(grants: [.files(under: folder.path)])
        let receipt = try await gateway.call("assets/upload", #"{"path":"in"}"#)
        #expect(receipt.status == 200 && receipt.body["size"].number == 10, "\(receipt.text)")
        let text = try #require(receipt.body["receipt"].text)
        var sums: Set<String> = [try #require(receipt.body["fileChecksum"].text)]
        for value in [#"{"path":"in"}"#, #"{"receipt":"\#(text)"}"#] {
            let saved = try await gateway.modify(Self.create(value))
            let asset = saved.body["records"][0]["fields"]["f"]["value"]
            #expect(asset["size"].number == 10, "\(saved.text)")
            sums.insert(try #require(asset["fileChecksum"].text))
        }
        #expect(sums.count == 1)
        let whole = try await gateway.call("assets/download", Self.download(#""path":"out""#))
        #expect(whole.status == 200 && folder.text("out") == "0123456789", "\(whole.text)")
        _ = try await gateway.call(
            "assets/download", Self.download(#""path":"part","offset":3,"length":4"#))
        #expect(folder.text("part") == "3456")
        // What is there is not written over.
        let again = try await gateway.call("assets/download", Self.download(#""path":"out""#))
        #expect(again.status == 400 && folder.text("out")?.count == 10)
    }

    @Test func `no file is touched that the host does not permit, nor a receipt of others taken`()
        async throws
    {
        let folder = try Folder()
        let gateway = try await TestGateway(grants: [.files(under: folder.path + "/sub")])
        let paths = [
            "\(folder.path)/in", "\(folder.path)/subs/in", "../in", "/etc/passwd", "",
            "sub/../../in", ".",
        ]
        for path in paths {
            let body = #"{"path":"\#(path)"}"#
            #expect(try await gateway.call("assets/upload", body).code == "ACCESS_DENIED")
            #expect(try await gateway.modify(Self.create(body)).code == "ACCESS_DENIED")
        }
        // One character for people, a separator and a name for the system.
        let joined = try await gateway.call(
            "assets/upload", #"{"path":"\#(folder.path)/sub/../\u0301x"}"#)
        #expect(joined.code == "ACCESS_DENIED")
        let relative = try await TestGateway(grants: [.files(under: "etc")])
        let absolute = try await relative.call("assets/upload", #"{"path":"/etc/passwd"}"#)
        #expect(absolute.code == "ACCESS_DENIED")
        let several = try await TestGateway(
            grants: [.files(under: "/"), .files(under: folder.path), .files(under: "/etc")])
        #expect(try await several.call("assets/upload", #"{"path":"in"}"#).status == 200)
        let closed = try await TestGateway()
        let refused = try await closed.call("assets/upload", #"{"path":"/etc/passwd"}"#)
        #expect(refused.code == "ACCESS_DENIED")
        let open = try await TestGateway(grants: [.files(under: folder.path)])
        let given = try await open.call("assets/upload", #"{"path":"in"}"#, as: "bob")
        let receipt = try #require(given.body["receipt"].text)
        let stolen = try await open.modify(Self.create(#"{"receipt":"\#(receipt)"}"#))
        #expect(stolen.status == 200, "\(stolen.text)")
        #expect(stolen.body["records"][0]["serverErrorCode"].text == "BAD_REQUEST")
        #expect(stolen.body["records"][0]["ckErrorCode"].number == 35)
    }

    @Test func `an upload is answered alike, whether or not another user had the file stored`()
        async throws
    {
        let folder = try Folder()
        let gateway = try await TestGateway(grants: [.files(under: folder.path)])
        var answers: [[String?]] = []
        var receipts: Set<String> = []
        for user in ["alice", "bob"] {
            let given = try await gateway.call("assets/upload", #"{"path":"in"}"#, as: user)
            let receipt = try #require(given.body["receipt"].text)
            receipts.insert(receipt)
            answers.append(
                [given.text.replacing(receipt, with: ""), "\(given.status) \(receipt.count)"])
        }
        #expect(answers[0] == answers[1] && receipts.count == 2)
    }

    @Test func `a record with an asset is saved as it was given`() async throws {
        let folder = try Folder()
        let gateway = try await TestGateway(grants: [.files(under: folder.path)])
        let field = { (record: Found) in record["fields"]["f"] }
        func send(
            _ value: String, _ name: String = "a", kind: String = "forceUpdate",
            in zone: String = "notes"
        ) async throws -> Found {
            try await gateway.call(
                "records/modify",
                #"{"zoneID":{"zoneName":"\#(zone)"},"operations":[{"operationType":"\#(kind)","#
                    + #""record":{"recordName":"\#(name)","recordType":"Note","#
                    + #""fields":{"f":\#(value)}}}]}"#
            ).body["records"][0]
        }
        let saved = try await gateway.modify(Self.create(#"{"path":"in"}"#)).body["records"][0]
        #expect(saved["fields"]["f"]["type"].text == "ASSETID", "\(saved.json)")
        let given = try await gateway.record("a")
        let whole = try await gateway.modify(
            #"{"operationType":"replace","record":\#(given.json)}"#)
        #expect(field(whole.body["records"][0]) == field(given), "\(whole.text)")
        // What it held before it may have again, also once it was deleted.
        try Data("other".utf8).write(to: URL(filePath: folder.path + "/in"))
        _ = try await gateway.modify(Self.create(#"{"path":"in"}"#))
        #expect(field(try await gateway.record("a")) != field(given))
        #expect(field(try await send(field(given).json)) == field(given))
        let bare = try #require(given["fields"]["f"]["value"]["fileChecksum"].text)
        #expect(field(try await send(#"{"value":{"fileChecksum":"\#(bare)"}}"#)) == field(given))
        #expect(
            field(try await send(#"{"value":{"fileChecksum":"\#(bare)"},"type":"ASSET"}"#))
                == field(given))
        _ = try await gateway.modify(
            #"{"operationType":"forceDelete","record":{"recordName":"a"}}"#)
        #expect(
            field(try await send(field(given).json, kind: "create")) == field(given))
        let out = try await gateway.call("assets/download", Self.download(#""path":"out""#))
        #expect(out.status == 200 && folder.text("out") == "0123456789", "\(out.text)")
        // And where it was moved to.
        _ = try await gateway.call(
            "zones/modify",
            #"{"operations":[{"operationType":"create","zone":{"zoneName":"to"}}]}"#)
        _ = try await send(#"{"value":{"path":"in"}}"#)
        _ = try await gateway.call(
            "records/move",
            #"{"zoneID":{"zoneName":"notes"},"toZoneID":{"zoneName":"to"},"#
                + #""records":[{"recordName":"a"}]}"#)
        #expect(field(try await send(field(given).json, in: "to")) == field(given))
    }

    @Test func `a checksum stands for no asset of another record`() async throws {
        let folder = try Folder()
        let gateway = try await TestGateway(grants: [.files(under: folder.path)])
        _ = try await gateway.modify(Self.create(#"{"path":"in"}"#))
        let given = try await gateway.record("a")["fields"]["f"]
        let checksum = try #require(given["value"]["fileChecksum"].text)
        let bad = [
            #"{"fileChecksum":"\#(checksum)","size":11}"#, #"{"fileChecksum":"00","size":10}"#,
            #"{"fileChecksum":"\#(checksum.uppercased())1","size":10}"#,
        ].map { Self.create($0) }
        let other = Self.create(given["value"].json).replacing(#""a""#, with: #""b""#)
        for operation in bad + [other] {
            let name = operation == other ? "b" : "a"
            let answer = try await gateway.modify(
                operation
                    + #",{"operationType":"forceUpdate","record":{"recordName":"good","#
                    + #""recordType":"T"}}"#)
            let item = answer.body["records"][0]
            #expect(item["recordName"].text == name && item["ckErrorCode"].number == 35)
            #expect(item["serverErrorCode"].text == "BAD_REQUEST")
            #expect(answer.body["records"][1]["recordType"].text == "T")
        }
        // Nor of a record of that name that belongs to another user.
        _ = try await gateway.call(
            "zones/modify",
            #"{"operations":[{"operationType":"create","zone":{"zoneName":"notes"}}]}"#, as: "bob")
        let bobs = try await gateway.call(
            "records/modify",
            #"{"zoneID":{"zoneName":"notes"},"operations":[\#(Self.create(given["value"].json))]}"#,
            as: "bob")
        #expect(bobs.body["records"][0]["ckErrorCode"].number == 35, "\(bobs.text)")
        #expect(try await gateway.record("a")["fields"]["f"] == given)
        let neither = try await gateway.modify(Self.create(#"{"size":10}"#))
        #expect(neither.body["records"][0]["serverErrorCode"].text == "BAD_REQUEST")
    }

    @Test func `a receipt that stands for nothing fails its own record`() async throws {
        let folder = try Folder()
        let gateway = try await TestGateway(grants: [.files(under: folder.path)])
        let good = Self.create(#"{"path":"in"}"#)
        let bad = Self.create(#"{"receipt":"none"}"#).replacing(#""a""#, with: #""b""#)
        let answer = try await gateway.modify("\(bad),\(good)")
        #expect(answer.status == 200, "\(answer.text)")
        #expect(answer.body["records"][0]["ckErrorCode"].number == 35)
        #expect(answer.body["records"][0]["recordName"].text == "b")
        #expect(answer.body["records"][1]["recordName"].text == "a")
        #expect(answer.body["records"][1]["ckErrorCode"].number == nil)
    }
}
