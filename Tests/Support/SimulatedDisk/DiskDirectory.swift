/// What a name stands for: the place in the medium's list of files or of directories.
enum DiskNode: Hashable, Sendable {
    case file(Int)
    case directory(Int)
}

/// A directory as processes see it, as the medium holds it, and the changes between the two.
struct DiskDirectory: Sendable {
    /// What processes see.
    private(set) var visible: [String: DiskNode] = [:]
    /// What the medium holds for certain.
    private(set) var durable: [String: DiskNode] = [:]

    /// As processes see them; a crash leaves them as they are.
    var attributes = DiskAttributes(permissions: 0o700)

    private var pending: [NameChange] = []
    /// What a failed synchronisation left: on the medium or not, and never tried again.
    private var limbo: [NameChange] = []

    /// Without an order on purpose: not the one a careless caller would hope for.
    var names: [String] { visible.keys.sorted(by: >) }

    mutating func set(_ name: String, to node: DiskNode?) {
        visible[name] = node
        pending.append(NameChange(name: name, node: node))
    }

    mutating func rename(_ name: String, to newName: String) {
        guard let node = visible[name] else { return }
        visible[name] = nil
        visible[newName] = node
        pending.append(NameChange(name: newName, node: node, isRename: true))
        pending.append(NameChange(name: name, node: nil))
    }

    mutating func synchronize() {
        for change in pending { durable[change.name] = change.node }
        let names = Set(pending.map(\.name))
        limbo.removeAll { names.contains($0.name) }
        pending = []
    }

    mutating func failSynchronization() {
        limbo += pending
        pending = []
    }

    /// Whether the medium may still know the node by a name.
    func mayKnow(_ node: DiskNode) -> Bool {
        let changes = limbo + pending
        return durable.values.contains(node) || changes.contains { $0.node == node }
    }

    /// The power goes: every name stands for what it did at any moment since the synchronisation.
    mutating func crash(_ chance: inout CrashChance) {
        let changes = limbo + pending
        guard !changes.isEmpty else { return }
        let before = durable
        for name in Set(changes.map(\.name)).sorted() {
            let versions = changes.filter { $0.name == name }.map(\.node)
            durable[name] = chance.name([before[name]] + versions)
        }
        for change in changes where change.isRename {
            keepRenamed(change.node, before, &chance)
        }
        visible = durable
        pending = []
        limbo = []
    }

    /// A rename may leave two names, but never none, of a file whose old name was durable.
    private mutating func keepRenamed(
        _ node: DiskNode?, _ before: [String: DiskNode], _ chance: inout CrashChance
    ) {
        guard let node, !durable.values.contains(node),
            let oldName = before.filter({ $0.value == node }).keys.min(),
            let newName = visible.filter({ $0.value == node }).keys.min()
        else { return }
        let isOldFree = durable[oldName] == nil
        durable[isOldFree && chance.generator.oneIn(2) ? oldName : newName] = node
    }

    /// A change on the medium behind the back of everyone.
    mutating func damage(_ name: String, to node: DiskNode?) {
        visible[name] = node
        durable[name] = node
        pending.removeAll { $0.name == name }
        limbo.removeAll { $0.name == name }
    }

    mutating func removeAll() { self = DiskDirectory() }
}

/// A name and what it stands for from a moment on.
private struct NameChange: Sendable {
    var name: String
    var node: DiskNode?
    var isRename = false
}
