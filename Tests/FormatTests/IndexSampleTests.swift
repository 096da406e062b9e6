import StratusBytes
import StratusFiles
import StratusIndex
import Testing

/// Reads every sample that is an index.
@Suite struct IndexSampleTests {
    /// All of `expected.txt` that can be found out about an index.
    static func description(of files: StoreFiles) throws -> [String] {
        let storage = MemoryStorage()
        for (name, bytes) in files where name != Sample.description {
            try storage.put(name, bytes)
        }
        do throws(IndexError) {
            return try lines(files[Sample.description] ?? [], IndexSample.store(storage))
        } catch {
            guard case .damaged(let damage) = error else { throw error }
            return ["damage \(damage.file) byte \(damage.byte) kind \(damage.kind.identifier)"]
        }
    }

    private static func lines(
        _ description: [UInt8], _ store: TableStore
    ) throws(IndexError) -> [String] {
        let index = try OrderedIndex(
            description: description.span, file: Sample.description, in: store)
        let statistics = index.statistics
        var lines = statistics.runs.map { "run tables \($0.tables) entries \($0.entries)" }
        for (number, keyspace) in statistics.keyspaces.sorted(by: { $0.key < $1.key }) {
            lines.append("keyspace \(number) entries \(keyspace.entries) bytes \(keyspace.bytes)")
        }
        for number in index.tableNumbers { try index.verify(number) }
        for point in [UInt64(700), 800, 900, .max] {
            lines.append("at \(point == .max ? "now" : String(point))")
            var cursor = index.cursor(IndexSample.wholeRange, at: point, .blocking)
            while let (key, value) = try cursor.next() {
                let bytes = Hex.encode((0..<key.count).map { key.byte(at: $0) })
                lines.append("key \(bytes) \(value.stamp) \(value.first) \(value.second)")
            }
        }
        return lines
    }

    @Test(arguments: Sample.indexes)
    func `an index is read as its expectation says`(sample: Sample) throws {
        let expected = try #require(sample.expected)
        let described = try Self.description(of: sample.files)
        #expect(described.joined(separator: "\n") + "\n" == expected)
    }

    @Test func `there are whole indexes and damaged ones`() {
        #expect(Sample.indexes.count { $0.name.hasPrefix("valid/") } >= 2)
        #expect(Sample.indexes.count { $0.name.hasPrefix("damaged/") } >= 4)
    }
}
