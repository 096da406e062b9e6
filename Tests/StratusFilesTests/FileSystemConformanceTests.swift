import FoundationEssentials
import StratusFiles
import Support
import Testing

/// What the machine and the simulated disk answer alike.
@Suite final class FileSystemConformanceTests {
    enum Kind: CaseIterable, Sendable {
        case machine
        case simulatedDisk
    }

    /// On the machine, and gone with the test.
    private let path = FileManager.default.temporaryDirectory.path + "/stratus-\(UUID())"

    deinit { try? FileManager.default.removeItem(atPath: path) }

    /// An empty directory.
    private func folder(on kind: Kind) throws -> Folder {
        switch kind {
        case .machine: return try Folder(making: path, on: LinuxFileSystem())
        case .simulatedDisk: return try Folder(making: "folder", on: SimulatedDisk().process())
        }
    }

    /// A directory that is open, and calls in it.
    private struct Folder {
        let system: any FileSystem
        let directory: FileDescriptor

        init(making path: String, on system: any FileSystem) throws {
            self.system = system
            try system.makeDirectory(path)
            directory = try system.openDirectory(path)
        }

        /// A file of these bytes, closed again.
        func make(_ name: String, _ bytes: [UInt8] = []) throws {
            let file = try system.open(name, in: directory, .creatingExclusively)
            if !bytes.isEmpty { _ = try system.write(file, bytes.span, at: 0, .kept) }
            try system.close(file)
        }

        func makeFolder(_ name: String) throws {
            try system.makeDirectory(Array(name.utf8), from: directory)
        }

        func link(_ name: String, to target: String) throws {
            try system.makeLink(Array(name.utf8), to: Array(target.utf8), in: directory)
        }

        func open(_ name: String, _ mode: OpenMode = .reading) throws -> FileDescriptor {
            try system.open(name, in: directory, mode)
        }

        func openPath(_ path: String, _ access: DirectoryAccess = .reading) throws -> FileDescriptor
        {
            try system.openDirectory(Array(path.utf8), from: directory, access)
        }

        func rename(_ name: String, to newName: String, replacing: Bool) throws {
            try system.rename(
                Array(name.utf8), to: Array(newName.utf8), in: directory, replacing: replacing)
        }

        func status(_ name: String) throws -> FileStatus {
            try system.status(of: name, in: directory)
        }

        func bytes(_ name: String) throws -> [UInt8] {
            let file = try open(name)
            defer { try? system.close(file) }
            return try bytes(file)
        }

        func bytes(_ file: FileDescriptor, _ mode: ReadMode = .blocking) throws -> [UInt8] {
            try [UInt8](capacity: 100) { bytes in
                _ = try system.read(file, into: &bytes, at: 0, mode)
            }
        }

        var names: [String] {
            get throws {
                try system.list(directory).map { String(decoding: $0, as: UTF8.self) }.sorted()
            }
        }
    }

    /// What a call fails with; nil where it does not.
    private func code<Result>(_ body: () throws -> Result) -> SystemError.Code? {
        do {
            _ = try body()
            return nil
        } catch {
            return (error as? SystemError)?.code
        }
    }

    @Test(arguments: Kind.allCases)
    func `a mapping shows what is in a file, also once that was closed and has no name`(
        kind: Kind
    ) throws {
        let folder = try folder(on: kind)
        try folder.make("file", [1, 2, 3, 4, 5])
        let file = try folder.open("file", .writing)
        let mapping = try folder.system.map(file, length: 5)
        func bytes(_ range: Range<Int>) -> [UInt8] {
            [UInt8](capacity: range.count) { mapping.copy(range, into: &$0) }
        }
        #expect(bytes(1..<4) == [2, 3, 4])
        _ = try folder.system.write(file, [9].span, at: 2, .kept)
        #expect(bytes(0..<5) == [1, 2, 9, 4, 5])
        try folder.system.close(file)
        try folder.system.unlink("file", in: folder.directory)
        #expect(bytes(0..<5) == [1, 2, 9, 4, 5])
        try folder.make("empty")
        let empty = try folder.open("empty")
        #expect(code { try folder.system.map(empty, length: 0) } == .invalid)
    }

