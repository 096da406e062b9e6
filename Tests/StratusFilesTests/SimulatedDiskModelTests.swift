import StratusFiles
import Support
import Testing

/// Random appends, syncs, renames, kills and crashes, against what must hold of them.
struct SimulatedDiskModelTests {
    /// A file as the test knows it.
    private struct Known {
        var name: String
        var bytes: [UInt8] = []
        var syncedCount = 0
        /// Whether the present name was synced.
        var isNamed = false
        /// Whether some name was synced.
        var isSafe = false
    }

    @Test(arguments: UInt64(0)..<100)
    func `what was synced survives everything, and reads return what was written`(
        seed: UInt64
    ) throws {
        var generator = SeededGenerator(seed: seed)
        let disk = SimulatedDisk()
        disk.options.garbageInGaps = generator.oneIn(2)
        disk.options.garbageInAllocations = generator.oneIn(2)
        for round in 0..<20 {
            var files: [Known] = []
            try run(disk, &files, round: round, &generator)
            for file in files { #expect(disk.contents(file.name) == file.bytes) }
            let isKill = generator.oneIn(4)
            if isKill { disk.killProcesses() } else { disk.crash(seed: generator.next()) }
            let paths = disk.paths
            for file in files {
                if isKill { #expect(disk.contents(file.name) == file.bytes) }
                if file.isNamed { #expect(paths.contains(file.name)) }
                let synced = file.bytes.prefix(file.syncedCount)
                guard file.isSafe, file.syncedCount > 0 else { continue }
                #expect(paths.contains { disk.contents($0).starts(with: synced) })
                if file.isNamed {
                    let contents = disk.contents(file.name)
                    #expect(contents.starts(with: synced))
                    #expect(contents.count <= file.bytes.count)
                }
            }
            for path in paths where generator.oneIn(2) { disk.delete(path) }
        }
    }

    private func run(
        _ disk: SimulatedDisk, _ files: inout [Known], round: Int,
        _ generator: inout SeededGenerator
    ) throws {
        let process = try TestProcess(disk)
        var open: [FileDescriptor] = []
        for step in 0..<generator.below(60) {
            let place = files.isEmpty ? 0 : generator.below(files.count)
            switch files.isEmpty ? 0 : generator.below(10) {
            case 0:
                files.append(Known(name: "\(round)-\(step)"))
                open.append(try process.create("\(round)-\(step)"))
            case 1...5:
                let bytes = generator.bytes(1 + generator.below(1500))
                try process.write(bytes, to: open[place], at: files[place].bytes.count)
                files[place].bytes += bytes
            case 6, 7:
                try process.sync(open[place])
                files[place].syncedCount = files[place].bytes.count
            case 8:
                try process.syncNames()
                for place in files.indices {
                    files[place].isNamed = true
                    files[place].isSafe = true
                }
            default:
                let name = "\(round)-\(step)"
                try process.files.rename(files[place].name, to: name, in: process.directory)
                files[place].name = name
                files[place].isNamed = false
            }
        }
    }
}
