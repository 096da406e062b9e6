internal import Synchronization

/// A storage that is only read, and in which blocks that the medium does not give back read as zeros:
/// what is read is verified, so that they are taken for damage, which has an end. Where nothing that is
/// verified lies in them, behind what looks like the end of a journal, only ``unreadableBlocks`` tells.
package final class LenientStorage: LayeredStorage, ReadOnlyStorage {
    /// 4,096 bytes, or less at the end of the file.
    package struct Block: Hashable, Comparable, Sendable {
        package var file: String
        package var byte: Int

        package static func < (first: Block, second: Block) -> Bool {
            (first.file, first.byte) < (second.file, second.byte)
        }
    }

    package let under: any Storage
    private let hidesWriter: Bool
    private let unreadable = Mutex<Set<Block>>([])

    /// - Parameter hidesWriter: that there is a writer is not said, since it is the caller itself, which
    ///   writes nothing.
    package init(over storage: any Storage, hidesWriter: Bool = false) {
        under = storage
        self.hidesWriter = hidesWriter
    }

    package func open(_ name: String) throws(StorageError) -> any StorageFile {
        LenientFile(try under.open(name), in: self)
    }

    /// Those that were come upon so far, by their files.
    package var unreadableBlocks: [Block] { unreadable.withLock { $0.sorted() } }

    fileprivate func note(_ block: Block) { unreadable.withLock { _ = $0.insert(block) } }

    package func hasWriter() throws(StorageError) -> Bool {
        hidesWriter ? false : try under.hasWriter()
    }
}

private final class LenientFile: LayeredFile, ReadOnlyFile {
    let under: any StorageFile
    private let storage: LenientStorage

    init(_ file: any StorageFile, in storage: LenientStorage) {
        under = file
        self.storage = storage
    }

    func read(_ range: Range<Int>, _ mode: ReadMode) throws(StorageError) -> [UInt8] {
        do throws(StorageError) {
            return try under.read(range, mode)
        } catch {
            guard error.kind == .inputOutput else { throw error }
            return try under.readableBytes(in: range, mode) { byte in
                storage.note(LenientStorage.Block(file: name, byte: byte))
            }
        }
    }
}

extension StorageFile {
    /// The bytes in `range`, with zeros for the blocks of 4,096 bytes that the medium does not give
    /// back; `note` is told where each of them begins.
    package func readableBytes(
        in range: Range<Int>, _ mode: ReadMode = .blocking, _ note: (Int) -> Void = { _ in }
    ) throws(StorageError) -> [UInt8] {
        let blockLength = 4096
        var bytes: [UInt8] = []
        bytes.reserveCapacity(range.count)
        var start = range.lowerBound
        while start < range.upperBound {
            let end = min((start / blockLength + 1) * blockLength, range.upperBound)
            do throws(StorageError) {
                bytes += try read(start..<end, mode)
            } catch {
                guard error.kind == .inputOutput else { throw error }
                note(start / blockLength * blockLength)
                bytes += repeatElement(0, count: end - start)
            }
            start = end
        }
        return bytes
    }
}
