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
        try reading.entry(before: reading.entry(place), at: end, after: since, in: zone).map {
            EntryLocation($0.header, at: $0.offset, isDeleted: $0.kind == .tombstone)
        }
    }
}

extension StoreReading {
    /// Where the latest entries lie of the names that were changed in a zone after a version, in the
    /// order of the feed; nil where they are more than `limit`.
    func changed(
        in zone: ZonePlace, after version: Version, upTo limit: Int
    ) throws(EngineError) -> [EntryLocation]? {
        var changed: [EntryLocation] = []
        let all = KeySpace.feed.range(zone: zone.number)
        let first = IndexKey.feed(zone.number, Version(rawValue: version.rawValue + 1))
        try scan(first..<all.upperBound) { _, value in
            changed.append(EntryLocation(value))
            return changed.count <= limit
        }
        return changed.count <= limit ? changed : nil
    }

    /// What the record or tombstone `entry` of a zone, which came after `end`, was there: the last entry
    /// of its name; nil where there was none, or none after `version`.
    ///
    /// - Throws: ``StoreError`` with `changeTokenExpired` where it is not kept any more.
    func entry(
        before entry: JournalEntry, at end: Version, after version: Version, in zone: ZonePlace
    ) throws(EngineError) -> JournalEntry? {
        var entry = entry
        while let before = try self.entry(replacedBy: entry, after: version) {
            if before.version.rawValue <= end.rawValue { return before }
            entry = before
        }
        guard !isRestored(entry.version, in: zone) else { throw .refused(.notKeptSince) }
        return nil
    }

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

    private func versionReplaced(by entry: JournalEntry) throws(EngineError) -> Version {
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

extension StoreError {
    static let notKeptSince = expired(
        .compacted, "what was there at the token is not kept any more")
}
