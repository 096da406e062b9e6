/// A place in a store's journal, as if nothing had ever been compacted, in units of 8 bytes.
///
/// An offset never changes and is never used twice. It fits 52 bits.
@usableFromInline package struct JournalOffset: Hashable, Comparable, Sendable {
    @usableFromInline package var rawValue: UInt64

    @inlinable package init(rawValue: UInt64) { self.rawValue = rawValue }

    /// The unit, in bytes, and the alignment of every frame.
    @inlinable package static var unit: Int { 8 }
    @inlinable package static var limit: UInt64 { 1 << 52 }
    @inlinable package static var zero: JournalOffset { JournalOffset(rawValue: 0) }

    /// The last offset before this one; of the first itself, at which there is no entry.
    @inlinable package var previous: JournalOffset { JournalOffset(rawValue: max(rawValue, 1) - 1) }

    @inlinable package var next: JournalOffset { JournalOffset(rawValue: rawValue + 1) }

    @inlinable package static func == (left: JournalOffset, right: JournalOffset) -> Bool {
        left.rawValue == right.rawValue
    }

    @inlinable package static func < (left: JournalOffset, right: JournalOffset) -> Bool {
        left.rawValue < right.rawValue
    }

    /// The offset `bytes` further on; `bytes` is a multiple of the unit.
    @inlinable package func advanced(byBytes bytes: Int) -> JournalOffset {
        JournalOffset(rawValue: rawValue + UInt64(bytes / Self.unit))
    }

    /// The bytes from `other`, which does not lie behind, to this offset.
    @inlinable package func bytes(since other: JournalOffset) -> Int {
        Int(rawValue - other.rawValue) * Self.unit
    }
}

extension JournalOffset: CustomStringConvertible {
    @usableFromInline package var description: String { String(rawValue) }
}

/// Where an entry was first written: an incarnation (12 bits) and an offset (52 bits). That is where
/// it lies, but for the records of a zone that was restored from elsewhere, which keep the versions
/// they had.
///
/// It is the change tag of a record and its place in the feed of its zone. Version 0 is none.
@usableFromInline package struct Version: Hashable, Comparable, Sendable {
    @usableFromInline package var rawValue: UInt64

    @inlinable package init(rawValue: UInt64) { self.rawValue = rawValue }

    @inlinable package init(incarnation: UInt16, offset: JournalOffset) {
        rawValue = UInt64(incarnation) << 52 | offset.rawValue
    }

    @inlinable package static var none: Version { Version(rawValue: 0) }

    /// Incarnations are less: 12 bits stand above the offset.
    package static let incarnationLimit: UInt16 = 1 << 12

    @inlinable package var incarnation: UInt16 { UInt16(truncatingIfNeeded: rawValue >> 52) }
    @inlinable package var offset: JournalOffset {
        JournalOffset(rawValue: rawValue & (JournalOffset.limit - 1))
    }

    @inlinable package static func == (left: Version, right: Version) -> Bool {
        left.rawValue == right.rawValue
    }

    @inlinable package static func < (left: Version, right: Version) -> Bool {
        left.rawValue < right.rawValue
    }
}

extension Version: CustomStringConvertible {
    @usableFromInline package var description: String { String(rawValue) }
}
