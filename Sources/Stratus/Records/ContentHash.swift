internal import StratusArchive
internal import StratusBytes
internal import StratusIndex
internal import StratusJournal
internal import StratusEngine

/// A hash of what a database or a zone holds, whatever way it came there: two with the same zones,
/// records, fields and parents have the same hash. Definition: `Formats/Hash.md`.
///
/// It finds differences; it proves nothing against someone who wants two contents to look alike.
public struct ContentHash: Hashable, Sendable, CustomStringConvertible {
    let digest: [UInt8]
    /// How many records it covers.
    public let recordCount: Int

    /// 64 hexadecimal digits.
    public var description: String { Hex.encode(digest) }
}

extension Database {
    /// The hash of a zone. With `includingSystem`, change tags, dates and users count too.
    ///
    /// - Throws: ``StoreError`` with the cause ``StoreError/Cause/damaged`` where a record cannot be
    ///   read; its ``StoreError/places`` are all that were found.
    public nonisolated(nonsending) func contentHash(
        of id: RecordZone.ID, includingSystem: Bool = false
    ) async throws(StoreError) -> ContentHash {
        try await read { view throws(EngineError) in
            try view.contentHash(of: id, includingSystem: includingSystem)
        }
    }

    /// The hash of all zones.
    public nonisolated(nonsending) func contentHash(
        includingSystem: Bool = false
    ) async throws(StoreError) -> ContentHash {
        try await read { view throws(EngineError) in
            try view.contentHash(of: nil, includingSystem: includingSystem)
        }
    }
}

extension DatabaseView {
    /// The hash that a zone with the same records and the name `name` has.
    func contentHash(
        of id: RecordZone.ID, named name: String, _ progress: (Int) -> Void
    ) throws(EngineError) -> ContentHash {
        try checkReadsAll()
        let reading = try reading
        return try reading.contentHash(
            of: try zone(id, reading), id, named: name, includingSystem: false, progress)
    }

    /// The hash of a zone, or of all. `progress` is told after each page how many records were read.
    func contentHash(
        of id: RecordZone.ID?, includingSystem: Bool, progress: (Int) -> Void = { _ in }
    ) throws(EngineError) -> ContentHash {
        try checkReadsAll()
        let reading = try reading
        if let id {
            return try reading.contentHash(
                of: try zone(id, reading), id, includingSystem: includingSystem, progress)
        }
        try checkHasAll()
        var hashes: [ContentHash] = []
        var count = 0
        // There is no hash of what cannot be read; that all of it is named is worth reading on.
        var skipped = SkippedDamage(isAllowed: true)
        let zones = try livingZones(reading, &skipped)
        var damage = skipped.error
        for (id, place) in zones.sorted(by: { $0.0.precedes($1.0) }) {
            do throws(EngineError) {
                let hash = try reading.contentHash(
                    of: place, id, includingSystem: includingSystem, { progress(count + $0) })
                count += hash.recordCount
                if hash.recordCount > 0 || !id.isDefault { hashes.append(hash) }
            } catch {
                guard error.isDamage else { throw error }
                let error = StoreError(error)
                damage = damage?.adding(error.places) ?? error
            }
        }
        if let damage { throw .refused(damage) }
        var writer = ByteWriter()
        writer.varint(hashes.count)
        for hash in hashes { writer.append(hash.digest) }
        return ContentHash(digest: SHA256.hash(writer.bytes), recordCount: count)
    }
}

/// What the hash of a zone is made of.
struct ContentSum: Hashable, Sendable {
    private(set) var recordCount: Int
    private var sum: Sum256

    init() {
        recordCount = 0
        sum = Sum256()
    }

    init(_ content: ArchiveTable.Content) {
        recordCount = content.recordCount
        sum = Sum256(content.sum)
    }

    var content: ArchiveTable.Content {
        ArchiveTable.Content(recordCount: recordCount, sum: sum.bytes)
    }

    /// That of a zone of this name.
    func hash(of name: String) -> ContentHash {
        var writer = ByteWriter()
        writer.countedText(name)
        writer.varint(recordCount)
        writer.append(sum.bytes)
        return ContentHash(digest: SHA256.hash(writer.bytes), recordCount: recordCount)
    }

    /// Who may see the records is no part of them.
    mutating func add(_ record: Record, includingSystem: Bool = false) {
        if record.isShare { return }
        sum.add(SHA256.hash(record.canonicalBytes(includingSystem: includingSystem)))
        recordCount += 1
    }

    /// Takes back what ``add(_:includingSystem:)`` did, without system fields.
    mutating func subtract(_ record: Record) {
        if record.isShare { return }
        sum.subtract(SHA256.hash(record.canonicalBytes(includingSystem: false)))
        recordCount -= 1
    }
}

extension StoreReading {
    fileprivate func contentHash(
        of zone: ZonePlace, _ id: RecordZone.ID, named name: String? = nil,
        includingSystem: Bool, _ progress: (Int) -> Void
    ) throws(EngineError) -> ContentHash {
        try contentSum(of: zone, id, includingSystem: includingSystem, progress)
            .hash(of: name ?? id.zoneName)
    }

