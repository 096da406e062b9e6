// Saves and deletes: semantics 2 and 3.
extension RecordModel {
    /// What the call as a whole is refused for: semantics 2.4, checks 1 to 3.
    func refusal(of batch: ModelBatch, by caller: Int?) -> ModelFailure? {
        if caller == nil { return ModelFailure(.notAuthenticated) }
        if let most = limits.itemsPerCall, batch.ids.count > most {
            return ModelFailure(.limitExceeded)
        }
        if Set(batch.ids).count < batch.ids.count { return ModelFailure(.invalidArguments) }
        return nil
    }

    package mutating func modify(
        _ batch: ModelBatch, in id: ModelDatabaseID, by caller: Int?
    ) -> Result<ModelBatchAnswer, ModelFailure> {
        if let refusal = refusal(of: batch, by: caller) { return .failure(refusal) }
        var answer = ModelBatchAnswer()
        guard let caller else { return .success(answer) }
        let name = batch.operationID.map { ModelOperation.Name(caller: caller, id: $0) }
        let operation = name.flatMap { operations[$0] }
        if let operation, !operation.isRepeated(by: batch, in: id) {
            return .failure(ModelFailure(.invalidArguments))
        }
        for zone in batch.zones {
            let part: ModelBatchAnswer
            if let incarnation = database(id).zones[zone]?.incarnation,
                let known = operation?.answers[incarnation]
            {
                part = known
            } else {
                let before = time
                part = modify(zone: zone, batch.part(in: zone), in: id, by: caller)
                if let name, time > before,
                    let incarnation = database(id).zones[zone]?.incarnation
                {
                    operations[name, default: ModelOperation(batch, in: id)]
                        .answers[incarnation] = part
                }
            }
            answer.saves.merge(part.saves) { $1 }
            answer.deletes.merge(part.deletes) { $1 }
        }
        return .success(answer)
    }

    /// The part of a call in one zone, which is one transaction.
    mutating func modify(
        zone name: String, _ batch: ModelBatch, in id: ModelDatabaseID, by caller: Int
    ) -> ModelBatchAnswer {
        guard let zone = database(id).zones[name] else {
            return ModelBatchAnswer(failing: batch, with: database(id).missing(name))
        }
        var transaction = ModelTransaction(
            zone, batch, by: caller, isPublic: id == .everybodys, at: time, history: history)
        transaction.decide()
        let isRefused = batch.isAtomic && zone.hasCapabilities && !transaction.failures.isEmpty
        guard !isRefused else { return transaction.refused }
        let (changed, answer) = transaction.applied
        guard changed.time > time else { return answer }
        time = changed.time
        writers.insert(caller)
        databases[id, default: ModelDatabase()].zones[name] = changed.zone
        if zone.hasCapabilities {
            databases[id]?.changes[name] = ModelDatabase.Change(time: time)
        }
        for case .success(let record) in answer.saves.values { history[record.revision] = record }
        return answer
    }
}

extension ModelBatchAnswer {
    /// Every item of it fails for the same reason.
    init(failing batch: ModelBatch, with failure: ModelFailure) {
        for save in batch.saves { saves[save.copy.id] = .failure(failure) }
        for delete in batch.deletes { deletes[delete.id] = .some(failure) }
    }
}

/// What was recorded of a call that had a name: design 9.
struct ModelOperation: Sendable {
    struct Name: Hashable, Sendable {
        var caller: Int
        var id: String
    }

    private let batch: ModelBatch
    private let database: ModelDatabaseID
    /// Of the zones in which it changed anything, by their incarnations.
    var answers: [Int: ModelBatchAnswer] = [:]

    init(_ batch: ModelBatch, in database: ModelDatabaseID) {
        self.batch = batch
        self.database = database
    }

    func isRepeated(by other: ModelBatch, in database: ModelDatabaseID) -> Bool {
        self.database == database && batch.isSame(as: other)
    }
}
