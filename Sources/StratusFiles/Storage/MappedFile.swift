/// A file that does not change any more, as part of memory.
///
/// What is read for the first time comes through a system call, which can say that it would have to
/// wait, or that the medium failed. From then on the same pages are copied from the mapping, which takes
/// no call. Of those the system may have dropped some meanwhile: to read them again the thread waits
/// whatever the mode, and where that fails, or the file was made shorter, the process ends by SIGBUS.
final class MappedFile: LayeredFile {
    let under: any StorageFile
    private let mapping: any FileMapping
    /// The pages that were read before.
    private let read: AtomicBits

    /// In bytes; that of the system may be larger.
    private static let pageLength = 4096

    /// Nil where there is no memory to note what was read of so long a file.
    init?(_ under: any StorageFile, _ mapping: any FileMapping) {
        guard let read = AtomicBits(count: (under.length + Self.pageLength - 1) / Self.pageLength)
        else { return nil }
        self.under = under
        self.mapping = mapping
        self.read = read
    }

    func read(_ range: Range<Int>, _ mode: ReadMode) throws(StorageError) -> [UInt8] {
        // What is read once is not expected to be read again.
        guard mode != .streamed, !range.isEmpty, range.upperBound <= length else {
            return try under.read(range, mode)
        }
        let pages =
            range.lowerBound / Self.pageLength..<(range.upperBound - 1) / Self.pageLength + 1
        guard read.containsAll(of: pages) else {
            let bytes = try under.read(range, mode)
            read.insert(pages)
            return bytes
        }
        return [UInt8](capacity: range.count) { mapping.copy(range, into: &$0) }
    }

    func append(
        _ bytes: Span<UInt8>, at position: Int, _ mode: WriteMode
    ) throws(StorageError) { try under.append(bytes, at: position, mode) }

    func reserve(_ range: Range<Int>) throws(StorageError) { try under.reserve(range) }
    func release(_ range: Range<Int>) throws(StorageError) { try under.release(range) }
    func rewrite(_ range: Range<Int>) throws(StorageError) { try under.rewrite(range) }
    func sync() throws(StorageError) { try under.sync() }
}
