// swift-tools-version: 6.3

import PackageDescription

// One list of settings for every Swift target.
let settings: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .strictMemorySafety(),
    .treatAllWarnings(as: .error),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    // Public async functions stay on the caller's executor: what memory can answer never leaves
    // the caller's thread.
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
]

// Tests whose time goes by in the library: compiling them with optimisation takes three times as
// long, and they would run a few percent faster. Those with models of their own are optimised. File
// by file both cores compile one module, and what did not change is not compiled again; the driver
// then says that it ignores -num-threads, which the package manager gives.
let testSettings =
    settings + [
        .unsafeFlags([
            "-Onone", "-no-whole-module-optimization", "-enable-batch-mode", "-incremental",
        ])
    ]

let package = Package(
    name: "stratus",
    products: [
        .library(name: "Stratus", targets: ["Stratus"]),
        .library(name: "StratusGateway", targets: ["StratusGateway"]),
        .executable(name: "stratus", targets: ["StratusTool"]),
    ],
    // The layers, bottom to top. Imports point down only; LayoutTests holds the table.
    targets: [
        .systemLibrary(name: "CXXHash", providers: [.apt(["libxxhash-dev"])]),
        .systemLibrary(name: "CLZ4", providers: [.apt(["liblz4-dev"])]),
        .systemLibrary(name: "CCrypto", providers: [.apt(["libssl-dev"])]),
        .target(name: "CLinux"),
        .target(
            name: "StratusBytes", dependencies: ["CXXHash", "CLZ4", "CCrypto"],
            swiftSettings: settings),
        .target(
            name: "StratusFiles", dependencies: ["CLinux", "StratusBytes"], swiftSettings: settings),
        .target(
            name: "StratusJournal", dependencies: ["StratusFiles", "StratusBytes"],
            swiftSettings: settings),
        .target(
            name: "StratusIndex", dependencies: ["StratusFiles", "StratusBytes"],
            swiftSettings: settings),
        .target(
            name: "StratusAssets", dependencies: ["StratusFiles", "StratusBytes"],
            swiftSettings: settings),
        .target(
            name: "StratusLanguage", dependencies: ["StratusBytes"], swiftSettings: settings),
        .target(
            name: "StratusArchive", dependencies: ["StratusFiles", "StratusBytes"],
            swiftSettings: settings),
        .target(
            name: "StratusEngine",
            dependencies: [
                "StratusLanguage", "StratusAssets", "StratusIndex", "StratusJournal",
                "StratusFiles", "StratusBytes",
            ],
            swiftSettings: settings),
        .target(
            name: "Stratus",
            dependencies: [
                "StratusEngine", "StratusLanguage", "StratusArchive", "StratusAssets",
                "StratusIndex", "StratusJournal", "StratusFiles", "StratusBytes",
            ],
            swiftSettings: settings),
        .target(
            name: "StratusGateway",
            dependencies: ["Stratus", "StratusLanguage", "StratusFiles", "StratusBytes"],
            swiftSettings: settings),
        .executableTarget(
            name: "StratusTool",
            dependencies: [
                "StratusGateway", "Stratus", "StratusEngine", "StratusLanguage", "StratusJournal",
                "StratusFiles", "StratusBytes",
            ],
            path: "Tools/stratus", swiftSettings: settings),

        .target(
            name: "Support", dependencies: ["StratusJournal", "StratusFiles", "StratusBytes"],
            path: "Tests/Support", swiftSettings: settings),
        .testTarget(
            name: "StratusBytesTests", dependencies: ["StratusBytes", "Support"],
            swiftSettings: testSettings),
        .testTarget(
            name: "StratusFilesTests", dependencies: ["StratusFiles", "Support"],
            swiftSettings: testSettings),
        .testTarget(
            name: "StratusJournalTests",
            dependencies: ["StratusJournal", "StratusFiles", "StratusBytes", "Support"],
            swiftSettings: testSettings),
        .testTarget(
            name: "StratusIndexTests",
            dependencies: ["StratusIndex", "StratusFiles", "StratusBytes", "Support"],
            swiftSettings: testSettings),
        .testTarget(
            name: "StratusAssetsTests",
            dependencies: ["StratusAssets", "StratusFiles", "StratusBytes", "Support"],
            swiftSettings: testSettings),
        .testTarget(
            name: "StratusLanguageTests", dependencies: ["StratusLanguage", "Support"],
            swiftSettings: testSettings),
        .testTarget(
            name: "StratusTests", dependencies: ["Stratus", "StratusEngine", "Support"],
            exclude: ["CASES.md"],
            swiftSettings: testSettings),
        .testTarget(
            name: "FormatTests",
            dependencies: [
                "Stratus", "StratusArchive", "StratusEngine", "StratusLanguage", "StratusIndex",
                "StratusJournal", "StratusFiles", "StratusBytes", "Support",
            ],
            swiftSettings: testSettings),
        .testTarget(
            name: "SimulationTests",
            dependencies: [
                "Stratus", "StratusArchive", "StratusEngine", "StratusAssets", "StratusIndex",
                "StratusJournal", "StratusFiles",
                "StratusBytes", "Support",
            ],
            swiftSettings: settings),
        .testTarget(
            name: "ModelTests",
            dependencies: [
                "Stratus", "StratusGateway", "StratusJournal", "StratusFiles", "Support",
            ],
            swiftSettings: settings),
        .target(name: "CCounting", path: "Tools/benchmarks/Sources/CCounting"),
        .executableTarget(
            name: "AllocationProbe", dependencies: ["CCounting", "Stratus"],
            path: "Tests/AllocationProbe", swiftSettings: settings),
        .testTarget(
            name: "AllocationTests", dependencies: ["AllocationProbe", "Support"],
            swiftSettings: testSettings),
        .testTarget(name: "LayoutTests", dependencies: ["Support"], swiftSettings: settings),
        .testTarget(name: "ReadmeTests", dependencies: ["Stratus"], swiftSettings: testSettings),
        .testTarget(
            name: "StratusGatewayTests",
            dependencies: ["StratusGateway", "Stratus", "StratusFiles", "Support"],
            swiftSettings: testSettings),
        .testTarget(
            name: "StratusToolTests",
            dependencies: [
                "StratusTool", "StratusGateway", "Stratus", "StratusEngine", "StratusJournal",
                "StratusFiles", "Support",
            ],
            swiftSettings: testSettings),
    ]
)
