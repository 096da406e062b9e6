/// Takes the files of a store that is copied, one after the other.
package protocol FileSink: AnyObject {
    /// Takes a whole file.
    func put(_ name: String, _ bytes: [UInt8]) throws(StorageError)

    /// Begins a whole file of about `length` bytes, which is taken when it is finished, before anything else.
    func draft(_ name: String, length: Int) throws(StorageError) -> any FileDraft

    /// Takes some bytes of a file of `length` bytes; what no call gives reads as zero. The calls for
    /// one file follow each other, and their places rise.
    func write(
        _ bytes: ArraySlice<UInt8>, at place: Int, of name: String, length: Int
    ) throws(StorageError)

    /// Takes what the file of that name in `source` begins with, so many bytes, without a copy; false
    /// where that cannot be done.
    func share(_ name: String, of source: any Storage, length: Int) throws(StorageError) -> Bool
}

extension FileSink {
    package func draft(_ name: String, length: Int) throws(StorageError) -> any FileDraft {
        BufferedDraft(length: length) { [self] bytes throws(StorageError) in try put(name, bytes) }
    }
    package func share(
        _ name: String, of source: any Storage, length: Int
    ) throws(StorageError) -> Bool { false }
}

/// Makes the files in a storage.
package final class StorageSink: FileSink {
    private let storage: any Storage
    /// The one that is being written.
    private var file: (any StorageFile)?

    package init(_ storage: any Storage) { self.storage = storage }

    package func put(_ name: String, _ bytes: [UInt8]) throws(StorageError) {
        try finish()
        try storage.put(name, bytes)
    }

    package func draft(_ name: String, length: Int) throws(StorageError) -> any FileDraft {
        try finish()
        return try storage.draft(name, length: length)
    }

    /// What was given is durable when this returns.
    package func finish() throws(StorageError) {
        try file?.sync()
        file = nil
    }

    package func share(
        _ name: String, of source: any Storage, length: Int
    ) throws(StorageError) -> Bool {
        try finish()
        file = storage.clone(name, of: source, length: length)
        return file != nil
    }

    package func write(
        _ bytes: ArraySlice<UInt8>, at place: Int, of name: String, length: Int
    ) throws(StorageError) {
        if file?.name != name {
            try finish()
            file = try storage.create(name, length: length)
        }
        try file?.append(bytes.span, at: place, .streamed)
    }
}
