package import StratusFiles

/// The journal could not do what was asked.
package enum JournalError: Error, Equatable, Sendable {
    /// There is no store.
    case noStore
    /// The storage failed; nothing has changed, and the journal goes on.
    case storage(StorageError)
    /// A sync failed, or the store was taken from its writer (`.fencedOut`). What was not
    /// acknowledged may or may not be there at the next opening, and until then nothing is written
    /// any more.
    case poisoned(StorageError)
    /// Bytes are not what was written.
    case damaged(JournalDamage)
    /// Damage of which an opening must not make light: nothing was changed.
    case refused(RecoveryRow, JournalDamage)
    /// Written in a newer format.
    case newerFormat(JournalDamage)
    /// No entry of this store is at the offset.
    case noEntry(JournalOffset)
    /// An entry is longer than the format or the segments of this store allow.
    case entryTooLong
    /// The journal now ends before what was read of it: that was lost before it was durable.
    case historyChanged
    /// The store had so many copies and restores that there is no incarnation left for another.
    case noIncarnation
    /// The journal was closed.
    case closed

    /// Whether bytes are at fault, and not a call or the caller.
    var isDamage: Bool {
        switch self {
        case .damaged, .refused, .newerFormat: true
        default: false
        }
    }

    package init(_ damage: JournalDamage) {
        self = damage.isNewer ? .newerFormat(damage) : .damaged(damage)
    }
}
