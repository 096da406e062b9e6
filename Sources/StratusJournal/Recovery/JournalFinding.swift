/// Something that a verification found, and what it means for the store.
package struct JournalFinding: Equatable, Sendable {
    package enum Severity: Sendable {
        /// Bytes of the store are not what was written.
        case damage
        /// The journal ends with groups that are not whole and that nothing says to have been
        /// durable: an opening ends the journal there, and something acknowledged may be missing
        /// (rows C and J of `Formats/Journal.md`, "Recovery").
        case possibleLoss
        /// What lies behind the last whole group is no group of this journal: a write that was
        /// cut off, or old bytes of the medium (rows F and G).
        case tornTail
    }

    package var damage: JournalDamage
    package var severity: Severity

    package init(_ damage: JournalDamage, _ severity: Severity = .damage) {
        self.damage = damage
        self.severity = severity
    }
}
