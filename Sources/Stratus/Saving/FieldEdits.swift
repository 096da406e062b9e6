internal import StratusEngine

/// The edits of a record: for each field that was touched a value, or nil where it is to go.
///
/// A list and no dictionary: records have few fields, and comparing short names is faster than
/// hashing them. Beyond a few, an index of the names keeps it so.
struct FieldEdits: Sendable {
    struct Edit: Sendable {
        var key: String
        var value: RecordValue?
        var isEncrypted = false
    }

    private(set) var all: [Edit] = []
    /// Whether a value with assets was ever set.
    private(set) var hasAssets = false
    /// Where each key stands; only kept once there are more than ``listLimit``.
    private var places: [String: Int] = [:]

    private static let listLimit = 24

    func edit(of key: String) -> Edit? {
        all.isEmpty ? nil : place(of: key).map { all[$0] }
    }

    /// Once flagged as encrypted, a field stays so.
    mutating func set(_ key: String, _ value: RecordValue?, isEncrypted: Bool = false) {
        if value?.hasAssets == true { hasAssets = true }
        if let place = place(of: key) {
            all[place].value = value
            if isEncrypted { all[place].isEncrypted = true }
            return
        }
        if all.isEmpty { all.reserveCapacity(8) }
        all.append(Edit(key: key, value: value, isEncrypted: isEncrypted))
        if all.count > Self.listLimit { index() }
    }

    mutating func forget(_ key: String) {
        guard let place = place(of: key) else { return }
        all.remove(at: place)
        places = [:]
        if all.count > Self.listLimit { index() }
    }

    private mutating func index() {
        // Only what is new, where the rest is known already.
        for place in places.count..<all.count { places[all[place].key] = place }
    }

    private func place(of key: String) -> Int? {
        all.count > Self.listLimit ? places[key] : all.firstIndex { $0.key == key }
    }
}
