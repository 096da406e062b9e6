internal import StratusBytes
internal import StratusJournal

// What can be checked only once all items are encoded: the state that the batch leaves behind.
extension RecordBatch {
    /// Encodes the items and what goes along with them. What fails here fails an atomic batch; any
    /// other is checked again with it as failed, so that what depends on it says why.
    func encode(
        _ encoder: inout RecordEncoder, _ parents: ParentCheck,
        _ preparation: inout Preparation, sink: PartSink
    ) throws(StoreError) {
        try encoder.encode(&preparation, sink: sink)
        if preparation.needsCommitter { return }
        if encoder.links.isEmpty { return encoder.finish(&preparation) }
        var late = encoder.failures
        if !isAtomic { late.merge(try parents.failures(after: preparation)) { first, _ in first } }
        if late.isEmpty || isAtomic {
            late.merge(try addCascade(&encoder, &preparation, sink: sink)) { first, _ in first }
        }
        if preparation.needsCommitter { return }
        for (index, error) in late {
            preparation.results[index] = .failed(error.with(items[index].recordID))
        }
        if !isAtomic { preparation.again = again(without: late) }
        encoder.finish(&preparation)
    }

    /// Checks parents and owners, and adds what goes along with deletions. Returns what fails.
    private func addCascade(
        _ encoder: inout RecordEncoder, _ preparation: inout Preparation, sink: PartSink
    ) throws(StoreError) -> [Int: StoreError] {
        let role = encoder.role
        let (links, reading) = (encoder.links, encoder.reading)
        var check = LinkCheck(
            links, reading, zone: encoder.zone.number,
            cascadeLimit: role.partLimit / (role.isCommitter ? 128 : 1024),
            ownerLimit: limits?.profile.referencesPerTarget)
        if links.saves.contains(where: { !$0.validated.isEmpty }) {
            for (item, result) in zip(items, preparation.results) {
                guard case .save(let record, _) = item, isAtomic || !result.hasFailed else {
                    continue
                }
                check.saved.insert(reading.hash(record.recordID.recordName))
            }
        }
        try check.run()
        preparation.readSet += check.readSet
        preparation.readRanges += check.readRanges
        guard check.isLong else {
            if check.failures.isEmpty {
                try encoder.encode(cascade: check.cascade, &preparation, sink: sink)
            }
            return check.failures
        }
        guard role.isCommitter else {
            preparation.needsCommitter = true
            return [:]
        }
        let late = try addLongCascade(&encoder, &preparation, sink: sink)
        return check.failures.merging(late) { first, _ in first }
    }

    private func addLongCascade(
        _ encoder: inout RecordEncoder, _ preparation: inout Preparation, sink: PartSink
    ) throws(StoreError) -> [Int: StoreError] {
        let links = encoder.links
        let start = encoder.reading.head
        let reading = try encoder.flush(&preparation, sink: sink)
        var cascade = LongCascade(
            in: encoder.zone, by: encoder.user, encoder.role, reading, commitStart: start)
        preparation.buffer = try cascade.run(links.deletes, sink)
        var failures: [Int: StoreError] = [:]
        for item in cascade.failedDeletes { failures[item] = .parentOfOthers }
        for save in links.saves {
            if cascade.savesThatGo.contains(save.name) { failures[save.item] = .ownerGoes }
            for target in save.validated {
                if try !cascade.isThere(target) { failures[save.item] = .targetMissing }
            }
        }
        return failures
    }
}
