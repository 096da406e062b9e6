/// What opening a journal found behind its last whole group, and what it decided: the table of
/// `Formats/Journal.md`, "Recovery", whose rows the cases are named after.
package enum RecoveryRow: String, CaseIterable, Sendable {
    /// A segment that is full, ended or not the last is damaged: refused.
    case damageInSealedSegment = "A"
    /// Something later says that the damaged place was durable: refused.
    case damageBeforeDurableGroup = "B"
    /// Later groups survived, none of which says that the damaged one was durable.
    case reorderedUnacknowledged = "C"
    /// The manifest says that the damaged place was durable: refused.
    case damageBeforeManifestEnd = "D"
    /// Nothing but zeros.
    case cleanTail = "E"
    /// Bytes that are no frame of this segment's, and no group they could belong to.
    case tornTail = "F"
    /// A whole frame of another segment's life.
    case staleBytes = "G"
    /// The medium could not be read: refused, nothing changed.
    case readError = "H"
    /// The last group is damaged, and nothing tells whether it had been acknowledged.
    case lastGroupDamaged = "J"
    /// The manifest states the end, as after a clean close, or a trailer does; what lies behind is
    /// not part of the store.
    case behindStatedEnd = "K"

    /// Whether the store may be opened for writing after it.
    package var isAccepted: Bool {
        switch self {
        case .damageInSealedSegment, .damageBeforeDurableGroup, .damageBeforeManifestEnd,
            .readError:
            false
        case .reorderedUnacknowledged, .cleanTail, .tornTail, .staleBytes, .lastGroupDamaged,
            .behindStatedEnd:
            true
        }
    }
}

/// What an opening did.
package struct RecoveryReport: Equatable, Sendable {
    package var row: RecoveryRow
    /// Where the store's journal ended.
    package var end: JournalOffset
    /// What was found there, unless the end was clean.
    package var damage: JournalDamage?
    /// Whole frames behind the end: parts of commits that were never complete.
    package var droppedBytes = 0
    /// Commits that were read.
    package var replayedCommits: UInt64 = 0
    /// The checkpoint from which the journal was read on; nil: it was read from its beginning.
    package var checkpoint: JournalOffset?
    /// Why the checkpoint of the manifest was thrown away.
    package var discardedCheckpoint: JournalDamage?
    /// What is wrong with one of the two copies in the manifest; the other one was read.
    package var manifestDamage: JournalDamage?
    /// Files that nothing referred to, left by a crash and thrown away.
    package var discardedFiles: [String] = []

    /// Whether something may be missing that had been acknowledged. Only what the last sync
    /// covered can be concerned, the very last group or several: a disk that loses it cannot be
    /// told from one that never got it.
    package var possibleLoss: Bool {
        row == .lastGroupDamaged || row == .reorderedUnacknowledged
    }
    package var wasClean: Bool { row == .behindStatedEnd }

    /// Fails where something acknowledged may be missing, as where damage is of a kind that no opening
    /// accepts.
    package func refusePossibleLoss() throws(JournalError) {
        if possibleLoss, let damage { throw .refused(row, damage) }
    }
}
