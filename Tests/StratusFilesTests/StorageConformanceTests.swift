import FoundationEssentials
import StratusFiles
import Support
import Testing

/// What every storage promises to those that keep a store in it.
@Suite final class StorageConformanceTests {
    /// Of the storage in a directory of the machine; gone with the test.
    private let path = FileManager.default.temporaryDirectory.path + "/stratus-\(UUID())"

    deinit {
        for path in [path, path + "-none"] { try? FileManager.default.removeItem(atPath: path) }
    }

    @Test(arguments: StorageKind.allCases)
    func `a created file reads as zero and is listed in the order of names`(
        kind: StorageKind
    ) throws {
        let place = try kind.make(path)
        let storage = place.storage
        let others = Set(try storage.list())
        for name in ["b", "a-10", "B", "a-9"] { _ = try storage.create(name, length: 3) }
        let names = try storage.list()
        #expect(names.filter { !others.contains($0) } == ["B", "a-10", "a-9", "b"])
        #expect(names == names.sorted())
        for file in try place.files("b") {
            #expect(file.name == "b" && file.length == 3)
            #expect(try file.read(0..<3) == [0, 0, 0])
        }
        #expect(try place.reader().list() == names)
    }

    @Test(arguments: StorageKind.allCases)
    func `a name that is taken is refused, and its file stays as it was`(kind: StorageKind) throws {
        let storage = try kind.make(path).storage
        try storage.put("put", [1, 2])
        try storage.create("created", length: 2).append([3].span, at: 0)
        for name in ["put", "created"] {
            #expect(fails(.exists, name) { try storage.put(name, [9]) })
            #expect(fails(.exists, name) { _ = try storage.create(name, length: 1) })
        }
        #expect(try storage.open("put").read(0..<2) == [1, 2])
        #expect(try storage.open("created").read(0..<2) == [3, 0])
        #expect(try !storage.list().contains { $0.hasSuffix(LocalStorage.temporarySuffix) })
    }

