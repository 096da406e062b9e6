/// Random calls, made to the model and to something real, whose answers must be the same.
package struct ModelRun<Driver: ModelDriver>: Sendable {
    package var model = RecordModel()
    package private(set) var driver: Driver
    package var generator: ModelGenerator
    private var known: [ModelDatabaseID: [ModelCopy]] = [:]
    private var tokens: [(model: ModelToken, text: String)] = []
    private var book = ModelBook()
    /// How often each thing happened, to see that the run was worth its time.
    package private(set) var counts: [String: Int] = [:]

    package init(seed: UInt64, _ driver: Driver) {
        generator = ModelGenerator(seed: seed)
        self.driver = driver
    }

    /// One call; what differs between the answers, which is nothing if all is well.
    package mutating func step() async throws -> [String] {
        let call = generator.call(model: model, known: known, tokens: tokens.map(\.model))
        return try await make(call)
    }

    /// At the end: everything that can be asked.
    package mutating func finish() async throws -> [String] {
        var found = try await make(ModelCall(.reopen, in: .everybodys, by: 0))
        for (id, database) in model.databases.sorted(by: { "\($0.key)" < "\($1.key)" }) {
            var user = 0
            if case .own(let owner) = id { user = owner }
            found += try await make(ModelCall(.zoneNames, in: id, by: user))
            for zone in database.zones.keys.sorted() {
                if !generator.character.isWeb {
                    let list = ModelCall.Kind.list(zone: zone, type: nil)
                    found += try await make(ModelCall(list, in: id, by: user))
                }
                let names = Set((database.zones[zone]?.changes ?? [:]).keys).sorted()
                let ids = names.map { ModelID(zone: zone, name: $0) }
                found += try await make(ModelCall(.fetch(ids, keys: nil), in: id, by: user))
            }
        }
        for place in tokens.indices {
            let token = tokens[place].model
            var user = 0
            if case .own(let owner) = token.database { user = owner }
            let kind: ModelCall.Kind =
                if let zone = token.zone {
                    .changes(zone: zone, token: place, limit: nil)
                } else {
                    .databaseChanges(token: place, limit: nil)
                }
            found += try await make(ModelCall(kind, in: token.database, by: user))
        }
        return found
    }

    package mutating func make(_ call: ModelCall) async throws -> [String] {
        counts["call", default: 0] += 1
        var text: String?
        switch call.kind {
        case .changes(_, let token?, _), .databaseChanges(let token?, _):
            text = tokens[token].text
        default: break
        }
        let before = model
        let seen = try await driver.perform(call, token: text)
        let found = compare(call, seen)
        if found.isEmpty { return found }
        let zones =
            switch call.kind {
            case .batch(let batch): batch.zones
            case .move(let ids, let zone): Set(ids.map(\.zone)).sorted() + [zone]
            default: [String]()
            }
        return found + zones.map { "\($0) was: \(before.describe($0, in: call.database))" }
    }

    private mutating func compare(_ call: ModelCall, _ seen: SeenAnswer) -> [String] {
        let id = call.database
        book.begin(id, call.caller)
        switch (call.kind, seen) {
        case (.reopen, .done): break
        case (.zoneNames, .zoneNames(let names)):
            book.compare("zones", Set(names), model.zoneNames(in: id))
        case (.purge(let user), .done): model.purge(user)
        case (.zones(let saving, let deleting, let reason), _):
            let answer = model.modifyZones(
                saving: saving, deleting: deleting, reason: reason, in: id, by: call.caller)
            book.compare(seen, answer)
        case (.batch(let batch), _):
            let answer = model.modify(batch, in: id, by: call.caller)
            count(answer)
            book.compare(seen, answer)
        case (.fetch(let ids, let keys), .fetched(let results)):
            book.compare(
                results, model.fetch(ids, keys: keys, in: id), isPartial: keys != nil)
        case (.move(let ids, let zone), _):
            book.compare(seen, model.move(ids, to: zone, in: id, by: call.caller))
        case (.list(let zone, let type), _):
            book.compare(seen, model.list(zone, type: type, in: id))
        case (.changes(let zone, let place, let limit), _):
            judgeChanges(call, zone, place, limit, seen)
        case (.databaseChanges(let place, let limit), _):
            judgeDatabaseChanges(call, place, limit, seen)
        default: book.fail("an answer of another kind: \(seen)")
        }
        for (handle, copy) in book.copies { hold(handle, copy, in: id) }
        return book.differences.isEmpty ? [] : book.differences + ["at \(call)"]
    }

    private mutating func count(_ answer: Result<ModelBatchAnswer, ModelFailure>) {
        switch answer {
        case .failure(let failure): counts["call \(failure.code)", default: 0] += 1
        case .success(let answer):
            for failure in answer.failures.values {
                counts["item \(failure.code)", default: 0] += 1
            }
            let items = answer.saves.count + answer.deletes.count
            counts["item stored", default: 0] += items - answer.failures.count
        }
    }

    /// Clients forget: what is held is a sample of all that was ever answered.
    private mutating func hold(_ handle: Int, _ copy: ModelCopy, in id: ModelDatabaseID) {
        guard !(known[id] ?? []).contains(copy) else { return }
        driver.hold(handle, as: copy)
        let most = 100
        if known[id, default: []].count < most {
            known[id, default: []].append(copy)
        } else {
            known[id]?[generator.below(most)] = copy
        }
    }

    private mutating func hold(_ token: ModelToken, _ text: String) {
        let most = 40
        if tokens.count < most {
            tokens.append((token, text))
        } else {
            tokens[generator.below(most)] = (token, text)
        }
    }
}

// Feeds.
extension ModelRun {
    private mutating func judgeChanges(
        _ call: ModelCall, _ zone: String, _ place: Int?, _ limit: Int?, _ seen: SeenAnswer
    ) {
        let id = call.database
        let token = place.map { tokens[$0].model }
        let expected = model.changes(of: zone, since: token, in: id)
        counts["page", default: 0] += 1
        guard let (feed, page) = book.both(expected, seen.changes, seen) else { return }
        book.compare(page, feed, limit: limit, isFirst: token == nil)
        if page.moreComing { book.compareMoved(page.token, place.map { tokens[$0].text }) }
        let names = page.modified.map(\.id.name) + page.deleted.map(\.id.name)
        let next = model.token(
            after: token ?? model.beginning(of: zone, in: id), naming: names,
            moreComing: page.moreComing)
        hold(next, page.token)
    }

    private mutating func judgeDatabaseChanges(
        _ call: ModelCall, _ place: Int?, _ limit: Int?, _ seen: SeenAnswer
    ) {
        let id = call.database
        let token = place.map { tokens[$0].model }
        let expected = model.databaseChanges(since: token, in: id)
        counts["page", default: 0] += 1
        guard let (feed, page) = book.both(expected, seen.databaseChanges, seen) else { return }
        book.compare(page, feed, limit: limit)
        if page.moreComing { book.compareMoved(page.token, place.map { tokens[$0].text }) }
        let next = model.token(
            after: token?.taken(as: id) ?? model.beginning(of: nil, in: id),
            naming: page.modified + page.deleted.map(\.zone), moreComing: page.moreComing)
        hold(next, page.token)
    }
}

extension SeenAnswer {
    fileprivate var changes: SeenChanges? {
        if case .changes(let changes) = self { changes } else { nil }
    }

    fileprivate var databaseChanges: SeenDatabaseChanges? {
        if case .databaseChanges(let changes) = self { changes } else { nil }
    }
}
