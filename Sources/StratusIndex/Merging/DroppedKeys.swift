/// Keys that nothing reads any more, at whatever point and in whatever partition: those of a keyspace
/// that begin with one of these numbers of 4 bytes. Merges leave them out.
package struct DroppedKeys: Sendable {
    private let keyspace: UInt8
    private let numbers: Set<UInt32>

    package init(keyspace: UInt8, numbers: Set<UInt32>) {
        self.keyspace = keyspace
        self.numbers = numbers
    }

    func contains(_ key: IndexKey) -> Bool {
        key.keyspace == keyspace && key.count >= 9 && numbers.contains(key.uint32(at: 5))
    }
}