    @Test(arguments: StorageKind.allCases)
    func `a file that is written bit by bit is there whole once it is finished`(
        kind: StorageKind
    ) throws {
        let place = try kind.make(path)
        let storage = place.storage
        let bytes = pattern(100_000)
        let draft = try storage.draft("a", length: 10)
        // The beginning comes last, as that of a file whose header says where it ends.
        try draft.write([UInt8](repeating: 0, count: 16).span, at: 0)
        try draft.write(bytes.span.extracting(16..<70_000), at: 16)
        try draft.write(bytes.span.extracting(70_000..<100_000), at: 70_000)
        #expect(try !storage.list().contains("a"))
        try draft.write(bytes.span.extracting(0..<16), at: 0)
        try draft.finish()
        for file in try place.files("a") { #expect(try file.read(0..<100_000) == bytes) }
        #expect(fails(.exists, "a") { try storage.draft("a", length: 1).finish() })
        try storage.draft("b", length: 1).write(bytes.span, at: 0)
        #expect(try !storage.list().contains { $0.hasPrefix("b") || $0.hasPrefix("a.") })
    }

    @Test(arguments: StorageKind.allCases)
    func `a name without a file is not found`(kind: StorageKind) throws {
        let place = try kind.make(path)
        for storage in [place.storage, try place.reader()] {
            #expect(fails(.notFound, "none") { _ = try storage.open("none") })
            #expect(fails(.notFound, "none") { _ = try storage.openUnchanging("none") })
            #expect(fails(.notFound, "none") { _ = try storage.pin("none") })
        }
        #expect(try place.storage.delete("none"))
    }

    @Test(arguments: StorageKind.allCases, [0, 1, 511, 512, 513, 100_000])
    func `what is put is read again, whole and in any part`(kind: StorageKind, count: Int) throws {
        let place = try kind.make(path)
        let bytes = pattern(count)
        // Several, since not every write is cut short where some are.
        for name in ["a", "b", "c", "d", "e"] {
            try place.storage.put(name, bytes)
            for file in try place.files(name) {
                #expect(file.length == count)
                // Twice: what was read before may be read in another way.
                for range in [0..<count, count / 3..<count / 2, count..<count, 0..<min(1, count)]
                    + [0..<count]
                {
                    #expect(try file.read(range) == Array(bytes[range]))
                }
            }
        }
    }

    @Test(arguments: StorageKind.allCases, [ReadMode.blocking, .streamed, .resident])
    func `a read past the end is refused, and one up to it is not`(
        kind: StorageKind, mode: ReadMode
    ) throws {
        let place = try kind.make(path)
        try place.storage.put("put", [1, 2, 3])
        let created = try place.storage.create("created", length: 3)
        try created.append([1, 2, 3].span, at: 0)
        for file in try place.files("put") + place.files("created") + [created] {
            for range in [2..<4, 0..<4, 3..<4, 4..<9] {
                do throws(StorageError) {
                    Issue.record("read \(try file.read(range, mode))")
                } catch {
                    let isUnknown = mode == .resident && error.kind == .notResident
                    #expect((error.kind == .truncated || isUnknown) && error.file == file.name)
                }
            }
            #expect(try file.read(1..<3) == [2, 3])
        }
    }

    @Test(arguments: StorageKind.allCases)
    func `a resident read has all bytes or says that it would wait`(kind: StorageKind) throws {
        let place = try kind.make(path)
        let bytes = pattern(5_000)
        try place.storage.put("a", bytes)
        for file in try place.files("a") {
            for start in 0..<40 {
                do throws(StorageError) {
                    let read = try file.read(start..<4_999, .resident)
                    #expect(read == Array(bytes[start..<4_999]))
                } catch {
                    #expect(error.kind == .notResident && error.file == "a")
                }
            }
        }
    }

    @Test(arguments: StorageKind.allCases, [WriteMode.kept, .streamed])
    func `an append changes its range and nothing else, through every handle`(
        kind: StorageKind, mode: WriteMode
    ) throws {
        let storage = try kind.make(path).storage
        let file = try storage.create("a", length: 300_000)
        let other = try storage.open("a")
        var expected = [UInt8](repeating: 0, count: 300_000)
        // A header, small ones in a row, one that leaves a gap, a large one, and one up to the end.
        for range in [
            0..<64, 64..<700, 700..<701, 5_000..<5_003, 8_192..<120_000, 299_990..<300_000,
        ] {
            let bytes = pattern(range.count)
            try file.append(bytes.span, at: range.lowerBound, mode)
            expected.replaceSubrange(range, with: bytes)
        }
        try file.append([UInt8]().span, at: 300_000, mode)
        try file.sync()
        // Compared before: what differs in so many bytes takes long to be described.
        let isSame = try file.read(0..<300_000) == expected
        #expect(isSame)
        #expect(try other.read(0..<6_000) == Array(expected[..<6_000]))
        #expect(other.length == 300_000)
    }

    @Test(arguments: 1...3)
    func `what one call did not write of an append the next ones do`(cut: Int) throws {
        let disk = SimulatedDisk()
        let storage = try StoragePlace("store", on: disk.process()).storage
        let file = try storage.create("a", length: 10_000)
        let calls = disk.callCount
        disk.faults = (1...cut).map { DiskFault(.short, at: calls + $0) }
        try file.append(pattern(10_000).span, at: 0)
        #expect(disk.callCount == calls + cut + 1)
        #expect(try file.read(0..<10_000) == pattern(10_000))
    }

    @Test(arguments: StorageKind.allCases)
    func `what was appended and not synced is written over by a later append`(
        kind: StorageKind
    ) throws {
        let storage = try kind.make(path).storage
        let file = try storage.create("a", length: 1_000)
        try file.append(pattern(600).span, at: 0)
        try file.append([7, 7].span, at: 10)
        try file.sync()
        #expect(try file.read(9..<13) == [pattern(10)[9], 7, 7, pattern(13)[12]])
    }

    @Test(arguments: StorageKind.allCases)
    func `room is reserved, given back and written anew without a byte changing`(
        kind: StorageKind
    ) throws {
        let storage = try kind.make(path).storage
        let file = try storage.create("a", length: 40_000)
        try file.append(pattern(5_000).span, at: 0)
        try file.reserve(5_000..<30_000)
        try file.reserve(0..<100)
        try file.release(20_000..<40_000)
        try file.release(40_000..<40_000)
        try file.rewrite(1_000..<2_000)
        try file.sync()
        #expect(try file.read(0..<5_000) == pattern(5_000))
        #expect(try file.read(5_000..<40_000).allSatisfy { $0 == 0 })
        try file.append(pattern(100).span, at: 25_000)
        #expect(try file.read(25_000..<25_100) == pattern(100))
    }

    @Test(arguments: StorageKind.allCases)
    func `a deleted file is neither listed nor found, and its name is free`(
        kind: StorageKind
    ) throws {
        let storage = try kind.make(path).storage
        try storage.put("a", [1, 2])
        let old = try storage.open("a")
        #expect(try old.read(0..<2) == [1, 2])
        #expect(try storage.delete("a"))
        #expect(try !storage.list().contains("a"))
        #expect(fails(.notFound, "a") { _ = try storage.open("a") })
        try storage.put("a", [3])
        #expect(try storage.open("a").read(0..<1) == [3])
    }

    @Test(arguments: StorageKind.allCases)
    func `a reader goes on with a deleted file that it has open`(kind: StorageKind) throws {
        let place = try kind.make(path)
        try place.storage.put("a", [1, 2])
        let reader = try place.reader()
        let file = try reader.open("a")
        #expect(try place.storage.delete("a"))
        #expect(try file.read(0..<2) == [1, 2])
        #expect(fails(.notFound, "a") { _ = try reader.pin("a") })
    }

    @Test(arguments: StorageKind.allCases)
    func `a pinned file is not deleted before its last pin ends`(kind: StorageKind) throws {
        let place = try kind.make(path)
        try place.storage.put("a", [1, 2])
        let reader = try place.reader()
        var pins = [try reader.pin("a"), try reader.pin("a"), try place.storage.pin("a")]
        while !pins.isEmpty {
            #expect(try !place.storage.delete("a"))
            #expect(try reader.open("a").read(0..<2) == [1, 2])
            pins.removeLast()
        }
        #expect(try place.storage.delete("a"))
        #expect(fails(.notFound, "a") { _ = try reader.pin("a") })
    }

    @Test(arguments: StorageKind.allCases)
    func `a fence stands until a file that it rests on goes, or another writer's comes`(
        kind: StorageKind
    ) throws {
        let storage = try kind.make(path).storage
        for name in ["manifest", "segment"] { try storage.put(name, [1]) }
        let fence = try storage.fence(holding: ["manifest", "segment"], without: "next")
        try fence.check()
        try storage.put("other", [1])
        try fence.check()
        try storage.put("next", [1])
        #expect(fails(.fencedOut, "next") { try fence.check() })
        #expect(try storage.delete("next"))
        try fence.check()
        #expect(try storage.delete("segment"))
        #expect(fails(.fencedOut, "segment") { try fence.check() })
        // The same bytes under the same name are another file.
        try storage.put("segment", [1])
        #expect(fails(.fencedOut, "segment") { try fence.check() })
        #expect(
            fails(.notFound, "none") {
                _ = try storage.fence(holding: ["none"], without: "next")
            })
    }

