import StratusFiles
import StratusJournal
import Support
import Synchronization
import Testing

/// A storage whose reads of groups take so long that a writer works in their middle.
private final class SlowStorage: StorageWrapper {
    let under: any Storage
    let inTheMiddle: @Sendable () -> Void

    init(_ under: any Storage, inTheMiddle: @escaping @Sendable () -> Void) {
        self.under = under
        self.inTheMiddle = inTheMiddle
    }

    func open(_ name: String) throws(StorageError) -> any StorageFile {
        SlowFile(try under.open(name), inTheMiddle: inTheMiddle)
    }
}

private final class SlowFile: StorageFileWrapper {
    let under: any StorageFile
    let inTheMiddle: @Sendable () -> Void

    init(_ under: any StorageFile, inTheMiddle: @escaping @Sendable () -> Void) {
        self.under = under
        self.inTheMiddle = inTheMiddle
    }

    func read(_ range: Range<Int>, _ mode: ReadMode) throws(StorageError) -> [UInt8] {
        guard range.lowerBound >= SegmentHeader.length else { return try under.read(range) }
        let middle = (range.lowerBound + range.upperBound) / 2
        let first = try under.read(range.lowerBound..<middle)
        inTheMiddle()
        return try first + under.read(middle..<range.upperBound)
    }
}

struct OverlappingReadTests {
    @Test func `a read that overlaps with writes gives no false damage`() throws {
        let store = TestStore()
        let session = try store.write([[ModelCommit(1, [3_000])]], idling: true)
        let number = Mutex<UInt64>(2)
        let local = try LocalStorage(at: TestStore.directory, .reading, on: store.disk.process())
        let slow = SlowStorage(local) {
            let next = number.withLock {
                $0 += 1
                return $0 - 1
            }
            guard next < 10 else { return }
            session.commit([ModelCommit(next, [3_000])])
            session.idle()
        }
        let manifest = try #require(try Journal.newestManifest(in: local))
        var reader = JournalReader(manifest, in: slow, fold: ModelFold())
        for _ in 0..<12 { try reader.read(.durable) }
        #expect(reader.fold.commits == session.outcomes.published)
        #expect(reader.fold.commits.count == 9)
    }
}
