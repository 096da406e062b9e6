/// A storage over another one, which answers all that has nothing to do with the bytes of files.
package protocol LayeredStorage: Storage {
    var under: any Storage { get }
}

extension LayeredStorage {
    package var place: String { under.place }
    package var fileSystem: any FileSystem { under.fileSystem }
    package func list() throws(StorageError) -> [String] { try under.list() }
    package func pin(_ name: String) throws(StorageError) -> any StoragePin {
        try under.pin(name)
    }
    package func readers(
        of name: String
    ) throws(StorageError) -> (made: FileTime?, processes: [Int]) { try under.readers(of: name) }
    package func hasWriter() throws(StorageError) -> Bool { try under.hasWriter() }
    package func writer() throws(StorageError) -> String? { try under.writer() }
    package func close() { under.close() }
    package func isDirectory(_ status: FileStatus) -> Bool { under.isDirectory(status) }
    package func hasFile(_ status: FileStatus) throws(StorageError) -> Bool {
        try under.hasFile(status)
    }
    package func holder(of name: String, at byte: Int) -> (file: String, byte: Int)? {
        under.holder(of: name, at: byte)
    }
}

/// A file over one of another storage, of the same name and length.
package protocol LayeredFile: StorageFile {
    var under: any StorageFile { get }
}

extension LayeredFile {
    package var name: String { under.name }
    package var length: Int { under.length }
}
