import FoundationEssentials

/// What the environment says about how long a proof runs and where its counts go. Where it says
/// nothing, the counts are a tenth of what a campaign's are.
enum Campaign {
    /// How many crash points are tried: STRATUS_CRASH_POINTS.
    static let crashPoints = number("STRATUS_CRASH_POINTS") ?? 10_000
    /// Where everything random comes from: STRATUS_SEED.
    static let seed = UInt64(number("STRATUS_SEED") ?? 1)
    /// The one point to try again, as a failure names it: STRATUS_CRASH_REPLAY=run.point.
    static let replay: (run: Int, point: Int)? = {
        let parts = environment["STRATUS_CRASH_REPLAY"]?.split(separator: ".").compactMap {
            Int($0)
        }
        guard let parts, parts.count == 2 else { return nil }
        return (parts[0], parts[1])
    }()
    /// Whether every byte and every length is tried, and not a sample: STRATUS_ALL_BYTES.
    static let triesAllBytes = environment["STRATUS_ALL_BYTES"] != nil
    /// Every so-many-th byte and length of a journal is tried: STRATUS_BYTE_STRIDE.
    static let byteStride = triesAllBytes ? 1 : number("STRATUS_BYTE_STRIDE") ?? 9

    /// How many record stores run beside a model, and how many steps each:
    /// STRATUS_STORE_SEEDS, STRATUS_STORE_STEPS.
    static let storeSeeds = number("STRATUS_STORE_SEEDS") ?? 10
    static let storeSteps = number("STRATUS_STORE_STEPS") ?? 1000

    /// How many stores have archives from which all is restored: STRATUS_ARCHIVE_STORES.
    static let archiveStores = number("STRATUS_ARCHIVE_STORES") ?? 500

    /// Every so-many-th crash in a checkpoint of a record store is tried: STRATUS_CRASH_STRIDE.
    static let crashStride = number("STRATUS_CRASH_STRIDE") ?? 10
    /// How often the power of a store goes that tells its users of changes, for each way to sync, and
    /// of one that sends pushes: STRATUS_SUBSCRIPTION_CRASHES.
    static let subscriptionCrashes = number("STRATUS_SUBSCRIPTION_CRASHES") ?? 100
    /// How often the power goes while a schema is changed and indexes are built: STRATUS_SCHEMA_CRASHES.
    static let schemaCrashes = number("STRATUS_SCHEMA_CRASHES") ?? 60
    /// How many transfers readers look at: STRATUS_TRANSFERS.
    static let transfers = number("STRATUS_TRANSFERS") ?? 1000
    /// How many records go with one that is deleted: STRATUS_CHILDREN.
    static let children = number("STRATUS_CHILDREN") ?? 20_000
    /// How many updates go by while snapshots are held: STRATUS_UPDATES.
    static let updates = number("STRATUS_UPDATES") ?? 100_000
    /// A file whose bytes go in and out as an asset: STRATUS_ASSET_FILE.
    static let assetFile = environment["STRATUS_ASSET_FILE"]
    /// How often that is done: STRATUS_REPEATS.
    static let repeats = number("STRATUS_REPEATS") ?? 1
    /// Where large files are made: STRATUS_FOLDER.
    static let folder =
        environment["STRATUS_FOLDER"] ?? FileManager.default.temporaryDirectory.path

    /// A table in Markdown.
    static func table(_ head: [String], _ rows: [[String]]) -> String {
        let lines = [head, head.map { _ in "---" }] + rows
        return lines.map { "| " + $0.joined(separator: " | ") + " |\n" }.joined()
    }

    private static let environment = ProcessInfo.processInfo.environment

    private static func number(_ name: String) -> Int? { environment[name].flatMap { Int($0) } }
}
