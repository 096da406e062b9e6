/// What the layers above make of the journal: every index, every cache, every view.
///
/// It is given every entry once, in order of offsets, whether the entry was just written, is read
/// again at an opening, or comes from another process.
package protocol JournalFold {
    /// The next entry of the open commit. Fails where the payload has no meaning.
    mutating func apply(
        _ header: FrameHeader, at offset: JournalOffset, payload: Span<UInt8>
    ) throws(JournalDamage.Kind)

    /// The open commit is whole; it ends before `end`.
    mutating func complete(end: JournalOffset, time: Int64)

    /// The commits of a group, or of what is left of it, have been given: what is kept once a group
    /// is due. May come more than once for a group. Fails where what the fold has made of the
    /// journal cannot be read; then the group is taken back.
    mutating func endGroup() throws(JournalError)

    /// What a segment that is begun now begins with, so that it can be read without those before
    /// it, in at most `limit` bytes.
    func preamble(limit: Int) -> [UInt8]

    /// Everything from here on may be taken back. Comes only where a group begins or has ended.
    mutating func setSavepoint()

    /// Of what lies before, not all was kept: what an entry says of the one that it replaces may
    /// be none that was given. `view` reads those that were.
    mutating func lookBack(through view: JournalView)

    /// Commits were left out, of which none had a later time.
    mutating func passOver(latest time: Int64)

    /// Takes back everything since the last ``setSavepoint()``.
    mutating func rollBack()

    /// The files of its own that the fold reads.
    var files: [String] { get }

    /// Takes the place of a fold with which the reading came to nothing, before it reads anything.
    mutating func replace(_ failed: Self)
}

extension JournalDamage.Kind: Error {}

/// A fold that only reads along.
package struct NoFold: JournalFold {
    package init() {}
    package mutating func apply(
        _ header: FrameHeader, at offset: JournalOffset, payload: Span<UInt8>
    ) throws(JournalDamage.Kind) {}
    package mutating func complete(end: JournalOffset, time: Int64) {}
    package mutating func endGroup() {}
    package mutating func setSavepoint() {}
    package mutating func rollBack() {}
}

extension JournalFold {
    package func preamble(limit: Int) -> [UInt8] { [] }
    package var files: [String] { [] }
    package mutating func replace(_ failed: Self) {}
    package mutating func lookBack(through view: JournalView) {}
    package mutating func passOver(latest time: Int64) {}
}
