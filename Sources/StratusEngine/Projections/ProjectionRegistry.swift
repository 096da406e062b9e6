package import StratusBytes
package import StratusIndex
package import StratusJournal

/// The projections of a store, found by the kinds of entries and the keyspaces that they declare.
package struct ProjectionRegistry: Sendable {

    package let projections: [any Projection.Type]
    /// By the number of a kind.
    private var kinds = [Kind](repeating: Kind(), count: 256)
    /// By the number of a keyspace.
    private var keyspaces = [KeySpace?](repeating: nil, count: 256)

    private struct Kind {
        /// Nil for a kind that no projection defines.
        var form: EntryForm?
        var projection: (any Projection.Type)?
        /// The places of the projections that apply it.
        var readers: [Int] = []
    }

    package init(_ projections: [any Projection.Type]) {
        self.projections = projections
        for (place, projection) in projections.enumerated() {
            for form in projection.entries {
                let number = Int(form.kind.rawValue)
                precondition(kinds[number].form == nil, "two projections define \(form.name)")
                kinds[number].form = form
                kinds[number].projection = projection
            }
            for kind in projection.entries.map(\.kind) + projection.alsoReads {
                kinds[Int(kind.rawValue)].readers.append(place)
            }
            for keyspace in projection.keyspaces {
                let number = Int(keyspace.rawValue)
                precondition(keyspaces[number] == nil, "two projections write \(keyspace.name)")
                keyspaces[number] = keyspace
            }
        }
    }

    /// All kinds of entries, in the order of their numbers.
    package var forms: [EntryForm] { kinds.compactMap(\.form).filter(\.kind.isEntry) }
    /// How keys form groups, by their keyspaces.
    package var groupings: [UInt8: KeyGrouping] {
        var groupings: [UInt8: KeyGrouping] = [:]
        for keyspace in allKeyspaces { groupings[keyspace.rawValue] = keyspace.groups }
        return groupings
    }

    /// All keyspaces, in the order of their numbers.
    package var allKeyspaces: [KeySpace] {
        keyspaces.compactMap(\.self)
    }

    /// The places in ``projections`` of those that apply entries of a kind; none: it is unknown.
    package func readers(of kind: EntryKind) -> [Int] { kinds[Int(kind.rawValue)].readers }

    /// Whether frames of a kind carry the number of a zone that was made before.
    package func isInZone(_ kind: EntryKind) -> Bool {
        kinds[Int(kind.rawValue)].form?.isInZone ?? false
    }

    /// Whether entries of a kind give numbers that later entries use.
    package func definesNumbers(_ kind: EntryKind) -> Bool {
        kinds[Int(kind.rawValue)].form?.definesNumbers ?? false
    }

    /// Whether the state before an entry of a kind may be read later.
    package func beginsState(_ kind: EntryKind) -> Bool {
        kinds[Int(kind.rawValue)].form?.beginsState ?? false
    }

    /// Whether an entry of a kind is kept that no row of the index names. One of a kind that is not
    /// known is.
    package func isAlwaysKept(_ kind: EntryKind) -> Bool {
        kinds[Int(kind.rawValue)].form?.retention != .whileNamed
    }

    /// Where a row of the index needs the entry at its stamp: how many bytes of that entry it stands
    /// for; nil where it needs none.
    package func bytesNamed(by key: IndexKey, _ value: IndexValue) -> Int? {
        // Whatever a damaged table says of it.
        let limit = FrameFormat.frameLength(payload: FrameFormat.payloadLimit, isLast: true)
        return statedBytes(of: key, value).map { min($0, limit) }
    }

    /// Those of which no row names an entry that has to stay: ``bytesNamed(by:_:)`` is nil for each.
    package var keyspacesNamingNothing: Set<UInt8> {
        Set(allKeyspaces.filter { [.elsewhere, .nothing].contains($0.names) }.map(\.rawValue))
    }

    /// Whether copies of the store are made without the entry that a row names.
    package func staysWithStore(_ key: IndexKey) -> Bool {
        keyspaces[Int(key.keyspace)]?.staysWithStore ?? false
    }

    private func statedBytes(of key: IndexKey, _ value: IndexValue) -> Int? {
        switch keyspaces[Int(key.keyspace)]?.names {
        case .entries?:
            let length = EntryLocation(value).frameLength
            return length > 0 ? length : nil
        case .deletions?:
            // Unless the name was used again, the feed has a row of the same entry.
            return EntryLocation(value).isDeleted ? 0 : nil
        case .parts?: return KeySpace.partLength
        case .built?: return value.first != 0 ? KeySpace.partLength : nil
        case .memberships?:
            return ShareMembership.isOfMembersEntry(value) ? KeySpace.partLength : nil
        case .shareRows?: return ShareRow.bytesNamed(value, part: KeySpace.partLength)
        case .elsewhere?, .nothing?, nil: return nil
        }
    }

    /// What a row may say as well where not all entries were kept, given what it should say.
    package func loosened(_ value: IndexValue, of key: IndexKey, to expected: IndexValue)
        -> IndexValue
    {
        // How many rows there are depends on which came back.
        if mayComeBack(key) { return expected }
        switch keyspaces[Int(key.keyspace)]?.names {
        case .built?: return expected
        case .deletions?, .memberships?, .nothing?:
            var value = value
            value.stamp = expected.stamp
            return value
        case .entries?, .parts?, .shareRows?, .elsewhere?, nil: return value
        }
    }

    /// Whether a row may be there where not all entries were kept, though it was taken away.
    package func mayComeBack(_ key: IndexKey) -> Bool {
        keyspaces[Int(key.keyspace)]?.mayComeBack ?? false
    }

    /// Whether a row may be missing where not all entries were kept: it counts what may come back.
    package func mayGo(_ key: IndexKey) -> Bool {
        guard let keyspace = keyspaces[Int(key.keyspace)] else { return false }
        return keyspace.mayComeBack && keyspace.names == .nothing
    }

    /// Whether an entry changes these zones or what is the store's.
    package func concerns(_ entry: JournalEntry, _ zones: Set<UInt32>) -> Bool {
        switch kinds[Int(entry.kind.rawValue)].form?.selection ?? .omitted {
        case .all: true
        case .omitted: false
        // Chunks and users come with what needs them.
        case .ofZones, .rewritten: zones.contains(entry.zone)
        }
    }

    /// Makes an entry what an archive of some zones has of it; false: it has nothing. Of a kind that is
    /// not known it has nothing.
    package func select(
        _ entry: inout JournalEntry, by zones: SelectedZones
    ) throws(FormatError) -> Bool {
        let kind = kinds[Int(entry.kind.rawValue)]
        switch kind.form?.selection ?? .omitted {
        case .all: return true
        case .omitted: return false
        case .ofZones: return zones.contains(zone: entry.zone)
        case .rewritten: break
        }
        guard let projection = kind.projection else { return false }
        let selected = try entry.withPayload { payload throws(FormatError) in
            try projection.selected(payload, of: entry, by: zones)
        }
        switch selected {
        case .whole: return true
        case .nothing: return false
        case .instead(let kind, let zone, let payload):
            entry = entry.replacing(kind, zone: zone, payload: payload)
            return true
        }
    }

    /// As `stratus log` names it.
    package func name(of kind: EntryKind) -> String {
        kinds[Int(kind.rawValue)].form?.name
            ?? (kind == .trailer ? "trailer" : "kind \(kind.rawValue)")
    }

    /// Whether other entries bring what the row of a key says: ``KeySpace/isRestated``.
    package func isRestated(_ key: IndexKey) -> Bool {
        keyspaces[Int(key.keyspace)]?.isRestated ?? false
    }

    package func name(ofKeyspace number: UInt8) -> String {
        keyspaces[Int(number)]?.name.description ?? "keyspace \(number)"
    }

    /// Whether frames of a kind are known, or may be passed over.
    package func mayRead(_ kind: EntryKind) -> Bool {
        kinds[Int(kind.rawValue)].projection != nil || kind.mayBeIgnored || kind == .trailer
    }

    /// Checks the payload of an entry of a kind that is known; of others there is nothing to check.
    package func validate(
        _ payload: Span<UInt8>, of entry: JournalEntry, _ numbers: inout NumberCheck
    ) throws(FormatError) {
        guard let projection = kinds[Int(entry.kind.rawValue)].projection else { return }
        if isInZone(entry.kind) { numbers.useZone(entry.zone) }
        try projection.validate(payload, of: entry, &numbers)
    }

    /// An entry in words; where its payload has no meaning, its kind alone.
    package func describe(_ entry: JournalEntry, _ schema: Schema) -> EntryDescription {
        let kind = kinds[Int(entry.kind.rawValue)]
        let found = kind.projection.flatMap { projection in
            entry.withPayload { bytes in try? projection.describe(bytes, entry.kind, schema) }
        }
        var description = found ?? EntryDescription()
        description.kind =
            found == nil && kind.form != nil
            ? "kind \(entry.kind.rawValue)" : name(of: entry.kind)
        return description
    }
}
