package import StratusBytes

/// The entry of the end of a subscription: `Formats/Record.md`, "Subscription removal".
package struct SubscriptionRemovalEntry: Equatable, Sendable {
    /// The subscriber.
    package var user: UInt32
    package var scope: SubscriptionEntry.Scope
    package var id: String
    /// What ends.
    package var former: SubscriptionEntry.Replaced

    package init(
        user: UInt32, scope: SubscriptionEntry.Scope, id: String,
        former: SubscriptionEntry.Replaced
    ) {
        self.user = user
        self.scope = scope
        self.id = id
        self.former = former
    }

    /// The end of a subscription whose entry lies at `number`.
    package init(_ subscription: SubscriptionEntry, at number: UInt64) {
        self.init(
            user: subscription.user, scope: subscription.scope, id: subscription.id,
            former: subscription.former(at: number))
    }

    package func write(to writer: inout ByteWriter) {
        writer.varint(user)
        writer.uint8(scope.rawValue)
        writer.countedText(id)
        writer.uint64(former.number)
        writer.countedText(former.recordType)
        SubscriptionAnchor.write(former.anchors, to: &writer)
    }

    package init(_ bytes: Span<UInt8>) throws(FormatError) {
        var cursor = ByteCursor()
        user = try cursor.varint32(bytes)
        guard user > 0 else { throw .value("user") }
        scope = try SubscriptionEntry.Scope(bytes, &cursor)
        id = try SubscriptionEntry.readID(bytes, &cursor)
        let number = try cursor.uint64(bytes)
        former = try SubscriptionEntry.Replaced(number, bytes, &cursor)
        try ExtensionBlock.end(bytes, &cursor)
    }
}
