import Support
import Testing

// What the scripts, the manifest of the package and the pages at the top promise.

/// The commands of a shell script in their order, without comments.
private func commands(_ path: String) throws -> [String] {
    let text = try #require(PackageFiles.text(path), "there is no \(path)")
    return text.split(separator: "\n").map(String.init).filter { !$0.hasPrefix("#") }
}

/// The places of the first lines that begin so; nil for one that is not there.
private func places(of beginnings: [String], in lines: [String]) -> [Int?] {
    beginnings.map { beginning in lines.firstIndex { $0.hasPrefix(beginning) } }
}

struct ScriptTests {
    @Test func `the gate sets up, lints, builds for release and tests, in this order`() throws {
        let lines = try commands("Tools/test")
        let found = places(
            of: [
                "Tools/setup", "swift format lint --strict", "swift build -c release", "swift test",
            ],
            in: lines)
        #expect(!found.contains(nil))
        #expect(found.compactMap { $0 } == found.compactMap { $0 }.sorted())
        // Nothing comes behind the summary of the test runner.
        #expect(lines.last?.hasPrefix("swift test") == true)
        #expect(lines.last?.contains("--filter") == false)
        #expect(lines.contains("set -euo pipefail"))
    }

    @Test func `continuous integration runs the gate`() throws {
        #expect(try commands(".ci/run").last?.contains("Tools/test") == true)
    }

    @Test func `the trial sets up, builds, imports twice, follows, compares, dumps and verifies`()
        throws
    {
        let lines = try commands("Tools/try").map {
            String($0.drop { $0 == " " }).replacing("\"$stratus\" ", with: "stratus ")
        }
        let found = places(
            of: [
                "Tools/setup", "swift build -c release", "stratus import", "stratus follow",
                "[[ $first == \"$second\" ]]", "stratus log store --json", "stratus verify store",
            ], in: lines)
        #expect(!found.contains(nil))
        #expect(found.compactMap { $0 } == found.compactMap { $0 }.sorted())
        #expect(lines.count { $0.hasPrefix("stratus import") } == 2)
    }

    @Test func `packages are installed where they are missing, by sudo where that is needed`()
        throws
    {
        let text = try commands("Tools/setup").joined(separator: "\n")
        #expect(text.contains("installed \"$package\" || missing+=(\"$package\")"))
        #expect(text.contains("if ((${#missing[@]} > 0)); then"))
        #expect(text.contains("if ((EUID != 0)); then"))
        #expect(text.contains("as_root=(sudo)"))
    }

    @Test func `every target has the one list of settings, which checks all there is`() throws {
        let manifest = try #require(PackageFiles.text("Package.swift"))
        let settings = manifest.components(between: "let settings", and: "]\n")
        for setting in [
            ".swiftLanguageMode(.v6)", ".strictMemorySafety()", ".treatAllWarnings(as: .error)",
            "\"ExistentialAny\"", "\"InternalImportsByDefault\"", "\"MemberImportVisibility\"",
        ] { #expect(settings.contains(setting), "\(setting)") }
        let targets = manifest.components(separatedBy: "arget(").dropFirst().filter {
            !$0.hasPrefix("name: \"CLinux\"")
        }
        #expect(targets.count > 12)
        #expect(targets.filter { !$0.contains("swiftSettings: settings") } == [])
    }

    @Test func `the licence is Apache 2`() throws {
        let licence = try #require(PackageFiles.text("LICENSE"))
        #expect(licence.contains("Apache License\n") && licence.contains("Version 2.0"))
    }

    @Test func `the README says what it is, what is promised and what is not there yet`() throws {
        let readme = try #require(PackageFiles.text("README.md"))
        var place = readme.startIndex
        for part in [
            "Tools/try", "Stratus is ", "It is for ", "```swift", "## The layers",
            "## What is promised", "## What is not there yet",
        ] {
            let found = try #require(readme[place...].firstRange(of: part), "\(part)")
            place = found.upperBound
        }
        // The first example is short.
        let example = readme.components(between: "```swift\n", and: "```")
        let lines = example.split(separator: "\n").filter { !$0.hasPrefix("import") }
        #expect(lines.count <= 15)
    }
}

extension String {
    fileprivate func components(separatedBy separator: String) -> [String] {
        split(separator: separator, omittingEmptySubsequences: false).map(String.init)
    }

    /// What stands between two texts, the first of each.
    fileprivate func components(between start: String, and end: String) -> String {
        guard let first = firstRange(of: start),
            let last = self[first.upperBound...].firstRange(of: end)
        else { return "" }
        return String(self[first.upperBound..<last.lowerBound])
    }
}
