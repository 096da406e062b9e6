import Support
import Testing

/// Fold and feed alone: reading in rounds leads to what is visible, and each rule of it is needed.
struct RoundsModelTests {
    private struct Outcome {
        var rounds = 0
        /// The seeds of histories in which the reader ended with something else.
        var diverged: [UInt64] = []
        /// Those in which a page held a record that was not to be seen.
        var leaked: [UInt64] = []
    }

    private static let steps = 70

    /// One history: changes, and a reader that comes now and then, and at last reads to the end.
    private static func run(
        _ seed: UInt64, _ mutation: RoundsModel.Mutation?, statesLeaving: Bool,
        _ outcome: inout Outcome
    ) {
        var generator = SeededGenerator(seed: seed)
        var model = RoundsModel(
            SeededGenerator(seed: seed &* 7 &+ 1), mutation, statesLeaving: statesLeaving)
        var token = RoundsModel.Token()
        var held = Array(repeating: 0, count: RoundsModel.nameCount)
        var hasLeaked = false
        for step in 0..<steps + 400 {
            if step < steps, generator.below(100) < 72 {
                model.change()
                continue
            }
            let limit = [1, 1, 2, 3, 50][generator.below(5)]
            let (changes, moreComing) = model.page(&token, limit: limit)
            let visible = model.visible()
            for change in changes {
                switch change {
                case .modification(let name, let version):
                    if visible[name] == 0 { hasLeaked = true }
                    held[name] = version
                case .deletion(let name): held[name] = 0
                }
            }
            if moreComing { continue }
            outcome.rounds += 1
            if held != visible {
                outcome.diverged.append(seed)
                break
            }
            if step >= steps { break }
        }
        if hasLeaked { outcome.leaked.append(seed) }
    }

    @Test(arguments: [true, false])
    func `a reader of rounds ends with what is visible, and is given nothing else`(
        statesLeaving: Bool
    ) {
        let count = SharingCampaign.histories
        var outcome = Outcome()
        for number in 0..<count {
            Self.run(
                Campaign.seed &+ UInt64(number), nil, statesLeaving: statesLeaving, &outcome)
        }
        Campaign.report(
            "Rounds by themselves: \(count) histories, \(outcome.rounds) rounds completed,"
                + " \(outcome.diverged.count) diverged, \(outcome.leaked.count) leaked.\n")
        #expect(outcome.diverged.prefix(5) == [] && outcome.leaked.prefix(5) == [])
        #expect(outcome.rounds > count)
    }

    @Test(arguments: RoundsModel.Mutation.allCases)
    func `without any one of the rules a reader diverges or is given too much`(
        mutation: RoundsModel.Mutation
    ) {
        var outcome = Outcome()
        // One in some hundred histories shows it.
        for number in 0..<max(10_000, SharingCampaign.histories)
        where outcome.diverged.isEmpty && outcome.leaked.isEmpty {
            Self.run(Campaign.seed &+ UInt64(number), mutation, statesLeaving: true, &outcome)
        }
        #expect(!outcome.diverged.isEmpty || !outcome.leaked.isEmpty)
    }
}
