/// A zone as a batch would leave it: saves, deletes, cascades, and what must not be in the end.
struct ModelState {
    /// What would live.
    private(set) var records: [String: ModelRecord]
    /// What was saved.
    private(set) var saved: [String: ModelRecord] = [:]
    /// What was saved though it belongs to something that goes.
    private(set) var doomed: Set<String> = []
    /// For what is gone: the delete that took it. Where several would, one of them, and the next
    /// once that one is refused.
    private(set) var takers: [String: String] = [:]
    /// What must be there in the end, by the record that says so.
    private var validated: [String: [String]] = [:]
    /// What is saved in the same call, whatever becomes of it.
    private let promised: Set<String>
    private let before: [String: ModelRecord]
    /// Before anything was deleted.
    private var whole: [String: ModelRecord] = [:]

    init(
        _ zone: ModelZone, _ saves: [ModelSave], _ deletes: [ModelDelete], by caller: Int,
        promised: Set<String> = []
    ) {
        self.promised = promised
        before = zone.records
        records = zone.records
        for save in saves {
            let record = save.record(over: before[save.copy.id.name], by: caller)
            saved[record.id.name] = record
            let sent = save.sentReferences(over: before[record.id.name])
            validated[record.id.name] = sent.filter { $0.action == .validate }.map(\.target.name)
            records[record.id.name] = record
        }
        whole = records
        follow(deletes.map(\.id.name).filter { before[$0] != nil })
        for name in takers.keys { records[name] = nil }
    }

    /// Finds what goes with deleted records: semantics 3.3.
    ///
    /// A record that is saved in the same batch does not go but is refused: what is acknowledged
    /// as saved must be there.
    private mutating func follow(_ deleted: [String]) {
        for name in deleted { takers[name] = name }
        var queue = deleted.map { (name: $0, taker: $0) }
        var next = 0
        while next < queue.count {
            let (target, taker) = queue[next]
            next += 1
            let sources = whole.values.filter { source in
                source.fields.values.flatMap(\.references).contains {
                    $0.action == .deleteSelf && $0.target.name == target
                }
            }
            for source in sources.map(\.id.name).sorted() {
                if saved[source] != nil {
                    doomed.insert(source)
                } else if takers[source] == nil {
                    takers[source] = taker
                    queue.append((source, taker))
                }
            }
        }
    }

    /// Deletes that would leave a record without its parent: semantics 3.5.
    var blockedDeletes: [String: ModelFailure] {
        var blocked: [String: ModelFailure] = [:]
        for record in records.values {
            guard let parent = record.parent?.name, records[parent] == nil else { continue }
            if let taker = takers[parent] { blocked[taker] = ModelFailure(.referenceViolation) }
        }
        return blocked
    }

    /// What may not stay as it is, deletes and saves.
    var violations: [String: ModelFailure] {
        var violations = blockedDeletes
        let cyclic = cyclic
        for (name, record) in saved {
            if cyclic.contains(name) {
                violations[name] = ModelFailure(.invalidArguments)
            } else if doomed.contains(name) {
                violations[name] = ModelFailure(.referenceViolation)
            } else if let failure = failure(of: record) {
                violations[name] = failure
            }
        }
        return violations
    }

    private func failure(of record: ModelRecord) -> ModelFailure? {
        if let parent = record.parent?.name, !isThere(parent), takers[parent] == nil {
            return ModelFailure(.referenceViolation)
        }
        let isDangling = validated[record.id.name, default: []].contains { !isThere($0) }
        return isDangling ? ModelFailure(.referenceViolation) : nil
    }

    private func isThere(_ name: String) -> Bool {
        records[name] != nil || (promised.contains(name) && takers[name] == nil)
    }

    /// What was saved with another parent than before and is now its own ancestor.
    var cyclic: Set<String> {
        var cyclic: Set<String> = []
        for (name, record) in saved where record.parent != before[name]?.parent {
            var seen: Set<String> = []
            var next = record.parent?.name
            while let ancestor = next, seen.insert(ancestor).inserted {
                if ancestor == name { cyclic.insert(name) }
                next = whole[ancestor]?.parent?.name
            }
        }
        return cyclic
    }
}
