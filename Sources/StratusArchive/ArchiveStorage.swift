package import StratusFiles

/// The files that a chain of archives holds: a store that can be read.
package final class ArchiveStorage: ReadOnlyStorage {
    /// The full archive first, then those that go on from each other.
    package let chain: [ArchiveFile]
    package let place: String
    package let fileSystem: any FileSystem
    private let files: [String: ChainedFile]

    /// The store in a chain of archives, which lie in `folder`.
    ///
    /// - Throws: ``ArchiveDamage`` where a table is not what it was when its archive was opened.
    package init(_ chain: [ArchiveFile], in folder: any Storage) throws {
        precondition(!chain.isEmpty, "a chain has a full archive")
        self.chain = chain
        place = folder.place + "/" + chain[chain.count - 1].name
        fileSystem = folder.fileSystem
        var files: [String: ChainedFile] = [:]
        for archive in chain {
            let contents = try archive.contents()
            for (number, listed) in contents.files.enumerated() {
                var file = files[listed.name] ?? ChainedFile(name: listed.name)
                file.length = max(file.length, listed.length)
                file.layers.append((contents, number))
                files[listed.name] = file
            }
        }
        self.files = files
    }

    package func list() throws(StorageError) -> [String] { files.keys.sorted() }

    package func open(_ name: String) throws(StorageError) -> any StorageFile {
        guard let file = files[name] else { throw StorageError(.notFound, file: name) }
        return ArchivedFile(file)
    }

    /// Nothing changes an archive, so that nothing has to be kept from changing.
    package func pin(_ name: String) throws(StorageError) -> any StoragePin {
        guard files[name] != nil else { throw StorageError(.notFound, file: name) }
        return ArchivePin()
    }

    /// What no part holds, or is not there, is wrong with the last archive as a whole.
    package func holder(of name: String, at byte: Int) -> (file: String, byte: Int)? {
        for layer in (files[name]?.layers ?? []).reversed() {
            if let place = layer.contents.place(of: byte, ofFile: layer.number) {
                return (layer.contents.name, place)
            }
        }
        return (chain[chain.count - 1].name, 0)
    }

    package func hasWriter() throws(StorageError) -> Bool { false }
    package func writer() throws(StorageError) -> String? { nil }
    package func close() {}
}

private final class ArchivePin: StoragePin {}

/// What the archives of a chain hold of a file, one over the other.
private struct ChainedFile: Sendable {
    var name: String
    var length = 0
    var layers: [(contents: ArchiveContents, number: Int)] = []
}

private final class ArchivedFile: ReadOnlyFile {
    private let file: ChainedFile
    var name: String { file.name }
    var length: Int { file.length }

    init(_ file: ChainedFile) { self.file = file }

    func read(_ range: Range<Int>, _ mode: ReadMode) throws(StorageError) -> [UInt8] {
        guard range.upperBound <= length else { throw StorageError(.truncated, file: name) }
        var bytes = [UInt8](repeating: 0, count: range.count)
        for layer in file.layers {
            try layer.contents.read(range, ofFile: layer.number, into: &bytes, mode)
        }
        return bytes
    }
}
