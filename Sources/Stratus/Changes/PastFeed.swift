internal import StratusIndex
internal import StratusJournal

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
    func places() throws(StoreError) -> [EntryPlace] {
        guard since.rawValue < end.rawValue else { return [] }
        var places: [EntryPlace] = []
        let all = KeySpace.feed.range(zone: zone.number)
        let later = IndexKey.feed(zone.number, Version(rawValue: end.rawValue + 1))
        let first = IndexKey.feed(zone.number, Version(rawValue: since.rawValue + 1))
        try reading.scan(first..<later) { _, value in
            places.append(EntryPlace(value))
            return places.count <= limit
        }
        try reading.scan(later..<all.upperBound) { _, value throws(StoreError) in
            if let place = try place(before: EntryPlace(value)) { places.append(place) }
            // However much was changed, no more is held than two pages.
            if places.count > limit * 2 + 2 { keepFirst(of: &places) }
            return true
        }
        keepFirst(of: &places)
        return places
    }

    private func keepFirst(of places: inout [EntryPlace]) {
        places.sort { $0.version.rawValue < $1.version.rawValue }
        places.removeLast(max(0, places.count - limit - 1))
    }

    /// What the record at `place`, which was changed behind the end, was there; nil where it was
    /// not, or lies before the page.
    private func place(before place: EntryPlace) throws(StoreError) -> EntryPlace? {
        var entry = try reading.entry(place)
        while true {
            let previous = try previous(of: entry)
            if previous.rawValue <= since.rawValue { return nil }
            guard let before = try reading.keptEntry(at: previous.offset),
                before.version == previous, before.zone == zone.number,
                before.offset < entry.offset
            else {
                throw StoreError(
                    .changeTokenExpired, "what was there at the token is not kept any more")
            }
            if previous.rawValue <= end.rawValue {
                let isDeleted = before.kind == .tombstone
                return EntryPlace(before.header, at: before.offset, isDeleted: isDeleted)
            }
            entry = before
        }
    }

    private func previous(of entry: JournalEntry) throws(StoreError) -> Version {
        guard entry.kind == .tombstone else { return try entry.recordHead().head.previous }
        guard let tombstone = entry.withPayload({ try? Tombstone($0) }) else {
            throw StoreError(.damagedPayload(entry.offset))
        }
        return tombstone.previous
    }
}
