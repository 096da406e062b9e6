import FoundationEssentials
import StratusFiles
import Support
import Testing

/// Directories that come into a store, and those that are made of what it holds.
@Suite struct FileTreeTests {
    /// A directory that goes with the value.
    private final class Folder {
        let path = "\(FileManager.default.temporaryDirectory.path)/stratus-\(UUID().uuidString)"

        init() throws {
            try FileManager.default.createDirectory(
                atPath: path + "/in", withIntermediateDirectories: true)
            try write("seen", "in/file")
            try write("seen too", "other")
        }

        deinit { try? FileManager.default.removeItem(atPath: path) }

        func write(_ text: String, _ name: String) throws {
            try Data(text.utf8).write(to: URL(filePath: "\(path)/\(name)"))
        }

        func remove(_ name: String) throws {
            try FileManager.default.removeItem(atPath: "\(path)/\(name)")
        }

        func link(_ name: String, to target: String) throws {
            try FileManager.default.createSymbolicLink(
                atPath: "\(path)/\(name)", withDestinationPath: target)
        }
    }

    private func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }

    private func look(_ folder: Folder) throws -> (FileTree.Folder, FileTree.Entry) {
        let inner = try FileTree(folder.path).folder(bytes("in"))
        return (inner, try inner.entry(bytes("file")))
    }

    @Test func `a file is read that was looked at, wherever it is now`() throws {
        let folder = try Folder()
        let (inner, entry) = try look(folder)
        #expect(entry.kind == .file && entry.size == 4 && entry.path == bytes("in/file"))
        let file = try SourceFile(inner.place(of: entry))
        #expect(file.isMeant && file.isUnchanged())
        #expect(try file.read(at: 0, upTo: 9) == bytes("seen"))
        // The folder is the one that was opened, whatever has its path now.
        try FileManager.default.moveItem(atPath: folder.path + "/in", toPath: folder.path + "/away")
        try folder.link("in", to: "/etc")
        #expect(try inner.file(entry).read(at: 0, upTo: 9) == bytes("seen"))
    }

    @Test func `what came in the place of a file that was looked at is not taken for it`() throws {
        let folder = try Folder()
        let (inner, entry) = try look(folder)
        try folder.remove("in/file")
        try folder.link("in/file", to: "../other")
        #expect(throws: SystemError.self) { try SourceFile(inner.place(of: entry)) }
        #expect(throws: SystemError.self) { try inner.file(entry) }
        try folder.remove("in/file")
        try folder.write("seem", "in/file")
        #expect(try !SourceFile(inner.place(of: entry)).isMeant)
        #expect(try !inner.file(entry).isMeant)
    }

    @Test func `a link that came in the place of a folder is not followed`() throws {
        let folder = try Folder()
        let (inner, entry) = try look(folder)
        try FileManager.default.moveItem(atPath: folder.path + "/in", toPath: folder.path + "/away")
        try folder.link("in", to: "away")
        #expect(throws: SystemError.self) { try SourceFile(inner.place(of: entry)) }
        #expect(throws: SystemError.self) { try FileTree(folder.path).folder(bytes("in")) }
        // A path that a caller gives may have links.
        #expect(try SourceFile(FilePlace(folder.path + "/in/file")).isMeant)
    }

    @Test func `a file that is changed after it was opened is found to be`() throws {
        let folder = try Folder()
        let (inner, entry) = try look(folder)
        let file = try inner.file(entry)
        #expect(file.isUnchanged())
        try folder.write("longer than it was", "in/file")
        #expect(!file.isUnchanged())
    }

    @Test func `a tree is made and read that is deeper than a path may be long`() throws {
        let folder = try Folder()
        let root = folder.path + "/deep"
        let writer = try TreeWriter(root)
        let name = [UInt8](repeating: UInt8(ascii: "d"), count: 200)
        var path: [UInt8] = []
        for _ in 0..<30 {
            try writer.folder(path).makeFolder(name)
            path += (path.isEmpty ? [] : bytes("/")) + name
        }
        let file = try writer.folder(path).makeFile(bytes("f"), length: 4)
        try file.write([bytes("deep")[...]], at: 0)
        try file.finish(mode: 0o600, modifiedNanoseconds: 5)
        let inner = try FileTree(root).folder(path)
        let entry = try inner.entry(bytes("f"))
        #expect(entry.modifiedNanoseconds == 5 && entry.path.count > 4096)
        #expect(try SourceFile(inner.place(of: entry)).read(at: 0, upTo: 9) == bytes("deep"))
        // So that its path is short enough to be deleted.
        let middle = path.prefix(201 * 15 - 1)
        try FileManager.default.moveItem(
            atPath: root + "/" + String(decoding: middle, as: UTF8.self),
            toPath: folder.path + "/rest")
    }

    @Test func `what is made is given its mode and date, and a file given up is gone`() throws {
        let folder = try Folder()
        let writer = try TreeWriter(folder.path + "/made")
        let top = try writer.folder([])
        try top.makeFolder(bytes("sub"))
        try top.makeLink(bytes("link"), to: bytes("\u{1}no/where"), modifiedNanoseconds: -1)
        var file: TreeFile? = try writer.folder(bytes("sub")).makeFile([0xff], length: 3)
        try file?.write([bytes("all")[...]], at: 0)
        try file?.finish(mode: 0o4640, modifiedNanoseconds: 1_999_999_999)
        file = try top.makeFile(bytes("half"), length: 4)
        try file?.write([bytes("half")[...]], at: 0)
        file = nil
        try writer.folder(bytes("sub")).finish(mode: 0o1750, modifiedNanoseconds: -1_500_000_000)
        let made = try FileTree(folder.path + "/made")
        let found = try made.folder([])
        #expect(try Array(found.names()) == [bytes("link"), bytes("sub")])
        let link = try found.entry(bytes("link"))
        #expect(link.kind == .link && link.modifiedNanoseconds == -1)
        #expect(try found.target(bytes("link")) == bytes("\u{1}no/where"))
        let sub = try found.entry(bytes("sub"))
        #expect(sub.mode == 0o1750 && sub.modifiedNanoseconds == -1_500_000_000)
        let inner = try made.folder(bytes("sub")).entry([0xff])
        #expect(inner.mode == 0o4640 && inner.modifiedNanoseconds == 1_999_999_999)
        #expect(inner.size == 3)
    }

    @Test func `a file has no name before it is whole, so that nothing of it can stay behind`()
        throws
    {
        let folder = try Folder()
        let top = try TreeWriter(folder.path + "/made").folder([])
        let treeFile = try top.makeFile(bytes("tree"), length: 4)
        try treeFile.write([bytes("part")[...]], at: 0)
        let fresh = try FreshFile(folder.path + "/made/fresh", length: 4)
        try fresh.write([bytes("part")[...]], at: 0)
        let other = try #require(FreshFile(replacing: folder.path + "/made/other"))
        try other.write([bytes("part")[...]], at: 0)
        let files = FileManager.default
        #expect(try files.contentsOfDirectory(atPath: folder.path + "/made") == [])
        try treeFile.finish(mode: 0o600, modifiedNanoseconds: 0)
        try fresh.place()
        try other.replace()
        let names = try files.contentsOfDirectory(atPath: folder.path + "/made").sorted()
        #expect(names == ["fresh", "other", "tree"])
    }

    @Test func `a file takes the place of another with its permissions, and of nothing else`()
        throws
    {
        let folder = try Folder()
        let top = try TreeWriter(folder.path + "/made").folder([])
        try top.makeFile(bytes("old"), length: 0).finish(mode: 0o640, modifiedNanoseconds: 0)
        try top.makeLink(bytes("link"), to: bytes("old"), modifiedNanoseconds: 0)
        let file = try #require(FreshFile(replacing: folder.path + "/made/old"))
        try file.write([bytes("new")[...]], at: 0)
        try file.replace()
        let made = try FileTree(folder.path + "/made").folder([])
        let entry = try made.entry(bytes("old"))
        #expect(entry.mode == 0o640 && entry.size == 3)
        #expect(try Array(made.names()) == [bytes("link"), bytes("old")])
        for name in ["made/link", "made", "made/none/file", "made/"] {
            #expect(FreshFile(replacing: "\(folder.path)/\(name)") == nil, "\(name)")
        }
    }

    @Test func `a walk goes back to where it came from, and never out of the tree`() throws {
        let folder = try Folder()
        let writer = try TreeWriter(folder.path + "/tree")
        var making = writer.walk()
        for name in ["a", "b", "c"] {
            try making.folder.makeFolder(bytes(name))
            try making.enter(bytes(name))
        }
        var walk = try FileTree(folder.path + "/tree").walk()
        for name in ["a", "b", "c"] { try walk.enter(bytes(name)) }
        #expect(walk.path == bytes("a/b/c"))
        // What is above it now is no part of the way.
        try FileManager.default.moveItem(
            atPath: folder.path + "/tree/a/b/c", toPath: folder.path + "/in/c")
        try walk.leave()
        #expect(walk.path == bytes("a/b") && walk.folder.path == bytes("a/b"))
        #expect(try Array(walk.folder.names()) == [])
        try FileManager.default.moveItem(
            atPath: folder.path + "/tree/a", toPath: folder.path + "/in/a")
        // The folder itself, wherever it lies now, and then the one that it was come from.
        try walk.leave()
        #expect(walk.path == bytes("a"))
        try walk.leave()
        #expect(walk.path == [] && walk.folder.path == [])
        #expect(try Array(walk.folder.names()) == [])
        #expect(throws: SystemError.self) { try walk.enter(bytes("a")) }
    }

    @Test func `slices are written one after the other, however many and in whatever order`()
        throws
    {
        let folder = try Folder()
        let top = try TreeWriter(folder.path + "/made").folder([])
        // More than one call takes, of all lengths, and more than blocks are found for at once.
        let slices = (0..<500).map { number in
            (0..<number * 157).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ number) }[...]
        }
        let all = slices.flatMap { $0 }
        let file = try top.makeFile(bytes("f"), length: all.count)
        let middle = slices[..<250].reduce(0) { $0 + $1.count }
        try file.write(Array(slices[250...]), at: middle)
        try file.write(Array(slices[..<250]), at: 0)
        try file.finish(mode: 0o600, modifiedNanoseconds: 0)
        let made = try Data(contentsOf: URL(filePath: folder.path + "/made/f"))
        // Compared before: what differs in so many bytes takes long to be described.
        let isSame = made == Data(all)
        #expect(isSame)
    }

    @Test func `a file that is said to be longer than anything takes no more than it has`()
        throws
    {
        let folder = try Folder()
        let top = try TreeWriter(folder.path + "/made").folder([])
        let file = try top.makeFile(bytes("f"), length: 1 << 59)
        try file.write([bytes("short")[...]], at: 0)
        try file.finish(mode: 0o600, modifiedNanoseconds: 0)
        let made = try Data(contentsOf: URL(filePath: folder.path + "/made/f"))
        #expect(made == Data(bytes("short")))
    }

    @Test func `nothing is written over, nor through a link`() throws {
        let folder = try Folder()
        func code(_ body: () throws -> Void) -> SystemError.Code? {
            do { try body() } catch let error as SystemError { return error.code } catch {}
            return nil
        }
        #expect(code { _ = try TreeWriter(folder.path + "/in") } == .exists)
        let writer = try TreeWriter(folder.path + "/made")
        let top = try writer.folder([])
        try top.makeLink(bytes("out"), to: bytes("../in"), modifiedNanoseconds: 0)
        #expect(code { try top.makeFolder(bytes("out")) } == .exists)
        let file = try top.makeFile(bytes("out"), length: 4)
        #expect(code { try file.finish(mode: 0o600, modifiedNanoseconds: 0) } == .exists)
        #expect(code { _ = try writer.folder(bytes("out")) } != nil)
        try folder.link("dangling", to: "nowhere")
        for name in ["other", "dangling", "in"] {
            #expect(code { _ = try FreshFile("\(folder.path)/\(name)", length: 0) } == .exists)
        }
        #expect(!TreeWriter.isName(bytes("..")) && !TreeWriter.isName(bytes("a/b")))
        #expect(!TreeWriter.isTarget([]) && !TreeWriter.isTarget([65, 0, 66]))
    }

    @Test func `an error of the system says what it means`() throws {
        let folder = try Folder()
        try folder.link("in/link", to: "file")
        let inner = try FileTree(folder.path).folder(bytes("in"))
        let error = #expect(throws: SystemError.self) { try inner.file(inner.entry(bytes("link"))) }
        #expect(error?.description == "open: too many levels of symbolic links")
    }
}
