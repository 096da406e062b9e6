/// A storage that nothing is written to: whatever would change it fails with `.permission`.
package protocol ReadOnlyStorage: Storage {}

extension ReadOnlyStorage {
    package func create(_ name: String, length: Int) throws(StorageError) -> any StorageFile {
        throw StorageError(.permission, file: name)
    }

    package func put(_ name: String, _ bytes: [UInt8]) throws(StorageError) {
        throw StorageError(.permission, file: name)
    }

    package func delete(_ name: String) throws(StorageError) -> Bool {
        throw StorageError(.permission, file: name)
    }

    package func fence(
        holding names: [String], without absent: String
    ) throws(StorageError) -> any StorageFence {
        throw StorageError(.permission, file: absent)
    }
}

/// A file of such a storage.
package protocol ReadOnlyFile: StorageFile {}

extension ReadOnlyFile {
    package func append(
        _ bytes: Span<UInt8>, at position: Int, _ mode: WriteMode
    ) throws(StorageError) { throw StorageError(.permission, file: name) }

    package func reserve(_ range: Range<Int>) throws(StorageError) {
        throw StorageError(.permission, file: name)
    }

    package func release(_ range: Range<Int>) throws(StorageError) {
        throw StorageError(.permission, file: name)
    }

    package func rewrite(_ range: Range<Int>) throws(StorageError) {
        throw StorageError(.permission, file: name)
    }

    package func sync() throws(StorageError) {}
}