    @Test(arguments: StorageKind.allCases)
    func `a storage names its writer`(kind: StorageKind) throws {
        let place = try kind.make(path)
        #expect(try place.storage.hasWriter())
        #expect(try place.reader().hasWriter())
        #expect(try place.storage.writer()?.isEmpty == false)
        #expect(!place.storage.place.isEmpty)
    }
}

/// What those promise that another process can open.
extension StorageConformanceTests {
    @Test(arguments: StorageKind.shared)
    func `a second writer is refused with the name of the first until that closes`(
        kind: StorageKind
    ) throws {
        let place = try kind.make(path)
        let error = #expect(throws: StorageError.self) { _ = try place.writer() }
        #expect(error?.kind == .locked(holder: StorageKind.holder))
        let reader = try place.reader()
        #expect(try reader.writer() == StorageKind.holder)
        place.storage.close()
        #expect(try !reader.hasWriter() && reader.writer() == nil)
        let second = try place.writer()
        try second.put("a", [1])
        #expect(try reader.hasWriter())
        #expect(try reader.open("a").read(0..<1) == [1])
    }

    @Test(arguments: StorageKind.shared)
    func `a directory that is missing is named by its path, and made only when that is asked for`(
        kind: StorageKind
    ) throws {
        let place = try kind.make(path)
        let path = place.path + "-none"
        for access in [LocalStorage.Access.reading, .writing(creating: false)] {
            #expect(
                fails(.notFound, path) {
                    _ = try LocalStorage(at: path, access, on: place.system)
                })
        }
        #expect(
            fails(.notFound, path + "/store") {
                _ = try LocalStorage(
                    at: path + "/store", .writing(creating: true), on: place.system)
            })
        // A file where the directory should be.
        try place.storage.put("a", [1])
        for access in [LocalStorage.Access.reading, .writing(creating: true)] {
            #expect(
                fails(.notFound, place.path + "/a") {
                    _ = try LocalStorage(at: place.path + "/a", access, on: place.system)
                })
        }
        _ = try LocalStorage(at: path, .writing(creating: true), on: place.system)
        #expect(try LocalStorage(at: path, .reading, on: place.system).list() == ["writer"])
    }

    @Test(arguments: StorageKind.shared)
    func `a storage knows its directory and its files by any name`(kind: StorageKind) throws {
        let place = try kind.make(path)
        try place.storage.put("a", [1])
        let above = try place.system.status(ofPath: place.path + "/..")
        let status = try place.system.status(ofPath: place.path + "/a")
        #expect(place.storage.isDirectory(try place.system.status(ofPath: place.path)))
        #expect(!place.storage.isDirectory(above) && !place.storage.isDirectory(status))
        #expect(try place.storage.hasFile(status))
        #expect(try !place.storage.hasFile(above))
        #expect(try place.storage.delete("a"))
        #expect(try !place.storage.hasFile(status))
    }
}

