// swift-tools-version: 6.3

import PackageDescription

let package = Package(
    name: "benchmarks",
    dependencies: [.package(name: "stratus", path: "../..")],
    targets: [
        // Counts allocations, by standing before the C library's own allocator.
        .target(name: "CCounting"),
        .executableTarget(
            name: "Benchmarks",
            dependencies: ["CCounting", .product(name: "Stratus", package: "stratus")],
            swiftSettings: [.swiftLanguageMode(.v6)]),
    ]
)
