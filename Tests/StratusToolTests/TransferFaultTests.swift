import FoundationEssentials
import Stratus
import StratusFiles
import StratusTool
import Support
import Testing

/// Imports and exports whose directory and store are on one disk that fails.
@Suite struct TransferFaultTests {
    private static let effects: [DiskFault.Effect] = [
        .fail(.inputOutput), .fail(.noSpace), .fail(.interrupted), .short,
    ]
    /// The files of the tree: one is kept in its record, the other becomes an asset.
    private static let files = [
        "a.txt": Array("one".utf8), "sub/b": (0..<20_000).map { UInt8(truncatingIfNeeded: $0 / 7) },
    ]

    private static func makeDisk() throws -> SimulatedDisk {
        let disk = SimulatedDisk()
        let process = disk.process()
        try process.makeDirectory("tree")
        try process.makeDirectory("tree/sub")
        for (name, bytes) in files { disk.replaceContents("tree/\(name)", bytes) }
        let tree = try process.openDirectory("tree")
        try process.makeLink(Array("link".utf8), to: Array("a.txt".utf8), in: tree)
        for directory in ["/", "tree", "tree/sub"] {
            try process.synchronize(process.openDirectory(directory))
        }
        disk.killProcesses()
        return disk
    }

    private struct Outcome {
        var code: ExitCode?
        var error: (any Error)?
        var results: String

        /// The names of the records that were said to be saved.
        var acknowledged: [String] {
            results.split(separator: "\n").flatMap { line -> [String] in
                guard let start = line.firstRange(of: #""saved":["#),
                    let end = line[start.upperBound...].firstIndex(of: "]")
                else { return [] }
                return line[start.upperBound..<end].split(separator: ",").map {
                    $0.filter { $0 != "\"" }
                }
            }
        }
    }

    private enum Command: String, Sendable {
        case `import` = "import tree store --zone files"
        case export = "export store out --zone files"
    }

    private static func run(_ command: Command, on disk: SimulatedDisk) async throws -> Outcome {
        let capture = Capture()
        let invocation = try parse(command.rawValue)
        let output = capture.output { $0.isJSON = true }
        let process = disk.process()
        do {
            let code =
                switch command {
                case .import: try await Import.run(invocation, output, on: process)
                case .export: try await Export.run(invocation, output, on: process)
                }
            try output.flush()
            return Outcome(code: code, results: capture.results)
        } catch {
            return Outcome(error: error, results: capture.results)
        }
    }

    /// How many calls the command makes when nothing fails.
    private static func callCount(_ command: Command, _ base: SimulatedDisk) async throws -> Int {
        let disk = SimulatedDisk(copying: base)
        #expect(try await run(command, on: disk).code == .ok)
        #expect(disk.callCount > 50)
        return disk.callCount
    }

    /// That the error is one that the tool's user understands, and the fault one that may end work.
    private static func expectTyped(
        _ error: any Error, _ effect: DiskFault.Effect, _ comment: Comment
    ) {
        let told = ToolError(describing: error)
        #expect(told.id != "tool.internal", comment)
        #expect(effect == .fail(.inputOutput) || effect == .fail(.noSpace), comment)
    }

    @Test(arguments: effects)
    func `an import of which any call fails loses nothing that it acknowledged`(
        effect: DiskFault.Effect
    ) async throws {
        let base = try Self.makeDisk()
        let count = try await Self.callCount(.import, base)
        for number in 1...count {
            let comment: Comment = "call \(number)"
            let disk = SimulatedDisk(copying: base)
            disk.faults = [DiskFault(effect, at: number)]
            let outcome = try await Self.run(.import, on: disk)
            if let error = outcome.error { Self.expectTyped(error, effect, comment) }
            disk.faults = []
            disk.crash(seed: UInt64(number))
            let acknowledged = outcome.acknowledged
            if outcome.code == .ok { #expect(acknowledged.count == 4, comment) }
            if !acknowledged.isEmpty { try await Self.expect(acknowledged, on: disk, comment) }
            // What is left is a store, or the beginning of one, that a second import completes.
            let again = try await Self.run(.import, on: disk)
            #expect(again.code == .ok, "call \(number): \(String(describing: again.error))")
            let export = try await Self.run(.export, on: disk)
            #expect(export.code == .ok, comment)
            Self.expectFiles(on: disk, all: true, comment)
            let storage = try LocalStorage(at: "store", .reading, on: disk.process())
            #expect(try StoreVerification(storage).findings.isEmpty, comment)
        }
    }

    /// That the records are there.
    private static func expect(
        _ names: [String], on disk: SimulatedDisk, _ comment: Comment
    ) async throws {
        let container = try await Container.openReadOnly(
            at: "store", on: disk.process(), memoryLimit: 4 << 20)
        let database = container.privateDatabase(for: Invocation.defaultUser)
        let zone = RecordZone.ID(zoneName: "files")
        for name in names {
            let id = Record.ID(recordName: name, zoneID: zone)
            #expect((try? await database.record(for: id)) != nil, comment)
        }
    }

    @Test(arguments: effects)
    func `an export of which any call fails leaves no file that is not whole`(
        effect: DiskFault.Effect
    ) async throws {
        let base = try Self.makeDisk()
        #expect(try await Self.run(.import, on: base).code == .ok)
        base.killProcesses()
        let count = try await Self.callCount(.export, base)
        for number in 1...count {
            let disk = SimulatedDisk(copying: base)
            disk.faults = [DiskFault(effect, at: number)]
            let outcome = try await Self.run(.export, on: disk)
            if let error = outcome.error { Self.expectTyped(error, effect, "call \(number)") }
            disk.faults = []
            Self.expectFiles(on: disk, all: outcome.code == .ok, "call \(number)")
        }
    }

    /// That below `out` there is nothing but files of the tree, whole; or `all` of it.
    private static func expectFiles(on disk: SimulatedDisk, all: Bool, _ comment: Comment) {
        let found = Set(disk.paths.filter { $0.hasPrefix("out/") })
        let names = Set((files.keys + ["link"]).map { "out/" + $0 })
        #expect(all ? found == names : found.isSubset(of: names), comment)
        for (name, bytes) in files where found.contains("out/\(name)") {
            let isSame = disk.contents("out/\(name)") == bytes
            #expect(isSame, comment)
        }
    }

    @Test(arguments: ["a.txt", "b"])
    func `a file that changes while it is imported is left out`(name: String) async throws {
        let disk = try Self.makeDisk()
        disk.faults = [DiskFault(.overtaken, at: 1, of: .read, on: name)]
        let outcome = try await Self.run(.import, on: disk)
        #expect(outcome.code == .partial)
        #expect(outcome.acknowledged.count == 3)
        #expect(try await Self.run(.import, on: disk).code == .ok)
    }
}
