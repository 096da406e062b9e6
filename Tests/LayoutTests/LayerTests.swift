import Testing

// Inside the module `StratusEngine` each folder looks down only: what entries say knows nothing of
// what follows from them, neither of them of reading and errors, and nothing of commits.

/// The folders of the module, each with those whose types it may name beside its own. A file outside
/// of them may name all.
private let layers: [(folder: String, mayName: Set<String>)] = [
    ("Entries", []),
    ("Projections", ["Entries"]),
    ("State", ["Entries", "Projections"]),
    ("Commits", ["Entries", "Projections", "State"]),
    ("Maintenance", ["Entries", "Projections", "State", "Commits"]),
    ("Opening", ["Entries", "Projections", "State", "Maintenance"]),
]

private let root = "Sources/StratusEngine/"

/// The folder of a file of the module; empty for one that lies in none.
private func folder(of path: String) -> String {
    let parts = path.dropFirst(root.count).split(separator: "/")
    return parts.count > 1 ? String(parts[0]) : ""
}

/// The types that a file declares for others, outside of any other type.
private func declaredTypes(_ text: String) -> [String] {
    let words: Set = ["struct", "class", "enum", "protocol", "actor", "typealias"]
    let text = SwiftText(text)
    var found: [String] = []
    var depth = 0
    for place in text.tokens.indices {
        switch text.tokens[place].text {
        case "{": depth += 1
        case "}": depth -= 1
        case let word where depth == 0 && words.contains(word):
            let line = text.tokens[place].line
            let isPrivate = (1...3).contains {
                ["private", "fileprivate"].contains(text.token(at: place, -$0))
                    && text.tokens[place - $0].line == line
            }
            if !isPrivate { found.append(text.token(at: place, 1)) }
        default: break
        }
    }
    return found
}

/// What a file names that lies in a folder its own may not look at.
func layerViolations(
    path: String, text: String, folders: [String: String]
) -> [String] {
    let own = folder(of: path)
    guard let layer = layers.first(where: { $0.folder == own }) else { return [] }
    var named: Set<String> = []
    let words = SwiftText(text).tokens
    for word in words {
        guard let other = folders[word.text], other != own, !layer.mayName.contains(other) else {
            continue
        }
        named.insert("\(word.text) of \(other.isEmpty ? "the top" : other)")
    }
    return named.sorted().map { "\(path) names \($0)" }
}

private let folders: [String: String] = {
    var folders: [String: String] = [:]
    for file in SourceFile.all where file.path.hasPrefix(root) {
        for type in declaredTypes(file.text) { folders[type] = folder(of: file.path) }
    }
    return folders
}()

@Test(arguments: SourceFile.all.filter { $0.path.hasPrefix(root) })
func `a folder of the engine names nothing of what stands on it`(file: SourceFile) {
    #expect(layerViolations(path: file.path, text: file.text, folders: folders) == [])
}

@Test func `a file of the engine that names what stands on it is found`() {
    #expect(folders["ZoneEntry"] == "Entries" && folders["StoreFold"] == "Projections")
    #expect(folders["StoreReading"] == "State" && folders["Engine"] == "")
    func violations(_ path: String, _ text: String) -> [String] {
        layerViolations(path: root + path, text: text, folders: folders)
    }
    let text = "struct New { var store: Engine; var zone: ZoneEntry; var fold: StoreFold }"
    #expect(
        violations("Entries/New.swift", text) == [
            "Sources/StratusEngine/Entries/New.swift names Engine of the top",
            "Sources/StratusEngine/Entries/New.swift names StoreFold of Projections",
        ])
    #expect(
        violations("Projections/New.swift", text) == [
            "Sources/StratusEngine/Projections/New.swift names Engine of the top"
        ])
    #expect(violations("New.swift", text) == [])
    #expect(violations("Entries/New.swift", "/// As of ``Engine``.\nstruct New {}") == [])
}
