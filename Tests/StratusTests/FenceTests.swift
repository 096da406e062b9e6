import FoundationEssentials
import Stratus
import Testing

/// What a writer does when its store is taken from it.
@Suite final class FenceTests {
    private let path = FileManager.default.temporaryDirectory
        .appending(path: "stratus-\(UUID().uuidString)").path
    private var moved: String { path + "-moved" }

    deinit {
        for path in [path, path + "-moved"] { try? FileManager.default.removeItem(atPath: path) }
    }

    /// What happens to the store of a running writer.
    enum Loss: CaseIterable {
        case directoryMoved
        case directoryReplaced
        case directoryRemoved
        case manifestRemoved
        case manifestReplaced
        case segmentRemoved
        case segmentReplaced
        case newerGeneration
    }

    private var names: [String] {
        get throws { try FileManager.default.contentsOfDirectory(atPath: path).sorted() }
    }

    private func newest(_ prefix: String) throws -> String {
        "\(path)/" + (try #require(try names.last { $0.hasPrefix(prefix) }))
    }

    /// Puts a copy of the file in its place.
    private func replace(_ file: String) throws {
        try FileManager.default.copyItem(atPath: file, toPath: file + ".copy")
        try FileManager.default.removeItem(atPath: file)
        try FileManager.default.moveItem(atPath: file + ".copy", toPath: file)
    }

    private func inflict(_ loss: Loss) async throws {
        let manager = FileManager.default
        switch loss {
        case .directoryMoved: try manager.moveItem(atPath: path, toPath: moved)
        case .directoryReplaced:
            try manager.moveItem(atPath: path, toPath: moved)
            try manager.copyItem(atPath: moved, toPath: path)
        case .directoryRemoved: try manager.removeItem(atPath: path)
        case .manifestRemoved: try manager.removeItem(atPath: newest("manifest-"))
        case .manifestReplaced: try replace(newest("manifest-"))
        case .segmentRemoved: try manager.removeItem(atPath: newest("journal-"))
        case .segmentReplaced: try replace(newest("journal-"))
        case .newerGeneration:
            let name = try newest("manifest-")
            let number = try #require(Int(name.suffix(16), radix: 16))
            let digits = String(number + 1, radix: 16)
            let next = String(repeating: "0", count: 16 - digits.count) + digits
            try manager.copyItem(atPath: name, toPath: "\(path)/manifest-\(next)")
        }
    }

    @Test(arguments: Loss.allCases)
    func `a writer whose store is taken away acknowledges nothing and refuses from then on`(
        loss: Loss
    ) async throws {
        let container = try await Container.open(at: path, creating: true)
        let database = container.privateDatabase(for: "alice")
        try await database.save(RecordZone(zoneID: notes))
        try await database.save(note("before"))
        try await inflict(loss)
        let lost = await failure { try await database.save(note("lost")) }
        #expect(lost.code == .serverResponseLost)
        let later = await failure { try await database.save(note("later")) }
        for error in [lost, later] {
            guard case .fencedOut(let name)? = error.cause else {
                Issue.record("no cause: \(error)")
                continue
            }
            #expect(name.hasPrefix("/") || name.contains("-00"))
            #expect(error.reason.contains(name))
        }
        // Reads go on showing what was there.
        #expect(try await database.allRecords().map(\.recordID.recordName) == ["before"])
        let closing = await failure { try await container.close() }
        #expect(closing.cause != nil)
    }

    @Test func `two writers are not let in, whatever becomes of the files in the directory`()
        async throws
    {
        let first = try await Container.open(at: path, creating: true)
        let database = first.privateDatabase(for: "alice")
        try await database.save(RecordZone(zoneID: notes))
        for name in try names where name == "writer" {
            try FileManager.default.removeItem(atPath: "\(path)/\(name)")
        }
        let error = await failure { try await Container.open(at: self.path) }
        #expect(error.code == .serviceUnavailable)
        try replace(newest("manifest-"))
        let second = await failure { try await Container.open(at: self.path) }
        #expect(second.code == .serviceUnavailable)
        _ = await failure { try await database.save(note("a")) }
        _ = await failure { try await first.close() }
        let next = try await Container.open(at: path)
        #expect(try await next.privateDatabase(for: "alice").allRecords().isEmpty == false)
        try await next.close()
    }
}
