// Whole answers.
extension ModelBook {
    mutating func compare(
        _ seen: SeenAnswer, _ expected: Result<RecordModel.ZoneAnswer, ModelFailure>
    ) {
        var answer: RecordModel.ZoneAnswer?
        if case .zones(let saves, let deletes) = seen {
            answer = (
                saves.mapValues { $0.map(ModelFailure.init) },
                deletes.mapValues { $0.map(ModelFailure.init) }
            )
        }
        guard let (expected, found) = both(expected, answer, seen) else { return }
        compare("saved zones", found.saves, expected.saves)
        compare("deleted zones", found.deletes, expected.deletes)
    }

    mutating func compare(
        _ seen: SeenAnswer, _ expected: Result<ModelBatchAnswer, ModelFailure>
    ) {
        var answer:
            (saves: [ModelID: Result<SeenRecord, SeenFailure>], deletes: [ModelID: SeenFailure?])?
        if case .batch(let saves, let deletes) = seen { answer = (saves, deletes) }
        guard let (expected, found) = both(expected, answer, seen) else { return }
        compare("saved", Set(found.saves.keys), Set(expected.saves.keys))
        compare("deleted", Set(found.deletes.keys), Set(expected.deletes.keys))
        // In the order of their making, since dates are compared with the ones before.
        for (id, result) in expected.saves.sorted(by: { $0.key < $1.key }) {
            compare("save of \(id)", found.saves[id], result, isPartial: false)
        }
        for (id, failure) in expected.deletes.sorted(by: { $0.key < $1.key }) {
            compare("delete of \(id)", found.deletes[id] ?? nil, failure)
        }
    }

    mutating func compare(
        _ seen: [ModelID: Result<SeenRecord, SeenFailure>], _ expected: [ModelID: ModelResult],
        isPartial: Bool
    ) {
        compare("fetched", Set(seen.keys), Set(expected.keys))
        for (id, result) in expected.sorted(by: { $0.key < $1.key }) {
            compare("fetch of \(id)", seen[id], result, isPartial: isPartial)
        }
    }

    mutating func compare(_ seen: SeenAnswer, _ expected: RecordModel.MoveAnswer) {
        switch (seen, expected) {
        case (.moved(let found), .moved(let records)):
            compare("moved", found.map(\.id), records.map(\.id))
            for (found, record) in zip(found, records) { compare(found, record) }
        case (.refused(let failure), .refused(let codes)):
            if !codes.contains(where: { $0.rawValue == failure.code }) {
                fail("the move: \(failure.code) (\(failure.text)), and should be \(codes)")
            }
        default: fail("the move should be \(expected): \(seen)".prefix(300).description)
        }
    }

    mutating func compare(
        _ seen: SeenAnswer, _ expected: Result<[ModelID: ModelRecord], ModelFailure>
    ) {
        var listed: [SeenRecord]?
        if case .listed(let records) = seen { listed = records }
        guard let (expected, found) = both(expected, listed, seen) else { return }
        compare("listed", found.map(\.id).sorted(), expected.keys.sorted())
        for record in found {
            if let expected = expected[record.id] { compare(record, expected) }
        }
    }
}

// Feeds.
extension ModelBook {
    mutating func compare(
        _ page: SeenChanges, _ feed: ModelFeed, limit: Int?, isFirst: Bool
    ) {
        compare("full snapshot", page.isFullSnapshot, isFirst)
        comparePage(
            page.modified.map(\.id.name), page.deleted.map(\.id.name),
            Set(feed.modified.keys), Set(feed.deleted.keys), limit: limit,
            moreComing: page.moreComing)
        for record in page.modified {
            if let expected = feed.modified[record.id.name] { compare(record, expected) }
        }
        for deletion in page.deleted {
            let name = deletion.id.name
            if let type = feed.deleted[name] {
                compare("\(name) was deleted as", deletion.type, type)
            }
        }
    }

    mutating func compare(_ page: SeenDatabaseChanges, _ feed: ModelDatabaseFeed, limit: Int?) {
        comparePage(
            page.modified, page.deleted.map(\.zone), feed.modified, Set(feed.deleted.keys),
            limit: limit, moreComing: page.moreComing)
        for deletion in page.deleted {
            if let reason = feed.deleted[deletion.zone] {
                compare("reason", deletion.reason, reason.rawValue)
            }
        }
    }

    /// Whether a page is part of a feed, and all of it where nothing more is coming.
    private mutating func comparePage(
        _ modified: [String], _ deleted: [String], _ allModified: Set<String>,
        _ allDeleted: Set<String>, limit: Int?, moreComing: Bool
    ) {
        let names = modified + deleted
        compare("named twice", names.sorted(), Set(names).sorted())
        if let limit, names.count > limit { fail("\(names.count) in a page of \(limit)") }
        if moreComing {
            compare("not modified", Set(modified).subtracting(allModified), [])
        } else {
            compare("modified", Set(modified), allModified)
            compare("deletions left out", allDeleted.subtracting(deleted), [])
        }
        compare("not deleted", Set(deleted).subtracting(allDeleted), [])
    }
}

extension ModelFailure {
    fileprivate init(_ seen: SeenFailure) {
        self.init(ModelCode(rawValue: seen.code) ?? .internalError)
    }
}
