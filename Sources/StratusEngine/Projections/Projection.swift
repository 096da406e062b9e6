package import StratusBytes
package import StratusIndex
package import StratusJournal

/// One kind of state that is derived from the journal, such as records, links or marks: the entries
/// that state it, the keyspaces of the index that hold it, and how an entry changes them.
///
/// All projections together are the fold of the journal. ``ProjectionRegistry/store`` lists them;
/// opening, `verify`, `log`, `info` and `reindex` learn of entries and keyspaces from that list
/// alone.
package protocol Projection: Sendable {
    /// The kinds of entries that this projection defines, and the preamble, whose payload the
    /// journal leaves to it. Each kind has one projection.
    static var entries: [EntryForm] { get }
    /// The kinds of other projections that change this one too.
    static var alsoReads: [EntryKind] { get }
    /// The keyspaces that this projection writes. Each keyspace has one projection.
    static var keyspaces: [KeySpace] { get }

    /// Before the first entry of the journal, or behind a checkpoint.
    init()

    /// Applies an entry of the open commit. Fails when the payload has no meaning.
    mutating func apply(
        _ entry: inout FoldedEntry, _ payload: Span<UInt8>, to state: inout FoldState
    ) throws(FormatError)

    /// The open commit is complete; `time` is its commit time in microseconds since 1970.
    mutating func completeCommit(at time: Int64, in state: inout FoldState)

    /// Commits are complete: those of a group or, where the state between two commits may be read
    /// later, one. Fails when the index cannot be read.
    mutating func endGroup(in state: inout FoldState) throws(IndexError)

    /// The state was rolled back to a point between two groups.
    mutating func rollBack()

    /// Checks an entry whose frame is whole: throws when its form is wrong, and tells `numbers`
    /// which zones, users, types and fields the entry uses or defines.
    static func validate(
        _ payload: Span<UInt8>, of entry: JournalEntry, _ numbers: inout NumberCheck
    ) throws(FormatError)

    /// What an archive of some zones has in the place of an entry of a kind of which it may have
    /// parts.
    static func selected(
        _ payload: Span<UInt8>, of entry: JournalEntry, by zones: SelectedZones
    ) throws(FormatError) -> SelectedEntry

    /// Describes an entry for people.
    static func describe(
        _ payload: Span<UInt8>, _ kind: EntryKind, _ schema: Schema
    ) throws(FormatError) -> EntryDescription
}

extension Projection {
    package static var alsoReads: [EntryKind] { [] }
    package mutating func completeCommit(at time: Int64, in state: inout FoldState) {}
    package mutating func endGroup(in state: inout FoldState) throws(IndexError) {}
    package mutating func rollBack() {}
    package static func selected(
        _ payload: Span<UInt8>, of entry: JournalEntry, by zones: SelectedZones
    ) throws(FormatError) -> SelectedEntry { .whole }
}

/// A projection of the entries of others.
package protocol DerivedProjection: Projection {}

extension DerivedProjection {
    package static var entries: [EntryForm] { [] }
    package static func validate(
        _ payload: Span<UInt8>, of entry: JournalEntry, _ numbers: inout NumberCheck
    ) throws(FormatError) {}
    package static func describe(
        _ payload: Span<UInt8>, _ kind: EntryKind, _ schema: Schema
    ) throws(FormatError) -> EntryDescription { EntryDescription() }
}

/// A kind of entry: `Formats/Record.md`.
package struct EntryForm: Sendable {
    package var kind: EntryKind
    /// As `stratus log` names it.
    package var name: String
    /// Whether the frame carries the number of a zone that was made before.
    package var isInZone: Bool
    /// Whether the entry gives numbers to users, zones or names, which later entries use.
    package var definesNumbers: Bool
    /// Whether the state before the entry may be read for ever, or from then on: it is made whole
    /// before the entry is applied.
    package var beginsState: Bool
    package var retention: Retention
    package var selection: Selection

    /// Which entries of a kind an archive of some zones has: `Formats/Backup.md`, "Selection".
    package enum Selection: Sendable {
        /// All, which are about the store.
        case all
        /// Those in the zones.
        case ofZones
        /// None: they are about users, or rebuilt from others.
        case omitted
        /// ``Projection/selected(_:of:by:)`` decides for each, and may rewrite it.
        case rewritten
    }

    /// How long entries of a kind are kept.
    package enum Retention: Sendable {
        /// As long as a row of the index names the entry: ``KeySpace/names``.
        case whileNamed
        case always
    }

    package init(
        _ kind: EntryKind, _ name: String, isInZone: Bool = false, definesNumbers: Bool = false,
        beginsState: Bool = false, retention: Retention = .whileNamed,
        selection: Selection? = nil
    ) {
        self.selection = selection ?? (isInZone ? .ofZones : .omitted)
        self.beginsState = beginsState
        self.retention = definesNumbers ? .always : retention
        self.kind = kind
        self.name = name
        self.isInZone = isInZone
        self.definesNumbers = definesNumbers
    }
}

/// What an entry says, for people.
package struct EntryDescription: Sendable {
    /// `record`, `tombstone`, `zone`, …
    package var kind = ""
    package var recordName: String?
    package var recordType: String?
    /// Whatever else there is to say.
    package var detail: String?

    package init(recordName: String? = nil, recordType: String? = nil, detail: String? = nil) {
        self.recordName = recordName
        self.recordType = recordType
        self.detail = detail
    }
}
