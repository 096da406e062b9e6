import FoundationEssentials
import Stratus
import Support
import Testing

/// Bytes that no compression shrinks.
func noise(_ count: Int, seed: UInt64) -> Data {
    var generator = SeededGenerator(seed: seed)
    var data = Data(capacity: count + 8)
    while data.count < count {
        withUnsafeBytesOf(generator.next()) { data.append(contentsOf: $0) }
    }
    return data.prefix(count)
}

private func withUnsafeBytesOf(_ value: UInt64, _ body: ([UInt8]) -> Void) {
    body((0..<8).map { UInt8(truncatingIfNeeded: value >> ($0 * 8)) })
}

/// A directory of the machine that goes with the value.
final class TemporaryFolder: Sendable {
    let path: String

    init() throws {
        path = "\(FileManager.default.temporaryDirectory.path)/stratus-test-\(UUID().uuidString)"
        try FileManager.default.createDirectory(
            atPath: path, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    /// A file of these bytes in it.
    func file(_ name: String, _ data: Data) throws -> String {
        try data.write(to: URL(filePath: "\(path)/\(name)"))
        return "\(path)/\(name)"
    }

    var names: [String] {
        (try? FileManager.default.contentsOfDirectory(atPath: path).sorted()) ?? []
    }
}

func contents(of path: String) -> Data? { try? Data(contentsOf: URL(filePath: path)) }

/// Buffers, and then perhaps an error.
struct DataStream: AsyncSequence, Sendable {
    var buffers: [Data]
    var failure: StoreError?

    func makeAsyncIterator() -> Iterator { Iterator(rest: buffers[...], failure: failure) }

    struct Iterator: AsyncIteratorProtocol {
        var rest: ArraySlice<Data>
        var failure: StoreError?

        mutating func next() async throws -> Data? {
            if let buffer = rest.popFirst() { return buffer }
            if let failure { throw failure }
            return nil
        }
    }
}

extension Record {
    /// The asset in a field, which must be there.
    func asset(_ key: String) throws -> Asset { try #require(self[key]?.assetValue) }

    /// Its bytes. Inlined, it makes the compiler of Swift 6.3.1 crash.
    @inline(never) func bytes(_ key: String) async throws -> Data {
        try await asset(key).data(limit: 1 << 30)
    }
}