extension StorageConformanceTests {
    @Test func `an append behind the end of its file ends the process`() async {
        await #expect(processExitsWith: .failure) {
            try MemoryStorage().create("a", length: 1).append([1, 2].span, at: 0)
        }
        await #expect(processExitsWith: .failure) {
            let storage = try LocalStorage(
                at: "store", .writing(creating: true), on: SimulatedDisk().process())
            try storage.create("a", length: 1).append([1, 2].span, at: 0)
        }
    }

    @Test func `a file shares what another one begins with, where the file system can do that`()
        throws
    {
        var options = DiskOptions()
        options.sharesBlocks = true
        let disk = SimulatedDisk(options: options)
        let process = disk.process()
        let source = try LocalStorage(at: "a", .writing(creating: true), on: process)
        let target = try LocalStorage(at: "b", .writing(creating: true), on: process)
        try source.put("file", pattern(5_000))
        let file = try #require(target.clone("file", of: source, length: 4_000))
        #expect(file.length == 4_000)
        try file.append([9].span, at: 0)
        try file.sync()
        #expect(try target.open("file").read(0..<4_000) == [9] + pattern(5_000)[1..<4_000])
        #expect(try source.open("file").read(0..<5_000) == pattern(5_000))
        // The name is taken, there is no such file, another process has it, or it lies in no directory.
        #expect(target.clone("file", of: source, length: 1) == nil)
        #expect(target.clone("other", of: source, length: 1) == nil)
        let elsewhere = try LocalStorage(at: "c", .writing(creating: true), on: disk.process())
        #expect(elsewhere.clone("file", of: source, length: 1) == nil)
        let memory = MemoryStorage()
        try memory.put("other", [1])
        #expect(target.clone("other", of: memory, length: 1) == nil)
        disk.options.sharesBlocks = false
        try source.put("last", [1])
        #expect(target.clone("last", of: source, length: 1) == nil)
        for storage in [target, elsewhere] {
            #expect(try !storage.list().contains { ["last", "other"].contains($0) })
        }
        #expect(try !elsewhere.list().contains("file"))
    }

    private func pattern(_ count: Int) -> [UInt8] {
        (0..<count).map { UInt8(truncatingIfNeeded: 1 &+ $0 &* 7 &+ $0 / 256) }
    }
}

/// Whether `body` fails with an error of that kind which names that file.
func fails(
    _ kind: StorageError.Kind, _ file: String, _ body: () throws -> Void
) -> Bool {
    do {
        try body()
        return false
    } catch {
        let error = error as? StorageError
        return error?.kind == kind && error?.file == file
    }
}
