import FoundationEssentials
import Support
import Testing

/// With one caller, and with clock, randomness and identifiers of its own, a store is a function
/// of the calls: the same in every process, time zone and language, in debug and in release.
@Suite struct DeterminismTests {
    /// Where a run leaves its store for others to compare: STRATUS_STORE_DIRECTORY.
    private static let directory = ProcessInfo.processInfo.environment["STRATUS_STORE_DIRECTORY"]

    private static func build(at path: String) async throws {
        var run = ModelRun(seed: 7, try EngineDriver(ModelStore(seed: 7, at: path)))
        run.prepare()
        for _ in 0..<1500 {
            let found = try await run.step()
            if !found.isEmpty { Issue.record("\(found.joined(separator: "\n  "))") }
        }
        #expect(try await run.finish() == [])
    }

    /// All files but the lock.
    private static func files(at path: String) throws -> [String: Data] {
        let names = try FileManager.default.contentsOfDirectory(atPath: path)
        return Dictionary(
            uniqueKeysWithValues: names.filter { $0 != "writer" }.map {
                ($0, FileManager.default.contents(atPath: "\(path)/\($0)") ?? Data())
            })
    }

    private static func temporaryPath(_ name: String) -> String {
        FileManager.default.temporaryDirectory.appending(path: "stratus-\(UUID())-\(name)").path()
    }

    @Test func `two processes that make the same calls make the same store, byte for byte`()
        async throws
    {
        let mine = Self.directory ?? Self.temporaryPath("mine")
        let theirs = Self.temporaryPath("theirs")
        defer {
            if Self.directory == nil { try? FileManager.default.removeItem(atPath: mine) }
            try? FileManager.default.removeItem(atPath: theirs)
        }
        try await Self.build(at: mine)
        // In another process hashes have another seed, and memory lies elsewhere.
        await #expect(processExitsWith: .success) { [theirs = theirs as String] in
            try await Self.build(at: theirs)
        }
        let (left, right) = (try Self.files(at: mine), try Self.files(at: theirs))
        #expect(left.count > 2)
        #expect(left.keys.sorted() == right.keys.sorted())
        for (name, bytes) in left { #expect(right[name] == bytes, "\(name)") }
    }
}
