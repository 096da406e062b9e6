package import StratusFiles

/// A storage that does what another one does, but for the verbs that it has of its own.
package protocol StorageWrapper: LayeredStorage {}

extension StorageWrapper {
    package func create(_ name: String, length: Int) throws(StorageError) -> any StorageFile {
        try under.create(name, length: length)
    }
    package func open(_ name: String) throws(StorageError) -> any StorageFile {
        try under.open(name)
    }
    package func put(_ name: String, _ bytes: [UInt8]) throws(StorageError) {
        try under.put(name, bytes)
    }
    package func delete(_ name: String) throws(StorageError) -> Bool { try under.delete(name) }
    package func fence(
        holding names: [String], without absent: String
    ) throws(StorageError) -> any StorageFence {
        try under.fence(holding: names, without: absent)
    }
}

/// A file that does what another one does, but for the verbs that it has of its own.
package protocol StorageFileWrapper: LayeredFile {}

extension StorageFileWrapper {
    package func reserve(_ range: Range<Int>) throws(StorageError) { try under.reserve(range) }
    package func append(
        _ bytes: Span<UInt8>, at position: Int, _ mode: WriteMode
    ) throws(StorageError) {
        try under.append(bytes, at: position, mode)
    }
    package func release(_ range: Range<Int>) throws(StorageError) { try under.release(range) }
    package func rewrite(_ range: Range<Int>) throws(StorageError) { try under.rewrite(range) }
    package func sync() throws(StorageError) { try under.sync() }
    package func read(_ range: Range<Int>, _ mode: ReadMode) throws(StorageError) -> [UInt8] {
        try under.read(range, mode)
    }
}
