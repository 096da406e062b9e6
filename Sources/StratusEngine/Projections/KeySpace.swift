package import StratusBytes
package import StratusIndex

/// One of the ordered maps of the index. A key begins with the zone and the keyspace it is of, so
/// that what belongs to one tenant lies together. Zone 0 is the store's own. Each projection
/// declares its own; `Formats/Index.md`, "Keys", lists them.
package struct KeySpace: Sendable {
    package let rawValue: UInt8
    /// As `stratus info` shows it. Static, since what is looked up for each row of the index is to be copied
    /// without counting references.
    package let name: StaticString

    /// Which entries of the journal must stay because of its rows.
    package let names: Naming
    /// Whether rows that were taken away for their number or age may come back where the index is made
    /// anew of a journal that has lost what they were counted with.
    package let mayComeBack: Bool
    /// Whether later entries, or the entries of others, bring what a row says where its own entry is lost:
    /// of all other rows an earlier state is in force then.
    package let isRestated: Bool
    /// Whether copies of the store, and archives, are made without it and the entries that it names.
    package let staysWithStore: Bool
    /// How its keys form groups, of which it is told at little cost that there is none.
    package let groups: KeyGrouping?

    /// What the stamp of a row says: the entry that the row came with. Is that needed as long as the
    /// row is?
    package enum Naming: Sendable {
        /// Yes, and the value is its location. One without a length repeats a row that names the
        /// entry.
        case entries
        /// Yes; the entry has many such rows.
        case parts
        /// Where the row is of a tombstone. A later entry would bring the others, too.
        case deletions
        /// Where the row's first word is not 0. Others are those of a record that is there.
        case built
        /// Where that is a members entry, which has many such rows: until the record's next entry it
        /// alone says which share the record is in. A later entry would bring the others, too.
        case memberships
        /// That of a gone row, and that of any row of a members entry.
        case shareRows
        /// It is, because of a row of another keyspace or because all of its kind are.
        case elsewhere
        /// No: a later entry would bring the row, too.
        case nothing
    }

    /// For so many bytes of its entry a row stands that is one of many.
    static let partLength = 64

    package init(
        _ number: UInt8, _ name: StaticString, names: Naming = .entries, mayComeBack: Bool = false,
        isRestated: Bool = false, staysWithStore: Bool = false, groups: KeyGrouping? = nil
    ) {
        rawValue = number
        self.name = name
        self.names = names
        self.mayComeBack = mayComeBack
        self.isRestated = isRestated
        self.staysWithStore = staysWithStore
        self.groups = groups
    }

    package func key(zone: UInt32 = 0) -> IndexKey {
        IndexKey(partition: zone, keyspace: rawValue)
    }

    /// All keys of the keyspace in `zone`.
    package func range(zone: UInt32 = 0) -> Range<IndexKey> { key(zone: zone).asPrefix }
}

extension IndexKey {
    package func appending(_ hash: Hash128) -> IndexKey { appending(hash.high, hash.low) }

    /// All keys that begin with this one.
    package var asPrefix: Range<IndexKey> { self..<afterPrefix }
}
