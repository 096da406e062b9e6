/// What stands in for the rivals where their packages are not installed: then this package is good
/// for Stratus alone, as other scripts use it.
enum Engines {
    static func run(_ setting: Setting) async throws -> Measurement {
        switch setting.engine {
        case .raw: return try await Raw.run(setting)
        case .stratus: return try await Workloads<StratusEngine<ByCalls>>(setting).run()
        case .stratusMapped: return try await Workloads<StratusEngine<Mapped>>(setting).run()
        default: throw BenchmarkError("built without rivals: Tools/benchmarks/run installs them")
        }
    }

    static func writeUntilKilled(_ setting: Setting, startingAt first: Int) async throws {
        try await Workloads<StratusEngine<ByCalls>>(setting).writeUntilKilled(startingAt: first)
    }

    static func versions() -> [String: String] { [:] }
}

/// No store to compare the cost of indexes with.
enum IndexRival {
    static func side(
        at path: String, _ declaration: IndexCost.Declaration
    ) throws -> (any IndexCost.Side)? { nil }
}

/// No stores that are asked beside ours.
enum QueryRivals {
    static func sides(
        at path: String, _ count: Int
    ) throws -> [(name: String, side: any QueryCost.Side)] { [] }
}
