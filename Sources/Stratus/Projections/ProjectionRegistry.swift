internal import StratusBytes
internal import StratusJournal

/// The projections of a store, found by the kinds of entries and the keyspaces that they declare.
package struct ProjectionRegistry: Sendable {
    /// Those of every store. A new kind of state is a folder with its projection, and a line here.
    package static let store = ProjectionRegistry([
        RecordProjection.self,
        LinkProjection.self,
        AssetProjection.self,
        ZoneProjection.self,
        UserProjection.self,
        SchemaProjection.self,
        MarkProjection.self,
        ActivityProjection.self,
        OperationProjection.self,
    ])

    package let projections: [any Projection.Type]
    /// By the number of a kind.
    private var kinds: [Kind?]
    /// By the number of a keyspace.
    private var keyspaces: [UInt8: KeySpace] = [:]

    private struct Kind {
        /// Nil for a kind of the journal itself.
        var form: EntryForm?
        var owner: (any Projection.Type)?
        /// The places of the projections that apply it.
        var readers: [Int] = []
    }

    package init(_ projections: [any Projection.Type]) {
        self.projections = projections
        kinds = [Kind?](repeating: nil, count: 256)
        for (place, projection) in projections.enumerated() {
            for form in projection.entries {
                let number = Int(form.kind.rawValue)
                precondition(kinds[number]?.form == nil, "two projections define \(form.name)")
                kinds[number, default: Kind()].form = form
                kinds[number, default: Kind()].owner = projection
            }
            for kind in projection.entries.map(\.kind) + projection.alsoReads {
                kinds[Int(kind.rawValue), default: Kind()].readers.append(place)
            }
            for keyspace in projection.keyspaces {
                let old = keyspaces.updateValue(keyspace, forKey: keyspace.rawValue)
                precondition(old == nil, "two projections write \(keyspace.name)")
            }
        }
    }

    /// All kinds of entries, in the order of their numbers.
    package var forms: [EntryForm] { kinds.compactMap { $0?.form } }
    /// All keyspaces, in the order of their numbers.
    package var allKeyspaces: [KeySpace] {
        keyspaces.values.sorted { $0.rawValue < $1.rawValue }
    }

    /// The places in ``projections`` of those that apply entries of a kind; none: it is unknown.
    func readers(of kind: EntryKind) -> [Int] { kinds[Int(kind.rawValue)]?.readers ?? [] }

    func form(of kind: EntryKind) -> EntryForm? { kinds[Int(kind.rawValue)]?.form }

    /// Keyspace 0 holds the deletions of whole zones.
    func name(ofKeyspace number: UInt8) -> String {
        if number == 0 { return "drops" }
        return keyspaces[number]?.name ?? "keyspace \(number)"
    }

    /// Fails with `.value("kind")` for a kind that is unknown and must not be.
    func validate(
        _ payload: Span<UInt8>, of entry: JournalEntry, _ numbers: inout NumberCheck
    ) throws(FormatError) {
        let known = kinds[Int(entry.kind.rawValue)]
        if let form = known?.form, let owner = known?.owner {
            if form.isInZone { numbers.useZone(entry.zone) }
            return try owner.validate(payload, of: entry, &numbers)
        }
        for place in known?.readers ?? [] {
            try projections[place].validate(payload, of: entry, &numbers)
        }
        guard known != nil || entry.kind.mayBeIgnored || entry.kind == .trailer else {
            throw .value("kind")
        }
    }

    /// An entry in words; where its payload has no meaning, its kind alone.
    func describe(_ entry: JournalEntry, _ schema: Schema) -> EntryDescription {
        let known = kinds[Int(entry.kind.rawValue)]
        let owner = known?.owner ?? known?.readers.first.map { projections[$0] }
        let found = owner.flatMap { owner in
            entry.withPayload { bytes in try? owner.describe(bytes, entry.kind, schema) }
        }
        var description = found ?? EntryDescription()
        description.kind =
            switch entry.kind {
            case .trailer: "trailer"
            case .preamble where found != nil: "preamble"
            case _ where found != nil: known?.form?.name ?? ""
            default: "kind \(entry.kind.rawValue)"
            }
        return description
    }
}

extension Array {
    /// An element that is made where there is none.
    fileprivate subscript<Wrapped>(
        index: Int, default value: @autoclosure () -> Wrapped
    ) -> Wrapped where Element == Wrapped? {
        get { self[index] ?? value() }
        set { self[index] = newValue }
    }
}
