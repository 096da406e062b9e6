/// What a frame holds.
///
/// Kinds below 32 keep the journal itself and belong to no commit; the others are entries, whose
/// meaning the layers above give. Bit 7 says that a reader which does not know the kind may pass
/// over it; without that bit it must refuse (rule R26 of `Formats/README.md`).
package struct EntryKind: RawRepresentable, Hashable, Sendable {
    package var rawValue: UInt8
    package init(rawValue: UInt8) { self.rawValue = rawValue }

    /// The first frame of what was written and synced together.
    package static let group = EntryKind(rawValue: 1)
    /// The last frame of a full segment.
    package static let trailer = EntryKind(rawValue: 2)
    /// What the entries of a segment need to be read without the segments before it.
    package static let preamble = EntryKind(rawValue: 4)

    /// The first kind that is an entry.
    static let firstEntry: UInt8 = 32
    static let ignorable: UInt8 = 0x80

    package var isEntry: Bool { rawValue & ~Self.ignorable >= Self.firstEntry }
    package var mayBeIgnored: Bool { rawValue & Self.ignorable != 0 }
}
