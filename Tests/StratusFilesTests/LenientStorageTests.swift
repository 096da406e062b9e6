import StratusFiles
import Support
import Testing

/// What is read where the medium does not give all of it back.
@Suite struct LenientStorageTests {
    /// A storage of which some blocks cannot be read.
    private final class BadMedium: StorageWrapper {
        let under: any Storage
        let bad: Range<Int>

        init(_ under: any Storage, bad: Range<Int>) {
            self.under = under
            self.bad = bad
        }

        func open(_ name: String) throws(StorageError) -> any StorageFile {
            BadFile(under: try under.open(name), bad: bad)
        }
    }

    private final class BadFile: StorageFileWrapper {
        let under: any StorageFile
        let bad: Range<Int>

        init(under: any StorageFile, bad: Range<Int>) {
            self.under = under
            self.bad = bad
        }

        func read(_ range: Range<Int>, _ mode: ReadMode) throws(StorageError) -> [UInt8] {
            if range.overlaps(bad) { throw StorageError(.inputOutput, file: name) }
            return try under.read(range, mode)
        }
    }

    @Test func `blocks that cannot be read are zeros, and all others what they are`() throws {
        let memory = MemoryStorage()
        let bytes = (0..<20_000).map { UInt8(truncatingIfNeeded: $0 / 7 + 1) }
        try memory.put("a", bytes)
        let lenient = LenientStorage(over: BadMedium(memory, bad: 5000..<9000))
        let file = try lenient.open("a")
        #expect(try file.read(0..<4096) == Array(bytes[0..<4096]))
        var expected = bytes
        for place in 4096..<12_288 { expected[place] = 0 }
        #expect(try file.read(0..<20_000) == expected)
        #expect(try file.read(6000..<6100) == [UInt8](repeating: 0, count: 100))
        #expect(lenient.unreadableBlocks.map(\.byte) == [4096, 8192])
        #expect(lenient.unreadableBlocks.allSatisfy { $0.file == "a" })
        #expect(try file.read(4000..<4100) == Array(bytes[4000..<4100]))
        #expect(try file.read(12_000..<13_000) == Array(bytes[12_000..<13_000]))
        #expect(throws: StorageError.self) { try file.read(19_000..<20_001) }
        #expect(throws: StorageError.self) { try lenient.put("b", [1]) }
    }
}
