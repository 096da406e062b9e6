internal import FoundationEssentials
internal import Stratus

/// The keys of a call that may be long-lived.
protocol LongLivedKey: RawRepresentable<String> {
    static var isLongLived: Self { get }
    static var operationID: Self { get }
}

extension JSONKeys where Key: LongLivedKey {
    /// The operationID of a long-lived call; nil of one that is made at once.
    ///
    /// - Parameter isNamed: whether calls that are made at once may have one, too.
    func longLivedID(isNamed: Bool = false) throws(Mismatch) -> String? {
        let isLongLived: Bool = try optional(.isLongLived) ?? false
        let id: String? = try optional(.operationID)
        if isLongLived, id == nil { try refuse(.operationID, "is missing: it is long-lived") }
        if !isLongLived, !isNamed, id != nil {
            try refuse(.operationID, "is for a call that is long-lived")
        }
        return isLongLived ? id : nil
    }
}

extension Session {
    /// Keeps a call in the store, makes it, and answers what it came to, which can be fetched
    /// again.
    func answerLongLived(
        _ request: LongLivedRequest, _ form: AnswerForm, _ operationID: String
    ) async throws(StoreError) -> JSONObject {
        _ = try user()
        let operation = try await database().submit(request, form, operationID: operationID)
        return body(of: try await operation.answer(), operation)
    }

    /// The operation that the store has under an ID, where a request is repeated: what the first one
    /// left to the store, such as the moment of `now()`, is as it was then. Nil of a call that is made
    /// at once.
    func kept(_ operationID: String?) async throws(StoreError) -> LongLivedOperation? {
        guard let operationID else { return nil }
        return try await container.keptOperation(operationID, for: try user())
    }

    /// The same session in the database of an operation.
    func session(in scope: LongLivedOperation.Scope) -> Session {
        var request = request
        request.database =
            switch scope {
            case .public: .public
            case .private: .private
            case .shared: .shared
            }
        return Session(gateway: gateway, request: request)
    }

    /// The answer of the call that an operation is.
    func body(of answer: LongLivedAnswer, _ operation: LongLivedOperation) -> JSONObject {
        let form = operation.form
        switch answer {
        case .items(let items, let outcomes): return body(of: outcomes, items, form)
        case .moved(let records): return body(moved: records)
        case .records(let ids, let results):
            return body(of: results, ids, numbersAsStrings: form.numbersAsStrings)
        case .query(let page):
            return body(
                of: page, milliseconds: form.moment, numbersAsStrings: form.numbersAsStrings)
        case .zones(let zones, let pages): return body(of: pages, zones, form)
        case .database(let page, let isFirst): return body(of: page, isFirst: isFirst)
        case .zoneItems(let items, let outcomes):
            return [
                "zones": .array(
                    zip(items, outcomes).map { item, outcome in
                        self.answer(of: outcome, item)
                    })
            ]
        case .subscriptionItems(let items, let outcomes):
            return [
                "subscriptions": .array(
                    zip(items, outcomes).map { item, outcome in
                        self.answer(of: outcome, item.id)
                    })
            ]
        }
    }

    private func body(
        of outcomes: [Result<Record?, StoreError>], _ items: [RecordItem], _ form: AnswerForm
    ) -> JSONObject {
        let writer = writer(form.desiredKeys, numbersAsStrings: form.numbersAsStrings)
        var answers: [JSONValue] = []
        for (place, (item, outcome)) in zip(items, outcomes).enumerated() {
            switch outcome {
            case .success(let record?): answers.append(writer.json(record))
            case .success(nil):
                answers.append(writer.tombstone(item.id, type: form.types[place]))
            case .failure(let error):
                answers.append(
                    self.item(
                        error, for: item.id, isCreation: form.creations.contains(place),
                        numbersAsStrings: form.numbersAsStrings))
            }
        }
        return ["records": .array(answers)]
    }

    private func body(
        of pages: [Result<RecordZoneChanges, StoreError>],
        _ zones: [LongLivedRequest.ZoneFetch], _ form: AnswerForm
    ) -> JSONObject {
        var answers: [JSONValue] = []
        for (place, (zone, page)) in zip(zones, pages).enumerated() {
            let own = place < form.zones.count ? form.zones[place] : nil
            switch page {
            case .success(let page):
                answers.append(
                    .object(
                        body(
                            of: page, zone.zoneID, isReversed: own?.isReversed ?? false,
                            numbersAsStrings: own?.numbersAsStrings ?? false)))
            case .failure(let error): answers.append(item(error, for: zone.zoneID))
            }
        }
        return ["zones": .array(answers)]
    }
}

extension RecordItem {
    fileprivate var id: Record.ID {
        switch self {
        case .save(let record, _): record.recordID
        case .delete(let id, _): id
        }
    }
}
