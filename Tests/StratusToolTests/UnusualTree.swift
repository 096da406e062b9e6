import FoundationEssentials
import StratusFiles
import Support

/// A directory of what directories seldom hold.
final class UnusualTree {
    private(set) var entryCount = 0
    private let writer: TreeWriter

    /// Long enough that forty of them are longer than a path of the system may be.
    private static let deepName = [UInt8](repeating: UInt8(ascii: "d"), count: 110)

    init(at path: String) throws {
        writer = try TreeWriter(path)
        var names: [[UInt8]] = [
            [0xff, 0xfe], Array("new\nline".utf8), Array("-rf".utf8), Array(" ".utf8),
            Array("...".utf8), Array("e\u{301}".utf8), Array("\u{e9}".utf8), [0x1b, 0x5b],
            [UInt8](repeating: UInt8(ascii: "n"), count: 255),
        ]
        for name in names { try file(name, in: [], count: name.count) }
        for count in [0, 1, 16 << 10, (16 << 10) + 1, 300_000] {
            try file(Array("f\(count)".utf8), in: [], count: count)
        }
        names = (0..<2_000).map { Array("many\($0)".utf8) }
        try folder(Array("many".utf8), in: []) { path in
            for name in names { try file(name, in: path, count: 0) }
        }
        try folder([0x80], in: []) { try file([0x81], in: $0, count: 20_000) }
        try folder(Array("empty".utf8), in: []) { _ in }
        let top = try writer.folder([])
        for (name, target) in [
            ("to", Array("no/\n".utf8)), ("up", Array("..".utf8)), ("x", [0xff]),
        ] {
            try top.makeLink(
                Array(name.utf8), to: target, modifiedNanoseconds: -7_000_000_000_000_001)
            entryCount += 1
        }
        try deep(40, in: [])
        try closed()
    }

    private func file(_ name: [UInt8], in path: [UInt8], count: Int) throws {
        let file = try writer.folder(path).makeFile(name, length: count)
        let bytes = (0..<count).map { UInt8(truncatingIfNeeded: ($0 &* $0) >> 3) }
        try file.write([bytes[...]], at: 0)
        try file.finish(mode: 0o640 + count % 8, modifiedNanoseconds: 1_600_000_000_123_456_789)
        entryCount += 1
    }

    private func folder(
        _ name: [UInt8], in path: [UInt8], _ fill: ([UInt8]) throws -> Void
    ) throws {
        try writer.folder(path).makeFolder(name)
        let own = path.isEmpty ? name : path + [UInt8(ascii: "/")] + name
        try fill(own)
        try writer.folder(own).finish(mode: 0o751, modifiedNanoseconds: 999_999_999)
        entryCount += 1
    }

    private func deep(_ levels: Int, in path: [UInt8]) throws {
        var paths = [path]
        for _ in 0..<levels {
            let last = paths[paths.count - 1]
            try writer.folder(last).makeFolder(Self.deepName)
            paths.append(last.isEmpty ? Self.deepName : last + [UInt8(ascii: "/")] + Self.deepName)
            entryCount += 1
        }
        try file(Array("bottom".utf8), in: paths[levels], count: 30_000)
        for path in paths.dropFirst().reversed() {
            try writer.folder(path).finish(mode: 0o700, modifiedNanoseconds: 1)
        }
    }

    /// Only root can import a folder that no user may read.
    private func closed() throws {
        let name = Array("closed".utf8)
        try writer.folder([]).makeFolder(name)
        let inner = try writer.folder(name)
        try inner.finish(mode: 0, modifiedNanoseconds: 0)
        let isRoot = (try? writer.folder(name)) != nil
        try inner.finish(mode: 0o700, modifiedNanoseconds: 0)
        let mode = isRoot ? 0 : 0o700
        try inner.makeFile([65], length: 0).finish(mode: mode, modifiedNanoseconds: 0)
        try inner.finish(mode: mode, modifiedNanoseconds: 0)
        entryCount += 2
    }

    /// Makes what lies deep in a copy of the tree short enough to be deleted by its path.
    func shorten(_ path: String) throws {
        let name = String(decoding: Self.deepName, as: UTF8.self)
        let middle = [String](repeating: name, count: 20).joined(separator: "/")
        try FileManager.default.moveItem(atPath: "\(path)/\(middle)", toPath: "\(path)/rest")
    }
}
