import FoundationEssentials

/// What the environment says about how long the proofs of sharing run. Where it says nothing, they
/// take a few seconds.
enum SharingCampaign {
    /// How many stores run beside a model, and how many steps each: STRATUS_SHARING_SEEDS,
    /// STRATUS_SHARING_STEPS.
    static let seeds = number("STRATUS_SHARING_SEEDS") ?? 40
    static let steps = number("STRATUS_SHARING_STEPS") ?? 250
    /// The same of stores whose power goes: STRATUS_SHARING_CRASH_SEEDS.
    static let crashSeeds = number("STRATUS_SHARING_CRASH_SEEDS") ?? 8
    /// How many pairs of histories are compared that differ in what is hidden:
    /// STRATUS_SHARING_PAIRS.
    static let pairs = number("STRATUS_SHARING_PAIRS") ?? 200
    /// How many histories go through fold and feed alone: STRATUS_SHARING_HISTORIES.
    static let histories = number("STRATUS_SHARING_HISTORIES") ?? 10_000

    private static let environment = ProcessInfo.processInfo.environment

    private static func number(_ name: String) -> Int? { environment[name].flatMap { Int($0) } }
}
