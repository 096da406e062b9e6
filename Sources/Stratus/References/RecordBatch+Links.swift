internal import StratusBytes
internal import StratusJournal
internal import StratusEngine

// What can be checked only once all items are encoded: the state that the batch leaves behind.
extension RecordBatch {
    /// Encodes the items and what goes along with them. What fails here fails an atomic batch.
    /// Returns the items without which any other is to be checked again, so that what depends on
    /// them says why.
    func encode(
        _ encoder: inout RecordEncoder, _ parents: ParentCheck,
        _ draft: inout Draft, sink: PartSink
    ) throws(EngineError) -> [Int: StoreError] {
        try encoder.encode(&draft, sink: sink)
        if encoder.needsSerial { return [:] }
        if encoder.links.isEmpty {
            // What was to be shared is judged again without what could not be encoded.
            if !isAtomic, encoder.sharing?.isEmpty == false, !encoder.failures.isEmpty {
                return encoder.failures
            }
            let late = try duplicates(encoder, &draft)
            if late.isEmpty {
                try encoder.encodeSharing(&draft, sink: sink) { _ in true }
                try encoder.endMatches(&draft, sink: sink)
            }
            return finish(&encoder, late, &draft)
        }
        var late = encoder.failures
        if !isAtomic { late.merge(try parents.failures(after: draft)) { first, _ in first } }
        if late.isEmpty || isAtomic {
            late.merge(try addCascade(&encoder, parents, &draft, sink: sink)) { first, _ in first }
        }
        if encoder.needsSerial { return [:] }
        if late.isEmpty { try encoder.endMatches(&draft, sink: sink) }
        return finish(&encoder, late, &draft)
    }

    private func finish(
        _ encoder: inout RecordEncoder, _ late: [Int: StoreError], _ draft: inout Draft
    ) -> [Int: StoreError] {
        for (index, error) in late {
            draft.results[index] = .failed(error.with(items[index].recordID))
        }
        encoder.finish(&draft)
        return isAtomic ? [:] : late
    }

    /// Checks parents and cascade targets, and adds what goes along with deletions. Returns what
    /// fails.
    private func addCascade(
        _ encoder: inout RecordEncoder, _ parents: ParentCheck, _ draft: inout Draft, sink: PartSink
    ) throws(EngineError) -> [Int: StoreError] {
        let context = encoder.context
        let (links, reading) = (encoder.links, encoder.reading)
        var check = LinkCheck(
            links, of: self, reading, zone: encoder.zone.number, parents.sight,
            cascadeLimit: context.partLimit / (context.isSerial ? 128 : 1024))
        if links.saves.contains(where: { !$0.validated.isEmpty }) {
            for (item, result) in zip(items, draft.results) {
                guard case .save(let record, _) = item, isAtomic || !result.hasFailed else {
                    continue
                }
                check.saved.insert(reading.hash(record.recordID.recordName))
            }
        }
        try check.run()
        for change in encoder.sharing?.changes ?? []
        where change.kind == .creation && check.goneNames.contains(change.root(reading)) {
            check.fail(change.item, .rootNotSaved)
        }
        draft.readSet += check.readSet
        draft.readRanges += check.readRanges
        guard check.isLong else {
            guard check.failures.isEmpty else { return check.failures }
            try encoder.encode(cascade: check.cascade, &draft, sink: sink)
            if encoder.needsSerial { return [:] }
            let gone = encoder.gone
            try encoder.encodeSharing(&draft, sink: sink) { !gone.contains($0) }
            return try duplicates(encoder, &draft)
        }
        guard context.isSerial else {
            encoder.giveUp()
            return [:]
        }
        // What a participant does not see stays, of which a long cascade knows nothing.
        guard parents.sight.access == nil else { throw .refused(.cascadeTooLong) }
        let late = try addLongCascade(&encoder, &draft, sink: sink)
        return check.failures.merging(late) { first, _ in first }
    }

    private func addLongCascade(
        _ encoder: inout RecordEncoder, _ draft: inout Draft, sink: PartSink
    ) throws(EngineError) -> [Int: StoreError] {
        let links = encoder.links
        let start = encoder.reading.head
        let reading = try encoder.flush(&draft, sink: sink)
        var cascade = LongCascade(
            in: encoder.zone, by: encoder.author, encoder.context, reading, commitStart: start,
            wasEverShared: encoder.wasEverShared, encoder.matcher.take(), encoder.anchorZone)
        draft.buffer = try cascade.run(links.deletes, sink)
        encoder.matcher = cascade.takeMatcher()
        try encoder.encodeSharing(&draft, sink: sink) { name throws(EngineError) in
            try cascade.isThere(name)
        }
        var failures: [Int: StoreError] = [:]
        for change in encoder.sharing?.changes ?? [] where change.kind == .creation {
            if !change.entry.isZoneWide, try !cascade.isThere(change.root(reading)) {
                failures[change.item] = .rootNotSaved
            }
        }
        for item in cascade.failedDeletes { failures[item] = .parentOfOthers }
        for save in links.saves {
            if cascade.savesThatGo.contains(save.name) { failures[save.item] = .targetGoes }
            for target in save.validated {
                if try !cascade.isThere(target) { failures[save.item] = .targetMissing }
            }
        }
        guard failures.isEmpty else { return failures }
        return try duplicates(encoder, &draft) { name throws(EngineError) in
            try cascade.isThere(name)
        }
    }
}
