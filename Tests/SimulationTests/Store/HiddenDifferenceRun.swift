import Stratus
import Support

/// Two stores to which the same is done, but for records that bob cannot see: all that bob asks has
/// the same answer in both. Tags, tokens and links aside, and names that a hidden record has.
struct HiddenDifferenceRun {
    static let zone = RecordZone.ID(zoneName: "notes")
    static let seenNames = (0..<8).map { "s\($0)" }
    static let hiddenNames = (0..<8).map { "h\($0)" }

    private var sides: [HiddenSide]
    private var generator: SeededGenerator
    /// The records that bob may see, and the shares that are bob's to accept.
    private var model = SharingModel.Zone()
    private var counter: Int64 = 0
    private(set) var step = 0
    private(set) var problems: [String] = []
    /// How many answers were compared, and how many of them told of a record or an error.
    private(set) var answers = 0
    private(set) var hiddenCalls = 0

    init(seed: UInt64) throws {
        generator = SeededGenerator(seed: seed)
        // The same store twice; what is hidden comes from other numbers.
        sides = try [UInt64(1), 2].map { number in
            try HiddenSide(seed: seed, hidden: SeededGenerator(seed: seed &* 31 &+ number))
        }
    }

    mutating func run(_ steps: Int) async throws {
        try await begin()
        for number in 0..<steps where problems.isEmpty {
            step = number
            for place in sides.indices { sides[place].setTime(number) }
            try await change()
            for place in sides.indices { hiddenCalls += try await sides[place].changeHidden() }
            if generator.oneIn(2) { try await compareAnswers() }
        }
        try await compareAnswers()
    }

    /// Both have `h0`, which may be the parent of what is shared and is never shared itself.
    private mutating func begin() async throws {
        for place in sides.indices {
            sides[place].setTime(0)
            let database = sides[place].owner
            try await database.save(RecordZone(zoneID: Self.zone))
            try await database.save(sides[place].record("h0", .init(type: "T", value: 0)))
        }
        model.nodes["h0"] = .init(type: "T", value: 0)
    }

    private mutating func next() -> Int64 {
        counter += 1
        return counter
    }

    /// Compares what both sides answer.
    private mutating func compare(
        _ what: String, _ body: (inout HiddenSide) async throws -> [String]
    ) async throws {
        let first = try await body(&sides[0])
        let second = try await body(&sides[1])
        answers += first.count
        if first == second { return }
        let left = first.filter { !second.contains($0) }.prefix(3)
        let right = second.filter { !first.contains($0) }.prefix(3)
        problems.append("step \(step), \(what): \(Array(left)) and \(Array(right))")
    }

    private mutating func compareAnswers() async throws {
        try await compare("reads") { try await $0.reads() }
        try await compare("pages and queries") { try await $0.lists() }
        try await compare("the feed of the database") { try await $0.zones() }
        try await compare("a page of a slow reader") { try await $0.slowPage() }
        if generator.oneIn(3) { try await compare("the feed") { try await $0.feed() } }
        try await compare("a feed from nothing") { try await $0.feedFromNothing() }
        if generator.oneIn(3) {
            for place in sides.indices { try await sides[place].hold() }
        }
    }
}

// What is done to both.
extension HiddenDifferenceRun {
    private mutating func change() async throws {
        switch generator.below(20) {
        case ..<9: try await changeAsOwner()
        case ..<15: try await writeAsBob()
        case ..<17: try await acceptOrLeave()
        case 17: try await changePermission()
        default: break
        }
    }

    private mutating func changeAsOwner() async throws {
        var batch = SharingModel.Batch()
        for _ in 0..<1 + generator.below(4) { addItem(to: &batch) }
        if generator.oneIn(3) { addShare(to: &batch) }
        if generator.oneIn(12), let share = model.shares.randomElement(using: &generator) {
            batch.ended.insert(share.recordName)
        }
        guard let after = try? model.after(batch) else { return }
        let permission: Share.Permission = generator.oneIn(3) ? .readOnly : .readWrite
        let given = batch
        try await compare("a call of the owner") {
            try await $0.apply(given, inviting: permission)
        }
        model = after
        for place in model.shares.indices
        where batch.shared.values.contains(model.shares[place].recordName) {
            model.shares[place].invited["bob"] = SharingModel.Part(permission: permission)
        }
    }

