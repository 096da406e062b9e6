import StratusFiles
import Support
import Testing

/// Callers' files on a disk that fails, fills up, interrupts and loses its power.
struct HostFileFaultTests {
    private static let effects: [DiskFault.Effect] = [
        .fail(.inputOutput), .fail(.noSpace), .fail(.interrupted), .short,
    ]
    private static let old = [UInt8](repeating: 1, count: 700)
    private static let new = (0..<1_500).map { UInt8(truncatingIfNeeded: $0 &* 3) }

    private static func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }

    /// A disk with the file `old`.
    private func makeDisk(unnamed: Bool = true) -> SimulatedDisk {
        let disk = SimulatedDisk()
        disk.options.hasUnnamedFiles = unnamed
        disk.replaceContents("old", Self.old)
        return disk
    }

    /// Does `body` on a copy of the disk, once for each call of it, which goes wrong. `check` is
    /// given the copy afterwards, and the error if there was one.
    private func sweep(
        _ effect: DiskFault.Effect, _ disk: SimulatedDisk,
        _ body: (SimulatedProcess) throws -> Void,
        _ check: (SimulatedDisk, SystemError?, Int) throws -> Void
    ) throws {
        let whole = SimulatedDisk(copying: disk)
        try body(whole.process())
        #expect(whole.callCount > 8)
        for number in 1...whole.callCount {
            let copy = SimulatedDisk(copying: disk)
            copy.faults = [DiskFault(effect, at: number)]
            var failure: SystemError?
            do throws(SystemError) {
                try Self.typed(body, copy.process())
            } catch {
                failure = error
            }
            copy.faults = []
            try check(copy, failure, number)
        }
    }

    private static func typed(
        _ body: (SimulatedProcess) throws -> Void, _ process: SimulatedProcess
    ) throws(SystemError) {
        do {
            try body(process)
        } catch let error as SystemError {
            throw error
        } catch {
            Issue.record("an error of another type: \(error)")
        }
    }

    /// Whether a call that goes wrong in that way may end the work.
    private func mayFail(_ effect: DiskFault.Effect) -> Bool {
        effect == .fail(.inputOutput) || effect == .fail(.noSpace)
    }

    @Test(arguments: effects, [true, false])
    func `a new file is there whole, or the call fails and nothing of it is`(
        effect: DiskFault.Effect, unnamed: Bool
    ) throws {
        try sweep(effect, makeDisk(unnamed: unnamed)) { process in
            let file = try FreshFile("out", length: Self.new.count, on: process)
            try file.write([Self.new[1_000...]], at: 1_000)
            try file.write([Self.new[..<400], Self.new[400..<1_000]], at: 0)
            try file.place()
        } _: { disk, failure, number in
            if failure == nil {
                #expect(disk.paths == ["old", "out"], "call \(number)")
                #expect(disk.contents("out") == Self.new, "call \(number)")
                disk.crash(seed: UInt64(number))
                #expect(disk.contents("out") == Self.new, "call \(number)")
            } else {
                #expect(mayFail(effect), "call \(number): \(String(describing: failure))")
                #expect(disk.paths == ["old"], "call \(number)")
            }
        }
    }

    @Test(arguments: effects, [true, false])
    func `a file takes the place of another whole or not at all, whatever fails`(
        effect: DiskFault.Effect, unnamed: Bool
    ) throws {
        try sweep(effect, makeDisk(unnamed: unnamed)) { process in
            // Where it cannot be begun, the tool writes to the path as it is.
            guard let file = FreshFile(replacing: "old", on: process) else {
                throw SystemError(.inputOutput, in: "open")
            }
            try file.write([Self.new[...]], at: 0)
            try file.replace()
        } _: { disk, failure, number in
            #expect(disk.paths == ["old"], "call \(number)")
            let found = disk.contents("old")
            #expect(found == Self.new || (failure != nil && found == Self.old), "call \(number)")
            if failure != nil { #expect(mayFail(effect), "call \(number)") }
        }
    }

    @Test(arguments: [true, false])
    func `a crash while a file takes the place of another leaves the old or the new one`(
        unnamed: Bool
    ) throws {
        let disk = SimulatedDisk()
        disk.options.hasUnnamedFiles = unnamed
        disk.replaceContents("out", Self.old)
        disk.keepsCrashPoints = true
        let file = try #require(FreshFile(replacing: "out", on: disk.process()))
        try file.write([Self.new[..<800]], at: 0)
        try file.write([Self.new[800...]], at: 800)
        try file.replace()
        var found: Set<[UInt8]> = []
        for point in disk.crashPoints {
            for seed in UInt64(0)..<20 {
                let crashed = point.crashed(seed: seed)
                found.insert(crashed.contents("out"))
                // A temporary name is all that may be left beside it.
                #expect(crashed.paths.allSatisfy { $0 == "out" || $0.hasPrefix(".stratus-") })
            }
        }
        #expect(found == [Self.old, Self.new])
        disk.crash(seed: 1)
        #expect(disk.contents("out") == Self.new && disk.paths == ["out"])
    }

    @Test(arguments: [true, false])
    func `on a full disk a new file fails, and what it took is free again`(unnamed: Bool) throws {
        let disk = SimulatedDisk()
        disk.options.hasUnnamedFiles = unnamed
        disk.options.capacity = 1_024
        let process = disk.process()
        do {
            let file = try FreshFile("out", length: Self.new.count, on: process)
            let error = #expect(throws: SystemError.self) {
                try file.write([Self.new[...]], at: 0)
            }
            #expect(error?.code == .noSpace)
        }
        #expect(disk.paths == [])
        let file = try FreshFile("out", length: 1_000, on: process)
        try file.write([Self.new[..<1_000]], at: 0)
        try file.place()
        #expect(disk.contents("out") == Array(Self.new[..<1_000]))
    }

    @Test(arguments: effects, [true, false])
    func `of a tree that is made every file that has its name is whole`(
        effect: DiskFault.Effect, unnamed: Bool
    ) throws {
        let time = 1_600_000_000_123_456_789
        try sweep(effect, makeDisk(unnamed: unnamed)) { process in
            let writer = try TreeWriter("tree", on: process)
            var walk = writer.walk()
            try walk.folder.makeFolder(Self.bytes("sub"))
            try walk.enter(Self.bytes("sub"))
            let file = try walk.folder.makeFile(Self.bytes("f"), length: Self.new.count)
            try file.write([Self.new[...]], at: 0)
            try file.finish(mode: 0o4711, modifiedNanoseconds: time)
            try walk.folder.makeLink(
                Self.bytes("link"), to: Self.bytes("f"), modifiedNanoseconds: time)
            let sub = walk.folder
            try walk.leave()
            try sub.finish(mode: 0o750, modifiedNanoseconds: time)
        } _: { disk, failure, number in
            let names = disk.paths.filter { $0 != "old" }
            #expect(Set(names).isSubset(of: ["tree/sub/f", "tree/sub/link"]), "call \(number)")
            if failure != nil { #expect(mayFail(effect), "call \(number)") }
            guard names.contains("tree/sub/f") else {
                return #expect(failure != nil, "call \(number)")
            }
            #expect(disk.contents("tree/sub/f") == Self.new, "call \(number)")
            let folder = try FileTree("tree", on: disk.process()).folder(Self.bytes("sub"))
            let entry = try folder.entry(Self.bytes("f"))
            #expect(entry.mode == 0o4711 && entry.modifiedNanoseconds == time, "call \(number)")
        }
    }

    @Test(arguments: effects)
    func `a tree is read as it is, or the call says that it cannot be`(
        effect: DiskFault.Effect
    ) throws {
        let disk = makeDisk()
        let process = disk.process()
        try process.makeDirectory("tree")
        try process.makeDirectory("tree/sub")
        disk.replaceContents("tree/sub/f", Self.new)
        try sweep(effect, disk) { process in
            let content = try Self.readTree(on: process)
            #expect(content == Self.new)
        } _: { _, failure, number in
            if failure != nil { #expect(mayFail(effect), "call \(number)") }
        }
    }

    /// The file of a tree.
    private static func readTree(on process: SimulatedProcess) throws(SystemError) -> [UInt8] {
        var walk = try FileTree("tree", on: process).walk()
        for name in try walk.folder.names() { try walk.enter(name) }
        let name = bytes("f")
        let entry = try walk.folder.entry(name)
        let file = try walk.folder.file(entry)
        var content: [UInt8] = []
        while true {
            let bytes = try file.read(at: content.count, upTo: 600)
            if bytes.isEmpty { break }
            content += bytes
        }
        #expect(file.isMeant)
        return content
    }

    /// By its path, and as one of a folder that was listed.
    @Test(arguments: [false, true])
    func `a file that is changed between two reads is found to be`(isListed: Bool) throws {
        let disk = SimulatedDisk()
        let process = disk.process()
        let file: SourceFile
        if isListed {
            try process.makeDirectory("tree")
            disk.replaceContents("tree/in", Self.new)
            let folder = try FileTree("tree", on: process).walk().folder
            file = try folder.file(folder.entry(Self.bytes("in")))
        } else {
            disk.replaceContents("in", Self.new)
            file = try SourceFile(FilePlace("in"), on: process)
        }
        #expect(try file.read(at: 0, upTo: 100) == Array(Self.new[..<100]))
        #expect(file.isUnchanged())
        disk.faults = [DiskFault(.overtaken, at: 1, of: .read, on: "in")]
        #expect(try file.read(at: 100, upTo: 100) != Array(Self.new[100..<200]))
        #expect(!file.isUnchanged())
    }

    @Test(arguments: UInt64(0)..<50)
    func `transfers that are interrupted and cut short move every byte`(seed: UInt64) throws {
        let disk = SimulatedDisk()
        disk.misbehave(seed: seed, oneIn: 2)
        let process = disk.process()
        let slices = (0..<40).map { Self.new.prefix($0 * 13) }
        let all = slices.flatMap { $0 }
        let made = try FreshFile("out", length: all.count, on: process)
        let middle = slices[..<20].reduce(0) { $0 + $1.count }
        try made.write(Array(slices[20...]), at: middle)
        try made.write(Array(slices[..<20]), at: 0)
        try made.place()
        #expect(disk.contents("out") == all)
        let file = try SourceFile(FilePlace("out"), on: process)
        var content: [UInt8] = []
        while content.count < all.count { content += try file.read(at: content.count, upTo: 999) }
        #expect(content == all && file.isUnchanged())
    }
}
