/// What a run was told: tags, dates and users of what the model knows as revisions and numbers.
struct ModelBook: Sendable {
    private struct Stamp: Sendable {
        var tag: String
        var modified: Double
    }

    private var stamps: [Int: Stamp] = [:]
    /// All tags that a name ever had.
    private var tags: [ModelDatabaseID: [ModelID: Set<String>]] = [:]
    /// The newest revision known of each life of a record, by the revision that began it.
    private var last: [Int: Int] = [:]
    private var users: [ModelDatabaseID: [Int: String]] = [:]
    private var database = ModelDatabaseID.everybodys
    private var caller: Int?
    /// What was found to differ since the beginning of the call,
    private(set) var differences: [String] = []
    /// and the records in the answer.
    private(set) var copies: [(handle: Int, copy: ModelCopy)] = []

    mutating func begin(_ database: ModelDatabaseID, _ caller: Int?) {
        self.database = database
        self.caller = caller
        differences = []
        copies = []
    }

    mutating func fail(_ text: String) { differences.append(text) }

    mutating func compare<Value: Equatable>(_ what: String, _ seen: Value, _ expected: Value) {
        if seen != expected { fail("\(what): \(seen), and should be \(expected)") }
    }

    /// A page may be empty, but the next one must not be the same again.
    mutating func compareMoved(_ token: String, _ before: String?) {
        if token == before { fail("more is coming, but the token stays \(token)") }
    }

    /// Both where both succeed; that one alone failed is a difference.
    mutating func both<Expected, Seen>(
        _ expected: Result<Expected, ModelFailure>, _ seen: Seen?, _ answer: SeenAnswer
    ) -> (Expected, Seen)? {
        switch (expected, seen, answer) {
        case (.success(let expected), let seen?, _): return (expected, seen)
        case (.failure(let failure), _, .refused(let found)):
            compare("refusal (\(found.text))", found.code, failure.code.rawValue)
        case (.failure(let failure), _, _):
            fail("it should be refused with \(failure.code)")
        case (.success, _, _): fail("it should not be refused: \(answer)".prefix(300).description)
        }
        return nil
    }
}

// Records.
extension ModelBook {
    /// Whether a record is the one expected, and its tag the one of that revision.
    mutating func compare(_ seen: SeenRecord, _ expected: ModelRecord, isPartial: Bool = false) {
        let what = "\(expected.id)@\(expected.revision)"
        compare("ID", seen.id, expected.id)
        compare("\(what) type", seen.type, expected.type)
        compare("\(what) fields", seen.fields, expected.fields)
        compare("\(what) parent", seen.parent, expected.parent)
        compareStamps(seen, expected, what)
        compareUser("\(what) creator", seen.creator, expected.creator)
        compareUser("\(what) modifier", seen.modifier, expected.modifier)
        copies.append((seen.handle, ModelCopy(expected, isWhole: !isPartial)))
    }

    private mutating func compareStamps(
        _ seen: SeenRecord, _ expected: ModelRecord, _ what: String
    ) {
        let id = expected.id
        if let stamp = stamps[expected.revision] {
            compare("\(what) tag", seen.tag, stamp.tag)
            compare("\(what) modification date", seen.modified, stamp.modified)
        } else {
            let isNew = tags[database, default: [:]][id, default: []].insert(seen.tag).inserted
            if !isNew { fail("\(what) has a tag that it had before: \(seen.tag)") }
            if let before = last[expected.creation], let stamp = stamps[before],
                stamp.modified >= seen.modified
            {
                fail("\(what) at \(seen.modified), but \(before) at \(stamp.modified)")
            }
            stamps[expected.revision] = Stamp(tag: seen.tag, modified: seen.modified)
            last[expected.creation] = expected.revision
        }
        if let creation = stamps[expected.creation] {
            compare("\(what) creation date", seen.created, creation.modified)
        } else {
            fail("\(what) was made by a save that was never seen")
        }
    }

    private mutating func compareUser(_ what: String, _ seen: String, _ expected: Int) {
        if let known = users[database]?[expected] {
            compare(what, seen, known)
        } else {
            if users[database, default: [:]].values.contains(seen) { fail("\(what): \(seen)") }
            users[database, default: [:]][expected] = seen
        }
    }

    mutating func compare(
        _ what: String, _ seen: SeenFailure?, _ expected: ModelFailure?
    ) {
        guard seen?.code == expected?.code.rawValue else {
            let text = seen.map { "\($0.code) (\($0.text))" } ?? "success"
            fail("\(what): \(text), and should be \(expected.map { "\($0.code)" } ?? "success")")
            return
        }
        if let server = expected?.server {
            if let found = seen?.server {
                compare(found, server)
            } else {
                fail("\(what): a conflict without the server's record")
            }
        }
        switch (seen?.ancestor, expected?.base) {
        case (let found?, let base?): compare(found, base)
        case (let found?, nil): fail("\(what): an ancestor from nowhere, \(found)")
        case (nil, _):
            if expected?.needsBase == true { fail("\(what): a conflict without its ancestor") }
        }
    }

    mutating func compare(
        _ what: String, _ seen: Result<SeenRecord, SeenFailure>?, _ expected: ModelResult,
        isPartial: Bool
    ) {
        switch (seen, expected) {
        case (nil, _): fail("\(what): no answer")
        case (.success(let seen), .success(let expected)):
            compare(seen, expected, isPartial: isPartial)
        case (.failure(let seen), .success): compare(what, seen, nil)
        case (.success, .failure(let expected)): compare(what, nil, expected)
        case (.failure(let seen), .failure(let expected)):
            compare(what, seen, expected)
        }
    }
}
