internal import StratusBytes
internal import StratusJournal

/// Checks the payloads of all entries of a journal, in their order: their form, and that what they
/// use by number is known (rules 1 to 4 of `Formats/Record.md`, "Validity").
struct PayloadCheck {
    private let registry: ProjectionRegistry
    private var numbers = NumberCheck()
    /// Without those of the commit that is open, which may be abandoned.
    private var committed = NumberCheck()

    init(_ registry: ProjectionRegistry) { self.registry = registry }

    /// What is wrong with the payload of an entry whose frame is whole: `kind`, `content`, or what
    /// has a number that is not known.
    mutating func fault(of entry: JournalEntry, isBehindDamage: Bool) -> StaticString? {
        let isReliable = numbers.isReliable && !isBehindDamage
        if entry.kind.isEntry, entry.header.ordinal == 0 { numbers = committed }
        numbers.isReliable = isReliable
        defer { if entry.header.isLast { committed = numbers } }
        numbers.beginEntry()
        do throws(FormatError) {
            try entry.withPayload { bytes throws(FormatError) in
                try registry.validate(bytes, of: entry, &numbers)
            }
            return numbers.fault
        } catch {
            if registry.definesNumbers(entry.kind) { numbers.isReliable = false }
            return error == .value("kind") ? "kind" : "content"
        }
    }
}
