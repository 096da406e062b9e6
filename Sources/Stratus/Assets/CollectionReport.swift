internal import StratusEngine

/// What a collection did or, where it was only to say so, would do.
public struct CollectionReport: Hashable, Sendable {
    /// A file of chunks that goes, and why.
    public struct Segment: Hashable, Sendable {
        /// What is wrong with a segment.
        public enum Reason: String, Hashable, Sendable {
            /// Nothing in it was named: a save that was not finished, or a crash, has left it; or
            /// an earlier collection, which had to keep it then.
            case unnamed
            /// What was named in it no record needs any more: it was replaced, removed or deleted.
            case replaced
            /// Most of it is one or the other; the rest is copied.
            case mostlyDead
        }

        /// What keeps a segment.
        public enum Keeper: String, Hashable, Sendable {
            /// A reading process may see what was in it.
            case reader
            /// Some of it is damaged, and was not copied.
            case damage
            /// The store could take no checkpoint, and what named it may come back with a crash.
            case checkpoint
        }

        /// The file's name inside the store.
        public var file: String
        /// Why it goes.
        public var reason: Reason
        /// What its frames take, in bytes.
        public var bytes: Int
        /// Of these, what no record needs any more.
        public var reclaimedBytes: Int
        /// Of these, what is copied.
        public var copiedBytes: Int
        /// Why it is still there; nil: it is gone or, where that was only to be said, goes.
        public var keeper: Keeper?

        /// Of these, what nothing named before. Where damage hides the end, less than there is.
        public var unnamedBytes: Int { max(0, bytes - reclaimedBytes - copiedBytes) }
    }

    /// Chunks that the journal knows and no record names any more, nor did one that can still be
    /// seen, wherever they lie.
    public var reclaimedChunks = 0
    /// What these take with their frames, in bytes.
    public var reclaimedBytes = 0
    /// Chunks out of segments that are mostly dead.
    public var copiedChunks = 0
    /// What these take with their frames, in bytes.
    public var copiedBytes = 0
    /// The segments in which nothing is needed, or little, in the order of their numbers.
    public var segments: [Segment] = []

    /// Those that are gone.
    public var deletedSegments: [Segment] { segments.filter { $0.keeper == nil } }
    /// Those that stay until the next time.
    public var keptSegments: [Segment] { segments.filter { $0.keeper != nil } }
    /// What was in these segments and nothing named before, in bytes.
    public var unnamedBytes: Int { segments.reduce(0) { $0 + $1.unnamedBytes } }
    /// How much less the store takes, in bytes.
    public var freedBytes: Int { deletedSegments.reduce(0) { $0 + $1.bytes - $1.copiedBytes } }
}