    @Test(arguments: Kind.allCases)
    func `an entry of another kind, a missing one and a taken name are told apart`(
        kind: Kind
    ) throws {
        let folder = try folder(on: kind)
        try folder.make("file")
        try folder.makeFolder("sub")
        try folder.link("link", to: "file")
        try folder.link("loop", to: "loop")
        try folder.link("dangling", to: "none")
        #expect(code { try folder.open("none") } == .notFound)
        #expect(code { try folder.open("link") } == .tooManyLinks)
        #expect(code { try folder.open("sub", .writing) } == .isDirectory)
        #expect(code { try folder.open("file", .directory) } == .notDirectory)
        #expect(code { try folder.open("link", .directory) } == .notDirectory)
        #expect(code { try folder.openPath("file") } == .notDirectory)
        #expect(code { try folder.openPath("file/in") } == .notDirectory)
        #expect(code { try folder.openPath("loop/in") } == .tooManyLinks)
        #expect(code { try folder.openPath("dangling") } == .notFound)
        for name in ["file", "sub", "dangling"] {
            #expect(code { try folder.open(name, .creatingExclusively) } == .exists)
            #expect(code { try folder.makeFolder(name) } == .exists)
            #expect(code { try folder.link(name, to: "a") } == .exists)
            #expect(code { try folder.rename("link", to: name, replacing: false) } == .exists)
        }
        #expect(code { try folder.makeFolder("file/in") } == .notDirectory)
        #expect(code { try folder.makeFolder("none/in") } == .notFound)
        #expect(code { try folder.rename("none", to: "a", replacing: true) } == .notFound)
        #expect(code { try folder.rename("file", to: "sub", replacing: true) } == .isDirectory)
        #expect(code { try folder.system.unlink("sub", in: folder.directory) } == .isDirectory)
        #expect(code { try folder.system.unlink("none", in: folder.directory) } == .notFound)
        #expect(
            code { try folder.system.target(of: Array("file".utf8), in: folder.directory) }
                == .invalid)
        #expect(try folder.names == ["dangling", "file", "link", "loop", "sub"])
    }

    @Test(arguments: Kind.allCases)
    func `a path leads through folders, links and back, and a name to itself alone`(
        kind: Kind
    ) throws {
        let folder = try folder(on: kind)
        try folder.makeFolder("sub")
        try folder.makeFolder("sub/inner")
        let inner = try folder.openPath("sub/inner")
        try folder.system.makeLink(Array("up".utf8), to: Array("../..".utf8), in: inner)
        try folder.link("way", to: "sub/inner")
        let own = try folder.system.status(folder.directory)
        #expect(own.kind == .directory)
        for path in [".", "sub/..", "sub/inner/up", "way/up/./way/../.."] {
            let found = try folder.openPath(path, .traversing)
            #expect(try folder.system.status(found).isSameFile(as: own), "\(path)")
        }
        #expect(try folder.status("way/../..").isSameFile(as: own))
        #expect(try folder.status("way").kind == .link)
        #expect(try folder.status("sub").kind == .directory)
        #expect(try !folder.status("sub").isSameFile(as: own))
        let above = try folder.open("sub", .directory)
        let back = try folder.system.open("..", in: above, .directory)
        #expect(try folder.system.status(back).isSameFile(as: own))
        #expect(
            try folder.system.target(of: Array("way".utf8), in: folder.directory)
                == Array("sub/inner".utf8))
    }

    @Test(arguments: Kind.allCases)
    func `a folder that is open for its names alone cannot be synced`(
        kind: Kind
    ) throws {
        let folder = try folder(on: kind)
        let names = try folder.openPath(".", .traversing)
        try folder.make("file")
        #expect(try folder.system.status(of: "file", in: names).kind == .file)
        #expect(code { try folder.system.synchronize(names) } == .badDescriptor)
        #expect(try folder.system.list(names).count == 1)
        let again = try folder.system.open(".", in: names, .directory)
        try folder.system.synchronize(again)
    }

    @Test(arguments: Kind.allCases)
    func `a file without a name is no entry before it is linked, and then like any other`(
        kind: Kind
    ) throws {
        let folder = try folder(on: kind)
        let file = try folder.system.openUnnamed(in: folder.directory, permissions: 0o640)
        let slices: [ArraySlice<UInt8>] = [[1, 2], [], [3]]
        #expect(try folder.system.write(file, slices[...], at: 0, .streamed) == 3)
        #expect(try folder.bytes(file, .streamed) == [1, 2, 3])
        try folder.system.startWriting(file, 0..<3)
        #expect(try folder.names == [])
        #expect(try folder.system.status(file).links == 0)
        try folder.system.link(file, as: Array("a".utf8), in: folder.directory)
        #expect(
            code { try folder.system.link(file, as: Array("a".utf8), in: folder.directory) }
                == .exists)
        #expect(try folder.bytes("a") == [1, 2, 3])
        let status = try folder.status("a")
        #expect(status.links == 1 && status.permissions == 0o640 && status.length == 3)
    }

    @Test(arguments: Kind.allCases)
    func `a file takes the place of another, which stays readable where it is open`(
        kind: Kind
    ) throws {
        let folder = try folder(on: kind)
        try folder.make("old", [1])
        try folder.make("new", [2])
        let old = try folder.open("old")
        try folder.rename("new", to: "old", replacing: true)
        #expect(try folder.names == ["old"])
        #expect(try folder.bytes("old") == [2])
        #expect(try folder.bytes(old) == [1])
        #expect(try folder.system.status(old).links == 0)
    }

    @Test(arguments: Kind.allCases)
    func `what a file has besides its bytes is kept, and shows that it was changed`(
        kind: Kind
    ) throws {
        let folder = try folder(on: kind)
        try folder.make("file", [1])
        try folder.link("link", to: "file")
        let file = try folder.open("file", .writing)
        try folder.system.setPermissions(file, 0o4711)
        let time = FileTime(nanosecondsSince1970: -1_500_000_000)
        try folder.system.setTimes(file, time)
        try folder.system.setTimes(of: Array("link".utf8), in: folder.directory, time)
        let status = try folder.status("file")
        #expect(status == (try folder.system.status(file)))
        #expect(status.permissions == 0o4711 && status.modified == time && status.length == 1)
        #expect(time.seconds == -2 && time.nanosecondsSince1970 == -1_500_000_000)
        #expect(try folder.status("link").modified == time)
        _ = try folder.system.write(file, [2].span, at: 0, .kept)
        let written = try folder.status("file")
        #expect(written != status && written.isSameFile(as: status))
        #expect(written.modified != time && written.length == 1)
    }
}