    /// The sum of a zone out of all its records.
    func contentSum(
        of zone: ZonePlace, _ id: RecordZone.ID, includingSystem: Bool = false,
        _ progress: (Int) -> Void = { _ in }
    ) throws(EngineError) -> ContentSum {
        var sum = ContentSum()
        var places: [EntryLocation] = []
        var length = 0
        // As above.
        var skipped = SkippedDamage(isAllowed: true)
        func add() throws(EngineError) {
            for record in try records(places, in: id, &skipped) {
                sum.add(record, includingSystem: includingSystem)
            }
            progress(sum.recordCount)
            places.removeAll(keepingCapacity: true)
            length = 0
        }
        try scan(KeySpace.records.range(zone: zone.number)) { _, value throws(EngineError) in
            let place = EntryLocation(value)
            if place.isDeleted { return true }
            places.append(place)
            length += place.frameLength
            if places.count == Page.usual || length > Page.lengthLimit { try add() }
            return true
        }
        try add()
        if let damage = skipped.error { throw .refused(damage) }
        return sum
    }

    /// The sum of a zone out of what it was before `offset`, and of what changed since; nil where that
    /// is not all kept, or is so much that reading all records is as good.
    func contentSum(
        of zone: ZonePlace, _ id: RecordZone.ID, since known: ContentSum,
        at offset: JournalOffset
    ) throws(EngineError) -> ContentSum? {
        guard offset > .zero, zone.offset < offset else { return nil }
        let last = identity.version(at: offset.previous)
        // Of deletions that are forgotten the feed has none.
        guard try horizon(of: zone) <= last else { return nil }
        guard
            let changed = try changed(
                in: zone, after: last, upTo: known.recordCount / 4 + 16)
        else { return nil }
        var sum = known
        var users = UserNames(self)
        do throws(EngineError) {
            try forEachEntry(at: changed) { _, entry throws(EngineError) in
                if entry.kind == .record { sum.add(try record(entry, in: id, &users)) }
                if let before = try self.entry(before: entry, at: last, after: .none, in: zone),
                    before.kind == .record
                {
                    sum.subtract(try record(before, in: id, &users))
                }
            }
        } catch {
            guard case .other(let error as StoreError) = error, error == .notKeptSince else {
                throw error
            }
            return nil
        }
        return sum
    }
}

extension Record {
    /// The record in the form that is hashed.
    fileprivate func canonicalBytes(includingSystem: Bool) -> [UInt8] {
        var writer = ByteWriter(capacity: 512)
        writer.countedText(recordID.recordName)
        writer.countedText(recordType)
        writer.uint8(parent == nil ? 0 : 1)
        if let parent { writer.countedText(parent.recordID.recordName) }
        var fields: [(name: String, field: StoredFields.Field)] = []
        stored.forEach { field in
            if let name = stored.schema.name(field.number) { fields.append((name, field)) }
            return true
        }
        fields.sort { Array($0.name.utf8).lexicographicallyPrecedes(Array($1.name.utf8)) }
        writer.varint(fields.count)
        for (name, field) in fields {
            writer.countedText(name)
            writer.uint8(field.kind.rawValue)
            let bytes = stored.bytes.span
            if field.kind.isAsset,
                let value = try? AssetFields.canonical(bytes, in: field.range, field.kind)
            {
                writer.varint(value.count)
                writer.append(value)
            } else {
                writer.varint(field.range.count)
                writer.append(bytes.extracting(field.range))
            }
        }
        if includingSystem, let system {
            writer.uint64(system.version)
            writer.int64(system.created)
            writer.int64(system.modified)
            writer.countedText(system.creator.recordName)
            writer.countedText(system.modifier.recordName)
        }
        return writer.bytes
    }
}

/// A sum modulo 2^256: the order of what is added does not matter, and it takes no memory.
private struct Sum256: Hashable, Sendable {
    private var words: [UInt64]

    init() { words = [0, 0, 0, 0] }

    init(_ bytes: [UInt8]) {
        words = (0..<4).map { bytes.span.uint64(at: $0 * 8) }
    }

    /// Adds the complement.
    mutating func subtract(_ digest: [UInt8]) {
        add(digest.map { ~$0 }, carry: 1)
    }

    mutating func add(_ digest: [UInt8], carry: UInt64 = 0) {
        var carry = carry
        for index in 0..<4 {
            let word = digest.span.uint64(at: index * 8)
            let (first, over) = words[index].addingReportingOverflow(word)
            let (second, overAgain) = first.addingReportingOverflow(carry)
            words[index] = second
            carry = over || overAgain ? 1 : 0
        }
    }

    var bytes: [UInt8] {
        var writer = ByteWriter()
        for word in words { writer.uint64(word) }
        return writer.bytes
    }
}

extension RecordZone.ID {
    fileprivate func precedes(_ other: RecordZone.ID) -> Bool {
        Array(zoneName.utf8).lexicographicallyPrecedes(Array(other.zoneName.utf8))
    }
}
