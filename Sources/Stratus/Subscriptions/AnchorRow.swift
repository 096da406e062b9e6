internal import StratusEngine
internal import StratusIndex
internal import StratusJournal

/// Where a query subscription waits, as the index has it: `Formats/Index.md`, "Keys".
struct AnchorRow: Sendable {
    /// The subscriber.
    let user: UInt32
    let options: SubscriptionEntry.Options
    /// Of the subscription.
    let number: UInt64
    /// Equal predicates have the same, but for those that wait for numbers above or below one.
    let order: UInt64
    private let frameLength: Int

    /// Nil where the row has another form.
    init?(_ key: IndexKey, _ value: IndexValue) {
        guard key.count == Self.keyLength else { return nil }
        user = UInt32(truncatingIfNeeded: value.first)
        options = SubscriptionEntry.Options(
            rawValue: UInt8(truncatingIfNeeded: value.first >> 32))
        number = value.stamp
        order = key.anchorOrder
        frameLength = Int(truncatingIfNeeded: value.second >> 1)
    }

    private static let keyLength = 41

    /// Where the subscription lies.
    var location: EntryLocation {
        EntryLocation(
            offset: JournalOffset(rawValue: number), version: .none, frameLength: frameLength)
    }
}