    private mutating func addItem(to batch: inout SharingModel.Batch) {
        let name = Self.seenNames[generator.below(Self.seenNames.count)]
        guard batch.saved[name] == nil, !batch.deleted.contains(name) else { return }
        let parents = model.nodes.keys.sorted() + batch.saved.keys.sorted()
        let place = generator.below(parents.count + 1)
        let parent = place < parents.count ? parents[place] : nil
        guard let node = model.nodes[name] else {
            batch.saved[name] = .init(type: "T", parent: parent, value: next())
            return
        }
        if generator.oneIn(5), !model.hasChildren(name) {
            batch.deleted.insert(name)
        } else {
            let isMoved = generator.oneIn(2) && parent != name
            batch.saved[name] = .init(
                type: "T", parent: isMoved ? parent : node.parent, value: next())
        }
    }

    private mutating func addShare(to batch: inout SharingModel.Batch) {
        let names = model.nodes.keys.filter {
            $0 != "h0" && batch.saved[$0] == nil && !batch.deleted.contains($0)
                && model.share(of: $0) == nil
        }
        guard let root = names.sorted().randomElement(using: &generator),
            var node = model.nodes[root]
        else { return }
        node.value = next()
        batch.saved[root] = node
        batch.shared[root] = "Share-\(next())"
    }

    private mutating func acceptOrLeave() async throws {
        guard !model.shares.isEmpty else { return }
        let place = generator.below(model.shares.count)
        let name = model.shares[place].recordName
        if let part = model.shares[place].invited.removeValue(forKey: "bob") {
            model.shares[place].accepted["bob"] = part
            try await compare("an acceptance") { try await $0.accept(name) }
        } else if model.shares[place].accepted["bob"] != nil, generator.oneIn(3) {
            model.shares[place].accepted["bob"] = nil
            try await compare("leaving") { try await $0.delete(name) }
        }
    }

    private mutating func changePermission() async throws {
        guard let share = model.shares.randomElement(using: &generator) else { return }
        let permission: Share.Permission = generator.oneIn(2) ? .readOnly : .readWrite
        let isRemoved = generator.oneIn(4)
        let name = share.recordName
        try await compare("another permission") {
            try await $0.edit(name, isRemoved ? nil : permission)
        }
        guard isRemoved,
            let place = model.shares.firstIndex(where: { $0.recordName == name })
        else { return }
        model.shares[place].invited["bob"] = nil
        model.shares[place].accepted["bob"] = nil
    }

    /// What bob tries, also with names of hidden records; new records of such names are aside.
    private mutating func writeAsBob() async throws {
        let name = Self.seenNames[generator.below(Self.seenNames.count)]
        let hidden = Self.hiddenNames[generator.below(Self.hiddenNames.count)]
        let names = Self.seenNames + [hidden, "missing"]
        let parent = names[generator.below(names.count)]
        let value = next()
        switch generator.below(7) {
        case 0: try await compare("deleting") { try await $0.delete(hidden) }
        case 1: try await compare("deleting") { try await $0.delete(name) }
        case 2:
            try await compare("an old copy") { try await $0.saveHeld(name, value) }
        case 3:
            try await compare("a validated target") {
                try await $0.savePointing("new\(value)", below: name, to: hidden)
            }
        case 4:
            try await compare("moving") { try await $0.save(name, value, below: parent) }
        default:
            try await compare("a new record") {
                try await $0.save("new\(value)", value, below: parent)
            }
        }
        // What bob's writes made of the records that both have is read from one of them.
        model = try await sides[0].model(model)
    }
}
