import Stratus

/// What alice's zones hold and what of them others see: parents and shares, and nothing of how a
/// store keeps them.
struct SharingModel {
    struct Node: Equatable {
        var type: String
        var parent: String?
        var value: Int64
    }

    /// A living share.
    struct Shared {
        /// Nil: the whole zone.
        var root: String?
        var recordName: String
        var link: String
        var publicPermission = Share.Permission.none
        /// Those who have not accepted: what they may do then, by user.
        var invited: [String: Part] = [:]
        var accepted: [String: Part] = [:]
        /// Those who went by themselves.
        var left: Set<String> = []
    }

    /// What a user has of a share.
    struct Part {
        var permission: Share.Permission
        /// Nil of one who joined by the link.
        var participantID: String?
    }

    struct Zone {
        var nodes: [String: Node] = [:]
        var shares: [Shared] = []
    }

    /// What a call of alice's does in one zone.
    struct Batch {
        var saved: [String: Node] = [:]
        var deleted: Set<String> = []
        /// The roots of new shares, each saved along, with the names of the shares' records.
        var shared: [String: String] = [:]
        /// The records of shares that end.
        var ended: Set<String> = []
    }

    /// Why a call fails; several reasons may hold.
    struct Refusal: Error { var codes: Set<StoreError.Code> }

    var zones: [String: Zone] = [:]
}

extension SharingModel.Zone {
    /// The place of the living share that a record is in.
    func share(of name: String) -> Int? {
        if let whole = shares.firstIndex(where: { $0.root == nil }) { return whole }
        var next: String? = name
        var steps = 0
        while let name = next, steps <= nodes.count {
            if let own = shares.firstIndex(where: { $0.root == name }) { return own }
            next = nodes[name]?.parent
            steps += 1
        }
        return nil
    }

    func isRoot(_ name: String) -> Bool { shares.contains { $0.root == name } }

    /// The names of a record and all below it.
    func tree(of name: String) -> Set<String> {
        var children: [String: [String]] = [:]
        for (child, node) in nodes {
            if let parent = node.parent { children[parent, default: []].append(child) }
        }
        var found: Set<String> = [name]
        var queue = [name]
        while let next = queue.popLast() {
            for child in children[next] ?? [] where found.insert(child).inserted {
                queue.append(child)
            }
        }
        return found
    }

    func hasChildren(_ name: String) -> Bool { nodes.values.contains { $0.parent == name } }

    /// The names of the records that a user sees, those of shares too.
    func visible(to user: String) -> Set<String> {
        let own = Set(shares.indices.filter { shares[$0].accepted[user] != nil })
        if own.isEmpty { return [] }
        let records = own.map { shares[$0].recordName }
        // All of a zone that is shared as a whole is in one share.
        if own.contains(where: { shares[$0].root == nil }) {
            return Set(nodes.keys).union(records)
        }
        // What was found of a record holds for all on the way up from it, too.
        var isSeen: [String: Bool] = [:]
        for share in shares.indices {
            if let root = shares[share].root { isSeen[root] = own.contains(share) }
        }
        for name in nodes.keys {
            var way: [String] = []
            var next: String? = name
            while let name = next, isSeen[name] == nil, way.count <= nodes.count {
                way.append(name)
                next = nodes[name]?.parent
            }
            let found = next.flatMap { isSeen[$0] } ?? false
            for name in way { isSeen[name] = found }
        }
        return Set(nodes.keys.filter { isSeen[$0] == true }).union(records)
    }

    func isVisible(to user: String) -> Bool { shares.contains { $0.accepted[user] != nil } }

    /// Whether a user may write a record: by the greater one of the own and the public permission
    /// (C78).
    func mayWrite(_ user: String, _ name: String) -> Bool {
        guard let place = share(of: name), let part = shares[place].accepted[user] else {
            return false
        }
        return part.permission == .readWrite || shares[place].publicPermission == .readWrite
    }

    /// The parent of a record as a user sees it: that of a root is not shown.
    func shownParent(of name: String) -> String? { isRoot(name) ? nil : nodes[name]?.parent }

    /// The zone after a call; new shares have no link yet.
    func after(_ batch: SharingModel.Batch) throws(SharingModel.Refusal) -> Self {
        var codes: Set<StoreError.Code> = []
        var zone = self
        for (name, node) in batch.saved { zone.nodes[name] = node }
        for name in batch.deleted { zone.nodes[name] = nil }
        zone.shares.removeAll { share in
            batch.ended.contains(share.recordName)
                || share.root.map { batch.deleted.contains($0) } ?? false
        }
        for node in zone.nodes.values {
            if let parent = node.parent, zone.nodes[parent] == nil {
                codes.insert(.referenceViolation)
            }
        }
        if zone.hasCircle { codes.insert(.invalidArguments) }
        for (root, recordName) in batch.shared {
            if zone.shares.contains(where: { $0.root == nil }) {
                codes.insert(.serverRejectedRequest)
            }
            if zone.isRoot(root) { codes.insert(.alreadyShared) }
            zone.shares.append(SharingModel.Shared(root: root, recordName: recordName, link: ""))
        }
        // No root is below another one.
        for case let root? in zone.shares.map({ $0.root }) {
            var next = zone.nodes[root]?.parent
            var steps = 0
            while let name = next, steps <= zone.nodes.count {
                if zone.isRoot(name) { codes.insert(.alreadyShared) }
                next = zone.nodes[name]?.parent
                steps += 1
            }
        }
        if !codes.isEmpty { throw SharingModel.Refusal(codes: codes) }
        return zone
    }

    private var hasCircle: Bool {
        for name in nodes.keys {
            var next = nodes[name]?.parent
            var steps = 0
            while let parent = next {
                steps += 1
                if parent == name || steps > nodes.count { return true }
                next = nodes[parent]?.parent
            }
        }
        return false
    }
}

extension SharingModel {
    /// The names of the zones of which a user sees anything.
    func zones(visibleTo user: String) -> Set<String> {
        Set(zones.filter { $0.value.isVisible(to: user) }.keys)
    }
}
