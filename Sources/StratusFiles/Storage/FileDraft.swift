internal import StratusBytes

/// A file that is written bit by bit and is there once it is finished, whole. Until then nothing but
/// rests of it can be found, and if it is never finished, none.
package protocol FileDraft: AnyObject {
    /// Writes `bytes` at `position`: behind all that was written, or over it.
    func write(_ bytes: Span<UInt8>, at position: Int) throws(StorageError)

    /// The file is there, and durable, when this returns. The draft is of no use then. Fails with `.exists`
    /// where the name is taken.
    func finish() throws(StorageError)
}

/// A draft in memory, given whole to `put`.
final class BufferedDraft: FileDraft {
    private var file: ByteWriter
    private let put: ([UInt8]) throws(StorageError) -> Void

    /// There is room for `length` bytes from the beginning: while a file moves to a larger place it takes
    /// three times as much.
    init(length: Int, put: @escaping ([UInt8]) throws(StorageError) -> Void) {
        file = ByteWriter(capacity: length)
        self.put = put
    }

    func write(_ bytes: Span<UInt8>, at position: Int) throws(StorageError) {
        let over = min(bytes.count, file.count - position)
        for place in 0..<over { file.set(bytes[place], at: position + place) }
        file.append(bytes.extracting(over..<bytes.count))
    }

    func finish() throws(StorageError) { try put(file.bytes) }
}
