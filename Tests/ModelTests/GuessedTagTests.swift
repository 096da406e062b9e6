import Stratus
import StratusGateway
import Support
import Testing

/// A tag is a place in the journal; a caller that guesses one learns nothing by it.
@Suite struct GuessedTagTests {
    private let container: Container
    private let gateway: Gateway

    init() throws {
        container = try Container.inMemory()
        gateway = Gateway(container: container)
    }

    /// One item on a record; what stands in its place in the answer.
    private func modify(
        _ type: String, _ name: String, tag: String? = nil, secret: String, as user: String,
        in database: String = "private"
    ) async throws -> WireValue {
        var record: [String: WireValue] = [
            "recordName": .text(name), "recordType": .text("Note"),
            "fields": .object(["secret": .object(["value": .text(secret)])]),
        ]
        record["recordChangeTag"] = tag.map { .text($0) }
        let item: WireValue = .object([
            "operationType": .text(type), "record": .object(record),
        ])
        let zone = database == "public" ? "_defaultZone" : "notes"
        let request: WireValue = .object([
            "as": .text(user), "database": .text(database), "call": .text("records/modify"),
            "body": .object([
                "zoneID": WireValue(zone: zone), "operations": .list([item]),
            ]),
        ])
        let response = await gateway.respond(toLine: try request.line)
        return try WireValue(line: response.text)["body"]?["records"]?.items.first ?? .null
    }

    /// Records of several users under the same names, each saved more than once; the tags of the
    /// last one of bob's.
    private func fill() async throws -> [UInt64] {
        for user in ["alice", "bob"] {
            let database = container.privateDatabase(for: user)
            try await database.save(RecordZone(zoneName: "notes"))
        }
        var tags: [UInt64] = []
        for round in 0..<4 {
            for (user, database) in [
                ("alice", "private"), ("bob", "private"), ("alice", "public"),
            ] {
                for name in ["mine", "other", "third"] {
                    let saved = try await modify(
                        "forceUpdate", name, secret: "\(user)'s \(database) \(name) \(round)",
                        as: user, in: database)
                    let tag = UInt64(saved["recordChangeTag"]?.string ?? "")
                    tags.append(try #require(tag))
                }
            }
        }
        return tags
    }

    @Test func `guessed tags reveal no byte of another record`() async throws {
        var tags = Set(try await fill())
        let first = try #require(tags.min())
        let last = try #require(tags.max())
        var random = SeededGenerator(seed: 1)
        let guesses =
            Array(first - min(first, 300)...last + 100)
            + (0..<300).map { _ in
                random.next() >> UInt64(random.below(64))
            }
        var ancestors: Set<String> = []
        for guess in guesses {
            let answer = try await modify(
                "update", "mine", tag: String(guess), secret: "guess", as: "bob")
            guard answer["serverErrorCode"] != nil else {
                // It was the tag.
                #expect(tags.contains(guess))
                tags.insert(try #require(UInt64(answer["recordChangeTag"]?.string ?? "")))
                continue
            }
            let text = String(decoding: try answer.line, as: UTF8.self)
            #expect(!text.contains("alice") && !text.contains("other") && !text.contains("third"))
            if let ancestor = answer["ancestorRecord"] {
                #expect(ancestor["recordName"]?.string == "mine")
                let secret = ancestor["fields"]?["secret"]?["value"]?.string
                ancestors.insert(secret ?? "nothing")
            }
        }
        // What bob could read when it was current he may be given again, and nothing else.
        let own = Set((0..<4).map { "bob's private mine \($0)" })
        #expect(ancestors.isSubset(of: own.union(["guess"])))
        #expect(!ancestors.isDisjoint(with: own))
    }
}
