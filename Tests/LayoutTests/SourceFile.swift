import Support
import Testing

/// A file of the package, with the path it has from the package's root.
struct SourceFile: Sendable, CustomTestStringConvertible {
    let path: String
    let text: String

    var testDescription: String { path }

    /// All Swift files that the rules speak of.
    static let all = ["Sources", "Tools/stratus", "Tests"].flatMap { folder in
        PackageFiles.paths(below: folder)
            .filter { $0.hasSuffix(".swift") }
            .map { SourceFile(path: $0, text: PackageFiles.text($0) ?? "") }
    }
}

@Test func `the rules find the files they are about`() {
    #expect(SourceFile.all.contains { $0.path == "Tests/LayoutTests/SourceFile.swift" })
    #expect(SourceFile.all.contains { $0.path.hasPrefix("Tools/stratus/") })
    #expect(SourceFile.all.contains { $0.path.hasPrefix("Sources/Stratus/") })
    #expect(SourceFile.all.allSatisfy { !$0.text.isEmpty })
}
