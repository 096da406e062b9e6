package import StratusBytes
package import StratusJournal

extension JournalDamage.Kind {
    /// What it means that the payload of an entry cannot be decoded.
    package init(_ error: FormatError) {
        self = if case .newer(let what) = error { .newerPart(what) } else { .payload("content") }
    }
}

/// Checks the payloads of all entries of a journal, in their order: their form, and that what they
/// use by number is known (rules 1 to 4 of `Formats/Record.md`, "Validity").
package struct PayloadCheck {
    private let registry: ProjectionRegistry
    private var numbers = NumberCheck()
    /// Without those of the commit that is open, which may be abandoned.
    private var committed = NumberCheck()

    package init(_ registry: ProjectionRegistry) { self.registry = registry }

    /// What is wrong with an entry whose frame is whole: its kind or something in it is not known,
    /// its payload has no meaning, or it uses a number that is not known.
    package mutating func fault(of entry: JournalEntry, isBehindDamage: Bool) -> JournalDamage.Kind?
    {
        let isReliable = numbers.isReliable && !isBehindDamage
        if entry.kind.isEntry, entry.header.ordinal == 0 { numbers = committed }
        numbers.isReliable = isReliable
        defer { if entry.header.isLast || entry.isOfCompleteCommit { committed = numbers } }
        guard registry.mayRead(entry.kind) else { return .unknownKind(entry.kind.rawValue) }
        numbers.beginEntry()
        do throws(FormatError) {
            try entry.withPayload { bytes throws(FormatError) in
                try registry.validate(bytes, of: entry, &numbers)
            }
            if entry.kind == .preamble, numbers.fault != nil {
                return try withoutOpenCommit(entry, isReliable: isReliable)
            }
            return numbers.fault.map(JournalDamage.Kind.payload)
        } catch {
            if registry.definesNumbers(entry.kind) { numbers.isReliable = false }
            return JournalDamage.Kind(error)
        }
    }

    /// The fault of a preamble without the names of the commit that is open there. A commit that
    /// was given up on a full disk leaves its entries, which no later preamble counts.
    private func withoutOpenCommit(
        _ preamble: JournalEntry, isReliable: Bool
    ) throws(FormatError) -> JournalDamage.Kind? {
        var numbers = committed
        numbers.isReliable = isReliable
        numbers.beginEntry()
        try preamble.withPayload { bytes throws(FormatError) in
            try registry.validate(bytes, of: preamble, &numbers)
        }
        return numbers.fault.map(JournalDamage.Kind.payload)
    }
}
