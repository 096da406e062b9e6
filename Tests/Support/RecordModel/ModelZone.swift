/// A zone, and the last change of everything that is or was in it.
package struct ModelZone: Sendable {
    package struct Change: Hashable, Sendable {
        /// When, by a clock that ticks with every change of the container.
        package var time: Int
        /// The type of the record that is no more; nil where it lives.
        package var deletedType: String?
    }

    package let name: String
    /// Which of all zones that had this name.
    package let incarnation: Int
    package internal(set) var records: [String: ModelRecord] = [:]
    package internal(set) var changes: [String: Change] = [:]

    static let defaultName = "_defaultZone"
    /// Semantics 1.3: the default zone has no capabilities.
    package var hasCapabilities: Bool { name != Self.defaultName }

    mutating func put(_ record: ModelRecord, at time: Int) {
        records[record.id.name] = record
        changes[record.id.name] = Change(time: time)
    }

    mutating func remove(_ name: String, at time: Int) {
        guard let record = records.removeValue(forKey: name) else { return }
        changes[name] = Change(time: time, deletedType: record.type)
    }
}

/// A database: its zones, and the last change of all that are or were there.
package struct ModelDatabase: Sendable {
    package enum Reason: Int, Sendable { case deleted, purged }

    package struct Change: Hashable, Sendable {
        package var time: Int
        /// Why it is no more; nil where it lives.
        package var reason: Reason?
    }

    package internal(set) var zones: [String: ModelZone] = [:]
    package internal(set) var changes: [String: Change] = [:]

    init() {
        zones[ModelZone.defaultName] = ModelZone(name: ModelZone.defaultName, incarnation: 0)
    }

    /// The failure of a call that names a zone that is not there: semantics 5.4.
    func missing(_ zone: String) -> ModelFailure {
        ModelFailure(changes[zone]?.reason == .purged ? .userDeletedZone : .zoneNotFound)
    }
}
