import Testing

// Inside the modules below each folder looks down only: in `StratusEngine`, what entries say knows
// nothing of what follows from them, neither of them of reading and errors, and nothing of commits.

/// The folders of each module, each with those whose types it may name beside its own. A file outside
/// of them may name all.
private let layers: [String: [(folder: String, mayName: Set<String>)]] = [
    "StratusEngine": [
        ("Entries", []),
        ("Projections", ["Entries"]),
        ("State", ["Entries", "Projections"]),
        ("Commits", ["Entries", "Projections", "State"]),
        ("Maintenance", ["Entries", "Projections", "State", "Commits"]),
        ("Opening", ["Entries", "Projections", "State", "Maintenance"]),
        ("Copying", ["Entries", "Projections", "State", "Maintenance"]),
    ],
    "StratusLanguage": [
        ("Text", []),
        ("Predicates", ["Text"]),
        ("Schema", ["Text", "Predicates"]),
    ],
]

/// The module and the folder of a file; the folder is empty for one that lies in none. Nil for a file of
/// another module.
private func place(of path: String) -> (module: String, folder: String)? {
    let parts = path.split(separator: "/").map(String.init)
    guard parts.count > 2, parts[0] == "Sources", layers[parts[1]] != nil else { return nil }
    return (parts[1], parts.count > 3 ? parts[2] : "")
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
    guard let (module, own) = place(of: path),
        let layer = layers[module]?.first(where: { $0.folder == own })
    else { return [] }
    var named: Set<String> = []
    for word in SwiftText(text).tokens {
        guard let other = folders[word.text], other != own, !layer.mayName.contains(other) else {
            continue
        }
        named.insert("\(word.text) of \(other.isEmpty ? "the top" : other)")
    }
    return named.sorted().map { "\(path) names \($0)" }
}

/// The folders of a module by the types that they declare.
private func folders(of module: String) -> [String: String] {
    var folders: [String: String] = [:]
    for file in SourceFile.all {
        guard let place = place(of: file.path), place.module == module else { continue }
        for type in declaredTypes(file.text) { folders[type] = place.folder }
    }
    return folders
}

@Test(arguments: layers.keys.sorted())
func `a folder of a module names nothing of what stands on it`(module: String) {
    let folders = folders(of: module)
    let files = SourceFile.all.filter { place(of: $0.path)?.module == module }
    for file in files {
        #expect(layerViolations(path: file.path, text: file.text, folders: folders) == [])
    }
    // None is left out, whose files could name all.
    let known = Set(layers[module]?.map(\.folder) ?? []).union([""])
    #expect(Set(files.compactMap { place(of: $0.path)?.folder }).subtracting(known) == [])
}

@Test func `a file of the engine that names what stands on it is found`() {
    let folders = folders(of: "StratusEngine")
    #expect(folders["ZoneEntry"] == "Entries" && folders["StoreFold"] == "Projections")
    #expect(folders["StoreReading"] == "State" && folders["Engine"] == "")
    func violations(_ path: String, _ text: String) -> [String] {
        layerViolations(path: "Sources/StratusEngine/" + path, text: text, folders: folders)
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
    #expect(
        violations("Copying/New.swift", text + " let commit: PendingCommit") == [
            "Sources/StratusEngine/Copying/New.swift names Engine of the top",
            "Sources/StratusEngine/Copying/New.swift names PendingCommit of Commits",
        ])
    #expect(violations("New.swift", text) == [])
    #expect(violations("Entries/New.swift", "/// As of ``Engine``.\nstruct New {}") == [])
}
