internal import StratusEngine
internal import StratusIndex
internal import StratusJournal

/// What a zone or database subscription may be told of: what has changed in a zone behind an offset.
struct ZoneChanges {
    let zone: ZonePlace
    /// Of the records that count; nil: everything in the zone does, and the zone itself.
    let type: String?
    let since: JournalOffset
    let reading: StoreReading
    /// Zones of the same name that are gone, and came before it.
    var former: [ZonePlace] = []

    init(
        _ zone: ZonePlace, ofType type: String, since: JournalOffset, _ reading: StoreReading
    ) {
        self.zone = zone
        self.type = type.isEmpty ? nil : type
        self.since = since
        self.reading = reading
    }

    /// The last change; nil where there was none.
    ///
    /// - Parameters:
    ///   - device: what it changed does not count. Takes the longer the more that was.
    ///   - entriesLeft: so many entries may be read, less those that were. Where that is not enough, the
    ///     last change of all counts.
    func last(
        notBy device: UInt64? = nil, _ entriesLeft: inout Int
    ) throws(EngineError) -> JournalOffset? {
        var last = since
        // That a zone is gone concerns every type.
        let ends = zone.isAlive && type != nil ? former : former + [zone]
        for end in ends where end.offset > last {
            let author = device == nil ? nil : try reading.zoneEntry(end).device
            if device == nil || author != device { last = end.offset }
        }
        if zone.isAlive {
            // Of deletions that are forgotten it is not known of which type they were, nor whose.
            last = max(last, try reading.horizon(of: zone).offset)
            if type == nil, device == nil {
                let feed = KeySpace.feed.range(zone: zone.number)
                last = max(last, try reading.lastChange(in: feed).offset)
            } else {
                last = try lastRecord(behind: last, notBy: device, &entriesLeft)
            }
        }
        return last > since ? last : nil
    }

    /// The last offset behind `start` where a record that counts was saved or deleted; `start` where
    /// none was. A record that another device changed, too, counts with its last change of all devices.
    private func lastRecord(
        behind start: JournalOffset, notBy device: UInt64?, _ entriesLeft: inout Int
    ) throws(EngineError) -> JournalOffset {
        var number: UInt32?
        if let type {
            number = reading.schema.number(type)
            if number == nil { return start }
        }
        let all = KeySpace.feed.range(zone: zone.number)
        var last = start
        var newest: JournalOffset?
        try reading.scan(all, .backward) { _, value throws(EngineError) in
            let place = EntryLocation(value)
            guard place.offset > last else { return false }
            newest = newest ?? place.offset
            entriesLeft -= 1
            if entriesLeft < 0 {
                last = newest ?? place.offset
                return false
            }
            let found = try reading.changedRecord(reading.entry(place))
            guard let number, found.type != number else {
                if let device, try reading.isOnly(of: device, found, since: since) { return true }
                last = place.offset
                return false
            }
            // A record of the type may have had the name before.
            let key = IndexKey.type(zone.number, number, reading.hash(found.name))
            guard let value = try reading.value(key) else { return true }
            let former = EntryLocation(value)
            guard former.isDeleted, former.offset > last else { return true }
            if let device {
                let deletion = try reading.changedRecord(reading.entry(former))
                if try reading.isOnly(of: device, deletion, since: since) { return true }
            }
            last = former.offset
            return true
        }
        return last
    }
}

/// What has changed for a participant behind an offset, in a zone of another user.
struct SharedZoneChanges {
    let shared: SharedZone
    /// The number of the type of the records that count; nil: all do.
    private let type: UInt32?
    /// Whether no record can count.
    private let isEmpty: Bool
    private let since: Version
    private let reading: StoreReading

    init(
        _ shared: SharedZone, ofType type: String, since: JournalOffset, _ reading: StoreReading
    ) {
        self.shared = shared
        self.type = type.isEmpty ? nil : reading.schema.number(type)
        isEmpty = !type.isEmpty && self.type == nil
        self.since = reading.identity.version(at: since)
        self.reading = reading
    }

    /// Whether anything that counts was changed, which is known of a zone that was. Where it cannot be
    /// told any more, it was.
    ///
    /// - Parameters:
    ///   - device: what it changed does not count. Takes the longer the more that was.
    ///   - entriesLeft: so many entries may be read, less those that were. Where that is not enough,
    ///     something was changed.
    func hasAny(
        notBy device: UInt64? = nil, _ entriesLeft: inout Int
    ) throws(EngineError) -> Bool {
        if isEmpty { return false }
        if type == nil, device == nil { return true }
        // Who ended a part, and took its records out of sight, is not known.
        let hasLost = shared.parts.contains { $0.end.map { $0 > since } ?? false }
        var token = ChangeToken(
            participant: shared.user, in: shared.zone.number, at: since, of: reading.identity)
        do throws(EngineError) {
            try token.check(against: shared.zone, for: shared.user, reading)
            while true {
                var feed = try SharedFeed(
                    shared, since: token, head: reading.lastVersion, Page(nil), reading)
                try feed.run()
                for change in feed.changes {
                    entriesLeft -= 1
                    if entriesLeft < 0 { return true }
                    let found = try reading.changedRecord(
                        at: change.entry, ordinal: change.ordinal)
                    if let type, found.type != type { continue }
                    var isOwn = false
                    if let device {
                        isOwn = try reading.isOnly(of: device, found, since: since.offset)
                    }
                    if !isOwn || change.record == nil && hasLost { return true }
                }
                if feed.isAtEnd { return false }
                token.goOn(
                    feed.round, isAtEnd: false, moreComing: true, head: reading.lastVersion,
                    of: reading.identity)
            }
        } catch {
            if error.wouldBlock || StoreError(error).code != .changeTokenExpired { throw error }
            return true
        }
    }
}
