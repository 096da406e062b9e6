import FoundationEssentials
import Testing

/// A file of the package, with the path it has from the package's root.
struct SourceFile: Sendable, CustomTestStringConvertible {
    let path: String
    let text: String

    var testDescription: String { path }

    /// All Swift files that the rules speak of.
    static let all = files(endingWith: [".swift"])

    /// The C files; only their size is ruled.
    static let allInC = files(endingWith: [".c", ".h"])

    private static func files(endingWith endings: [String]) -> [SourceFile] {
        ["Sources", "Tools/stratus", "Tests"].flatMap { folder in
            Package.paths(below: folder)
                .filter { path in endings.contains { path.hasSuffix($0) } }
                .map { SourceFile(path: $0, text: Package.text($0) ?? "") }
        }
    }
}

/// The package as it lies on disk.
enum Package {
    static let root = #filePath.split(separator: "/", omittingEmptySubsequences: false)
        .dropLast(3).joined(separator: "/")

    /// The names in a folder, or none where there is no such folder.
    static func names(in folder: String) -> [String] {
        let names = try? FileManager.default.contentsOfDirectory(atPath: "\(root)/\(folder)")
        return (names ?? []).sorted()
    }

    /// The paths of everything below a folder, from the package's root.
    static func paths(below folder: String) -> [String] {
        let paths = try? FileManager.default.subpathsOfDirectory(atPath: "\(root)/\(folder)")
        return (paths ?? []).sorted().map { "\(folder)/\($0)" }
    }

    static func text(_ path: String) -> String? {
        FileManager.default.contents(atPath: "\(root)/\(path)")
            .map { String(decoding: $0, as: UTF8.self) }
    }
}

@Test func `the rules find the files they are about`() {
    #expect(SourceFile.all.contains { $0.path == "Tests/LayoutTests/SourceFile.swift" })
    #expect(SourceFile.all.contains { $0.path.hasPrefix("Tools/stratus/") })
    #expect(SourceFile.all.contains { $0.path.hasPrefix("Sources/Stratus/") })
    #expect(SourceFile.all.allSatisfy { !$0.text.isEmpty })
}
