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
        // A receipt serves one record.
        let other = Self.create(#"{"receipt":"\#(text)"}"#).replacing(#""a""#, with: #""b""#)
        let second = try await gateway.modify(other).body["records"][0]
        #expect(second["recordName"].text == "b" && second["ckErrorCode"].number == 35)
        let whole = try await gateway.call("assets/download", Self.download(#""path":"out""#))
        #expect(whole.status == 200 && folder.text("out") == "0123456789", "\(whole.text)")
        _ = try await gateway.call(
            "assets/download", Self.download(#""path":"part","offset":3,"length":4"#))
        #expect(folder.text("part") == "3456")
        // What is there is not written over.
        let again = try await gateway.call("assets/download", Self.download(#""path":"out""#))
        #expect(again.status == 400 && folder.text("out")?.count == 10)
    }

    @Test func `a long-lived call brings files and receipts as well`() async throws {
        let folder = try Folder()
        let gateway = try await TestGateway(grants: [.files(under: folder.path)])
        let receipt = try await gateway.call("assets/upload", #"{"path":"in"}"#)
        let text = try #require(receipt.body["receipt"].text)
        for (name, value) in [("one", #"{"path":"in"}"#), ("two", #"{"receipt":"\#(text)"}"#)] {
            let more = #","operationID":"\#(name)","isLongLived":true"#
            // Also where it is asked again.
            for _ in 0..<2 {
                let saved = try await gateway.modify(Self.create(value), more)
                let asset = saved.body["records"][0]["fields"]["f"]["value"]
                #expect(saved.status == 200 && asset["size"].number == 10, "\(saved.text)")
            }
        }
        _ = try await gateway.call("assets/download", Self.download(#""path":"out""#))
        #expect(folder.text("out") == "0123456789")
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
        for itemJSON in bad + [other] {
            let name = itemJSON == other ? "b" : "a"
            let answer = try await gateway.modify(
                itemJSON
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

    /// A store in a folder, with other names of its directory and its files beside it.
    private struct Beside {
        let folder: Folder
        let gateway: TestGateway
        let segment: String
        /// The names of the store's files.
        var names: [String] {
            (try? FileManager.default.contentsOfDirectory(atPath: folder.path + "/store"))?.sorted()
                ?? []
        }

        init() async throws {
            folder = try Folder()
            let (manager, path) = (FileManager.default, folder.path)
            let other = try await Container.open(at: path + "/other", creating: true)
            _ = try await other.privateDatabase(for: "a").save(RecordZone(zoneName: "z"))
            try await other.close()
            let container = try await Container.open(at: path + "/store", creating: true)
            gateway = try await TestGateway(
                container, grants: [.files(under: "/"), .files(under: path)])
            let saved = try await gateway.modify(AssetCallTests.create(#"{"path":"in"}"#))
            #expect(saved.status == 200 && !saved.text.contains("ErrorCode"), "\(saved.text)")
            let files = try manager.contentsOfDirectory(atPath: path + "/store")
            segment = try #require(files.first { $0.hasPrefix("manifest-") })
            for name in ["sub", "store/within"] {
                try manager.createDirectory(
                    atPath: "\(path)/\(name)", withIntermediateDirectories: false)
            }
            for (name, target) in [
                ("link", "store"), ("absolute", path + "/store"), ("sub/up", ".."),
                ("file", "store/" + segment), ("chain", "sub/up/file"), ("loop", "loop"),
            ] {
                try manager.createSymbolicLink(
                    atPath: "\(path)/\(name)", withDestinationPath: target)
            }
            try manager.linkItem(
                atPath: "\(path)/store/\(segment)", toPath: path + "/hard")
        }

        /// Paths that lead into a directory of a store.
        func paths(to name: String) -> [String] {
            [
                "store/\(name)", "\(folder.path)/store/\(name)", "./store//\(name)",
                "link/\(name)", "absolute/\(name)", "sub/../store/\(name)",
                "sub/up/store/\(name)", "store/within/../\(name)", "store/within/\(name)",
                "/proc/self/cwd/../../../../../../../..\(folder.path)/store/\(name)",
            ]
        }
    }

    @Test func `no request reads a file of a store, by whatever name`() async throws {
        let beside = try await Beside()
        let (gateway, segment) = (beside.gateway, beside.segment)
        let others = try FileManager.default.contentsOfDirectory(
            atPath: beside.folder.path + "/other")
        let paths =
            beside.paths(to: segment) + ["file", "chain"] + others.map { "other/\($0)" }
        for path in paths {
            let body = #"{"path":"\#(path)"}"#
            #expect(
                try await gateway.call("assets/upload", body).code == "ACCESS_DENIED", "\(path)")
            #expect(try await gateway.modify(Self.create(body)).code == "ACCESS_DENIED", "\(path)")
        }
        // That it has a name in the store shows only once it is open.
        let hard = try await gateway.call("assets/upload", #"{"path":"hard"}"#)
        #expect(hard.code == "ACCESS_DENIED" && hard.body["ckErrorCode"].number == 10)
        let item = try await gateway.modify(Self.create(#"{"path":"hard"}"#)).body["records"][0]
        #expect(item["serverErrorCode"].text == "ACCESS_DENIED")
        let missing = try await gateway.call("assets/upload", #"{"path":"sub/none"}"#)
        #expect(missing.body["ckErrorCode"].number == 16)
        let loop = try await gateway.call("assets/upload", #"{"path":"loop"}"#)
        #expect(loop.body["ckErrorCode"].number == 16)
        #expect(try await gateway.call("assets/upload", #"{"path":"sub/up/in"}"#).status == 200)
    }

    @Test func `no request makes a file in the directory of a store, by whatever name`()
        async throws
    {
        let beside = try await Beside()
        let names = beside.names
        // The name that the next generation of the manifest would have.
        let next = String(beside.segment.dropLast()) + "f"
        for path in beside.paths(to: next) + ["other/\(next)"] {
            let answer = try await beside.gateway.call(
                "assets/download", Self.download(#""path":"\#(path)""#))
            #expect(answer.code == "ACCESS_DENIED", "\(path): \(answer.text)")
        }
        // What has a name is not written over, whatever it is.
        for path in ["hard", "file", "chain"] {
            let answer = try await beside.gateway.call(
                "assets/download", Self.download(#""path":"\#(path)""#))
            #expect(answer.status == 400, "\(path): \(answer.text)")
        }
        #expect(beside.names == names)
        let good = try await beside.gateway.call(
            "assets/download", Self.download(#""path":"sub/up/out""#))
        #expect(good.status == 200 && beside.folder.text("out") == "0123456789")
        try await beside.gateway.container.close()
        _ = try await Container.open(at: beside.folder.path + "/store")
    }

    @Test func `a path is permitted by where it leads, not by what it is called`() async throws {
        let folder = try Folder()
        let (manager, path) = (FileManager.default, folder.path)
        for name in ["box", "box/deep"] {
            try manager.createDirectory(
                atPath: "\(path)/\(name)", withIntermediateDirectories: false)
        }
        try Data("abc".utf8).write(to: URL(filePath: path + "/box/deep/own"))
        for (name, target) in [
            ("alias", "box"), ("box/out", ".."), ("box/file", "../in"), ("box/inner", "deep/own"),
        ] {
            try manager.createSymbolicLink(atPath: "\(path)/\(name)", withDestinationPath: target)
        }
        // The permitted directory itself is named by a link.
        let gateway = try await TestGateway(grants: [.files(under: path + "/alias")])
        for name in ["file", "out/in", "../in", "deep/../../in", "\(path)/in", "\(path)/none/x"] {
            let answer = try await gateway.call("assets/upload", #"{"path":"\#(name)"}"#)
            #expect(answer.code == "ACCESS_DENIED", "\(name)")
        }
        for name in ["deep/own", "inner", "deep/../inner", "\(path)/box/inner"] {
            let answer = try await gateway.call("assets/upload", #"{"path":"\#(name)"}"#)
            #expect(answer.status == 200, "\(name): \(answer.text)")
        }
        let saved = try await gateway.modify(Self.create(#"{"path":"inner"}"#))
        #expect(saved.status == 200 && !saved.text.contains("ErrorCode"), "\(saved.text)")
        for (name, status) in [("out/x", 403), ("\(path)/x", 403), ("x", 200), ("inner", 400)] {
            let answer = try await gateway.call(
                "assets/download", Self.download(#""path":"\#(name)""#))
            #expect(answer.status == status, "\(name): \(answer.text)")
        }
        #expect(folder.text("x") == nil && folder.text("box/x") == "abc")
    }
}
