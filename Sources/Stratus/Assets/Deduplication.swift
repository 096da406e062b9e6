internal import StratusAssets
internal import StratusBytes
internal import StratusEngine
internal import StratusJournal

extension Container {
    /// Whose assets are stored once where they are the same.
    public enum Deduplication: Hashable, Sendable {
        /// Those of each user in each database: no user can learn from a save, its duration or what
        /// it takes on the disk what others have stored. The default.
        case perUser
        /// All of the store, for users who trust each other: a user who saves a file can learn, by
        /// how long that takes, whether the store had it already.
        case wholeStore
    }
}

extension StoreIdentity {
    /// The domain in which the assets of a user in a database are the same: in another user's zone, in
    /// what of that user's the caller writes.
    func domain(
        _ scope: DatabaseScope, _ zone: RecordZone.ID?, _ caller: UserID,
        _ deduplication: Container.Deduplication
    ) -> ChunkDomain {
        var writer = ByteWriter(capacity: 40)
        switch (deduplication, scope) {
        case (.wholeStore, _): writer.uint8(0)
        case (.perUser, .public):
            writer.uint8(1)
            writer.hash(caller.bits)
        case (.perUser, .private(let owner)):
            writer.uint8(2)
            writer.hash(owner.bits)
            writer.hash(caller.bits)
        case (.perUser, .shared):
            writer.uint8(2)
            if let owner = zone.flatMap({ UserID(recordName: $0.ownerName) }) {
                writer.hash(owner.bits)
            }
            writer.hash(caller.bits)
        }
        return ChunkDomain(Hash128(writer.bytes.span, seed: secret))
    }
}
