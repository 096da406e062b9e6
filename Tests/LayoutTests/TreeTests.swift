import Support
import Testing

// The folder tree is the architecture, and the pages that show it are complete.

private let topLevel: Set = [
    "Package.swift", "Sources", "Tests", "Tools", "Formats", "README.md", "LICENSE",
]

/// What the top level of the package holds and may not.
func strangers(amongTopLevel names: [String]) -> [String] {
    names.filter { !topLevel.contains($0) && !$0.hasPrefix(".") }
}

/// The names that a page does not mention as whole words.
func names(_ names: [String], missingIn page: String) -> [String] {
    let isPartOfName = { (character: Character) in
        character.isLetter || character.isNumber || "_-".contains(character)
    }
    let words = Set(page.split { !isPartOfName($0) }.map(String.init))
    return names.filter { !words.contains($0) }
}

@Test func `the top level holds only what it must`() {
    #expect(strangers(amongTopLevel: PackageFiles.names(in: "")) == [])
}

@Test func `the readme names every folder of the sources`() throws {
    let readme = try #require(PackageFiles.text("README.md"), "there is no README.md")
    #expect(names(PackageFiles.names(in: "Sources"), missingIn: readme) == [])
}

@Test func `the list of formats names every page`() throws {
    let list = try #require(PackageFiles.text("Formats/README.md"), "there is no Formats/README.md")
    let pages = PackageFiles.names(in: "Formats").filter {
        $0.hasSuffix(".md") && $0 != "README.md"
    }
    #expect(pages.filter { !list.contains("(\($0))") } == [], "each is listed as a link")
}

@Test func `a stranger at the top level is found`() {
    let names = [".build", ".ci", "Package.swift", "README.md", "notes.txt", "Utils"]
    #expect(strangers(amongTopLevel: names) == ["notes.txt", "Utils"])
}

@Test func `a name that a page leaves out is found, also where a longer one is there`() {
    let page = "- `StratusBytes/`: bytes\n- **CLinux**: shims"
    #expect(names(["CLinux", "Stratus", "StratusBytes"], missingIn: page) == ["Stratus"])
}
