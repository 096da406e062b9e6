internal import StratusIndex
internal import StratusJournal
internal import StratusEngine

/// The feed of a zone as it was at an earlier point: what changed since then is traced back to what
/// it was, entry by entry, so a page costs what was changed after the point.
struct PastFeed {
    let reading: StoreReading
    let zone: ZonePlace
    let since: Version
    let end: Version
    let limit: Int

    /// The first entries of the feed behind ``since``, one more than fit into a page where there
    /// are more.
    func places() throws(EngineError) -> [EntryLocation] {
        guard since.rawValue < end.rawValue else { return [] }
        var places: [EntryLocation] = []
        let all = KeySpace.feed.range(zone: zone.number)
        let later = IndexKey.feed(zone.number, Version(rawValue: end.rawValue + 1))
        let first = IndexKey.feed(zone.number, Version(rawValue: since.rawValue + 1))
        try reading.scan(first..<later) { _, value in
            places.append(EntryLocation(value))
            return places.count <= limit
        }
        try reading.scan(later..<all.upperBound) { _, value throws(EngineError) in
            if let place = try place(before: EntryLocation(value)) { places.append(place) }
            // However much was changed, no more is held than two pages.
            if places.count > limit * 2 + 2 { keepFirst(of: &places) }
            return true
        }
        keepFirst(of: &places)
        return places
    }

    private func keepFirst(of places: inout [EntryLocation]) {
        places.sort { $0.version.rawValue < $1.version.rawValue }
        places.removeLast(max(0, places.count - limit - 1))
    }

    /// What the record at `place`, which was changed behind the end, was there; nil where it was
    /// not, or lies before the page.
    private func place(before place: EntryLocation) throws(EngineError) -> EntryLocation? {
        var entry = try reading.entry(place)
        while let before = try reading.entry(replacedBy: entry, after: since) {
            if before.version.rawValue <= end.rawValue {
                let isDeleted = before.kind == .tombstone
                return EntryLocation(before.header, at: before.offset, isDeleted: isDeleted)
            }
            entry = before
        }
        guard !reading.isRestored(entry.version, in: zone) else { throw .refused(.notKeptSince) }
        return nil
    }
}

extension StoreReading {
    /// The entry of the same name and zone that `entry`, a record or a tombstone, replaced; nil
    /// where there was none, or none after `version`.
    ///
    /// - Throws: ``StoreError`` with `changeTokenExpired` where it is not kept any more.
    func entry(
        replacedBy entry: JournalEntry, after version: Version
    ) throws(EngineError) -> JournalEntry? {
        guard try versionReplaced(by: entry).rawValue > version.rawValue else { return nil }
        guard let before = try keptEntry(replacedBy: entry) else {
            throw .refused(.notKeptSince)
        }
        return before
    }

    /// The same; nil also where it is not kept any more.
    func keptEntry(replacedBy entry: JournalEntry) throws(EngineError) -> JournalEntry? {
        let version = try versionReplaced(by: entry)
        if let before = try keptEntry(of: version, in: entry.zone), before.offset < entry.offset {
            return before
        }
        // One that the zone was restored with lies elsewhere, and is found by its name.
        guard let zone = try zone(entry.zone), isRestored(version, in: zone),
            let value = try looking(from: entry.offset).value(
                .record(entry.zone, nameHash(of: entry)))
        else { return nil }
        let place = EntryLocation(value)
        return place.version == version ? try self.entry(place) : nil
    }

    fileprivate func versionReplaced(by entry: JournalEntry) throws(EngineError) -> Version {
        entry.kind == .tombstone
            ? try tombstone(entry).previous : try entry.recordHead().head.previous
    }

    func tombstone(_ entry: JournalEntry) throws(EngineError) -> Tombstone {
        guard let tombstone = entry.withPayload({ try? Tombstone($0) }) else {
            throw .damaged(entry)
        }
        return tombstone
    }
}

extension JournalEntry {
    /// Whether a record or a tombstone says that it replaces an entry.
    func replacesAny(_ reading: StoreReading) throws(EngineError) -> Bool {
        try reading.versionReplaced(by: self) != .none
    }
}

extension StoreError {
    fileprivate static let notKeptSince = expired(
        .compacted, "what was there at the token is not kept any more")
}
