// swift-tools-version: 6.3

import Foundation
import PackageDescription

let settings: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .treatAllWarnings(as: .error),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    // As in Stratus itself: an async call that need not wait stays on its caller's thread.
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
]

/// The rivals, as Debian packages them. Without all of them the package is good for Stratus alone:
/// `Benchmarks write` is used by other scripts.
let rivals = [
    "CSQLite": ("sqlite3.h", "libsqlite3-dev"), "CLMDB": ("lmdb.h", "liblmdb-dev"),
    "CRocksDB": ("rocksdb/c.h", "librocksdb-dev"), "CLevelDB": ("leveldb/c.h", "libleveldb-dev"),
]
let hasRivals = rivals.values.allSatisfy { header, _ in
    FileManager.default.fileExists(atPath: "/usr/include/" + header)
}
let libraries: [Target] =
    hasRivals
    ? rivals.sorted { $0.key < $1.key }.map { name, place in
        .systemLibrary(name: name, providers: [.apt([place.1])])
    } : []

let package = Package(
    name: "benchmarks",
    dependencies: [.package(name: "stratus", path: "../..")],
    targets: [
        // Counts allocations and syncs, by standing before the C library's own functions.
        .target(name: "CCounting"),
        .executableTarget(
            name: "Benchmarks",
            dependencies: ["CCounting", .product(name: "Stratus", package: "stratus")]
                + libraries.map { .byName(name: $0.name) },
            exclude: hasRivals ? ["Engines/WithoutRivals.swift"] : ["Engines/Rivals"],
            swiftSettings: settings),
    ] + libraries
)
