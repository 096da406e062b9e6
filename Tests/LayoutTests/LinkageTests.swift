import FoundationEssentials
import Testing

// The public API speaks FoundationEssentials. One import of the whole Foundation, in any layer,
// would link the rest into every program that uses Stratus.

/// The names in some bytes that begin with `prefix`, which no compiler writes but to have a library
/// linked: `libFoundation` in a program, `-lFoundation` in an object file.
func names(startingWith prefix: String, in bytes: [UInt8]) -> Set<String> {
    let prefix = Array(prefix.utf8)
    guard let first = prefix.first, bytes.count >= prefix.count else { return [] }
    var found: Set<String> = []
    for place in 0...(bytes.count - prefix.count)
    where bytes[place] == first && bytes[place...].starts(with: prefix) {
        let name = bytes[place...].prefix { byte in
            byte == prefix[0] || byte == 0x5f || (0x30...0x39).contains(byte)
                || (0x41...0x5a).contains(byte) || (0x61...0x7a).contains(byte)
        }
        found.insert(String(decoding: name, as: UTF8.self))
    }
    return found
}

/// Where the test program lies, and so all that was built with it.
private func products() throws -> String {
    let program = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
    return program.split(separator: "/", omittingEmptySubsequences: false).dropLast()
        .joined(separator: "/")
}

private func bytes(_ path: String) throws -> [UInt8] {
    Array(try #require(FileManager.default.contents(atPath: path), "there is no \(path)"))
}

@Test func `the tool links no more of Foundation than its essentials`() throws {
    let tool = try bytes("\(products())/stratus")
    #expect(Array(tool.prefix(4)) == [0x7f] + Array("ELF".utf8))
    let found = names(startingWith: "libFoundation", in: tool)
    #expect(found.subtracting(["libFoundationEssentials"]) == [])
}

@Test(arguments: [
    "StratusBytes", "StratusFiles", "StratusJournal", "StratusIndex", "StratusAssets",
    "StratusArchive", "StratusLanguage", "StratusEngine", "Stratus", "StratusGateway",
    "StratusTool",
])
func `no module asks for more of Foundation than its essentials`(module: String) throws {
    let folder = try "\(products())/\(module).build"
    let objects = try FileManager.default.contentsOfDirectory(atPath: folder)
        .filter { $0.hasSuffix(".o") }
    #expect(!objects.isEmpty)
    for object in objects {
        let found = names(startingWith: "-lFoundation", in: try bytes("\(folder)/\(object)"))
        #expect(found.subtracting(["-lFoundationEssentials"]) == [], "\(object)")
    }
}

@Test func `the whole Foundation is found`() {
    let bytes = Array("\0libFoundationEssentials.so\0libFoundation.so\0-lFoundation\0lib".utf8)
    #expect(
        names(startingWith: "libFoundation", in: bytes)
            == ["libFoundationEssentials", "libFoundation"])
    #expect(names(startingWith: "-lFoundation", in: bytes) == ["-lFoundation"])
    #expect(names(startingWith: "libFoundation", in: []) == [])
}
