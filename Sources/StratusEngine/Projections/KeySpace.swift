package import StratusBytes
package import StratusIndex

/// One of the ordered maps of the index. A key begins with the zone and the keyspace it is of, so
/// that what belongs to one tenant lies together. Zone 0 is the store's own. Each projection
/// declares its own; `Formats/Index.md`, "Keys", lists them.
package struct KeySpace: Sendable {
    package let rawValue: UInt8
    /// As `stratus info` shows it.
    package let name: String

    package init(_ number: UInt8, _ name: String) {
        rawValue = number
        self.name = name
    }

    package func key(zone: UInt32 = 0) -> IndexKey {
        IndexKey(partition: zone).appending(rawValue)
    }

    /// All keys of the keyspace in `zone`.
    package func range(zone: UInt32 = 0) -> Range<IndexKey> { key(zone: zone).asPrefix }
}

extension IndexKey {
    package func appending(_ hash: Hash128) -> IndexKey { appending(hash.high, hash.low) }

    /// All keys that begin with this one.
    package var asPrefix: Range<IndexKey> { self..<afterPrefix }
}
