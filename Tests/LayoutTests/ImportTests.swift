import Testing

// Imports point down, one layer or several, and one module imports each C library. SwiftPM stops
// an import of a higher module but lets a transitive one through.

/// What the files of a module may import.
private let reach: [String: Set<String>] = {
    let bytes: Set = ["StratusBytes"]
    let files: Set = ["StratusFiles", "StratusBytes", "Synchronization"]
    let journal = files.union(["StratusJournal"])
    let engine = journal.union(["StratusIndex", "StratusAssets", "FoundationEssentials"])
    let all = journal.union([
        "StratusIndex", "StratusEngine", "Stratus", "FoundationEssentials",
    ])
    let tests: Set = ["Testing", "Support", "FoundationEssentials", "Synchronization"]
    return [
        "StratusBytes": ["CXXHash", "CLZ4", "CCrypto"],
        "StratusFiles": bytes.union(["CLinux", "Glibc", "Synchronization"]),
        "StratusJournal": files,
        "StratusIndex": files,
        "StratusAssets": files,
        "StratusArchive": files,
        // Sine and cosine.
        "StratusLanguage": bytes.union(["Glibc"]),
        "StratusEngine": engine.union(["StratusLanguage"]),
        "Stratus": engine.union(["StratusEngine", "StratusArchive", "StratusLanguage"]),
        "StratusGateway": files.union([
            "Stratus", "StratusLanguage", "FoundationEssentials",
        ]),
        "StratusTool": all.union(["StratusGateway", "StratusLanguage"]),
        // Starts processes.
        "Support": journal.union(tests).union(["Glibc"]),
        "StratusBytesTests": tests.union(bytes),
        "StratusFilesTests": tests.union(files),
        "StratusJournalTests": tests.union(journal),
        "StratusIndexTests": tests.union(files).union(["StratusIndex"]),
        "StratusAssetsTests": tests.union(files).union(["StratusAssets"]),
        "StratusLanguageTests": tests.union(["StratusLanguage"]),
        "StratusTests": tests.union(all),
        "FormatTests": tests.union(all).union(["StratusArchive", "StratusLanguage"]),
        // Measures beside the system.
        "SimulationTests": tests.union(all).union(["StratusArchive", "StratusAssets", "Glibc"]),
        "ModelTests": tests.union(all).union(["StratusGateway"]),
        "AllocationProbe": ["CCounting", "FoundationEssentials", "Stratus"],
        "AllocationTests": tests,
        "LayoutTests": tests,
        "ReadmeTests": ["Testing", "FoundationEssentials", "Stratus"],
        "StratusGatewayTests": tests.union(["StratusGateway", "Stratus", "StratusFiles"]),
        "StratusToolTests": tests.union(all).union(["StratusTool", "StratusGateway"]),
    ]
}()

/// Where the operating system is called. All other files reach it through `FileSystem`, so that the
/// simulated disk of the tests stands for every file.
private let systemFolders = ["Sources/StratusFiles/Calls/", "Sources/StratusFiles/Threads/"]

/// The imports in a file that its module may not make.
func importViolations(path: String, text: String) -> [String] {
    let module = module(of: path)
    guard var allowed = reach[module] else { return ["\(module) is not in the table of imports"] }
    if module == "StratusFiles", !systemFolders.contains(where: path.hasPrefix) {
        allowed.subtract(["Glibc", "CLinux"])
    }
    return imports(in: text).compactMap { found in
        if let attribute = found.attribute {
            "line \(found.line): @\(attribute) import of \(found.module)"
        } else if !allowed.contains(found.module) {
            "line \(found.line): \(module) may not import \(found.module)"
        } else {
            nil
        }
    }
}

private func module(of path: String) -> String {
    if path.hasPrefix("Tools/stratus/") { return "StratusTool" }
    return String(path.split(separator: "/")[1])
}

private struct Import {
    let module: String
    let line: Int
    /// One that opens what a layer keeps to itself, or hands on what it imports.
    let attribute: String?
}

private func imports(in text: String) -> [Import] {
    let text = SwiftText(text)
    return text.places(of: ["import"]).compactMap { place in
        let line = text.tokens[place].line
        // `.import` and `import:` are names.
        guard text.token(at: place, -1) != ".", text.token(at: place, 1) != ":" else { return nil }
        let kinds: Set = ["struct", "class", "enum", "protocol", "typealias", "func", "let", "var"]
        let module = text.token(at: place, kinds.contains(text.token(at: place, 1)) ? 2 : 1)
        let attribute = text.tokens[..<place].last { token in
            token.line == line && ["testable", "_exported"].contains(token.text)
        }
        return Import(module: module, line: line, attribute: attribute?.text)
    }
}

@Test(arguments: SourceFile.all)
func `a file imports only what its layer may`(file: SourceFile) {
    #expect(importViolations(path: file.path, text: file.text) == [])
}

@Test(arguments: [
    ("Sources/StratusJournal/Journal.swift", "import Stratus"),
    ("Sources/StratusIndex/Index.swift", "internal import StratusJournal"),
    ("Sources/StratusIndex/Index.swift", "import CXXHash"),
    ("Sources/StratusJournal/Journal.swift", "import Glibc"),
    ("Sources/Stratus/Records/Record.swift", "internal import CLinux"),
    ("Sources/Stratus/Container.swift", "import Foundation"),
    ("Sources/Stratus/Container.swift", "import struct Foundation.Date"),
    ("Sources/StratusFiles/File.swift", "internal import FoundationEssentials"),
    ("Sources/StratusFiles/HostFiles/FileTree.swift", "internal import Glibc"),
    ("Sources/StratusFiles/Storage/LocalFile.swift", "internal import CLinux"),
    ("Sources/StratusBytes/Hex.swift", "import Synchronization"),
    ("Tools/stratus/main.swift", "import Foundation; import Stratus"),
    ("Tests/StratusTests/RecordTests.swift", "@testable import Stratus"),
    ("Sources/Stratus/Container.swift", "@_exported public import StratusBytes"),
    ("Sources/Gateway/Request.swift", "let a = 1"),
])
func `an import that its layer may not make is found`(path: String, text: String) {
    #expect(importViolations(path: path, text: text).count == 1)
}

@Test func `an import that its layer may make is let through, and prose is no import`() {
    let text = """
        internal import StratusBytes
        package import struct StratusFiles.FileStatus // import Glibc
        let a = "import Foundation"
        let b = Command.import
        """
    #expect(importViolations(path: "Sources/StratusJournal/Journal.swift", text: text) == [])
}
