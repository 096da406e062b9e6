package import StratusBytes
package import StratusFiles

/// Why an archive is not written.
package enum ArchiveRefusal: Error, Equatable {
    /// Its table, of so many bytes, is longer than a reader takes, or names more files.
    case tableTooLong(Int)
}

/// Writes an archive from its beginning to its end: `Formats/Archive.md`.
package final class ArchiveWriter: FileSink {
    package typealias Output = ([UInt8]) throws(StorageError) -> Void

    package private(set) var table: ArchiveTable
    /// How much was written, in bytes.
    package private(set) var length = 0
    private let head: ArchiveHead
    private let output: Output
    /// Of the table, in bytes.
    private let tableLimit: Int
    /// The part that is being filled, and where it lies in its file.
    private var part: [UInt8] = []
    private var partPlace = 0

    /// - Parameters:
    ///   - table: what is known before anything is written; the zones may be stated later.
    ///   - tableLimit: how long the table may become, in bytes.
    ///   - output: takes all bytes in their order, the first ones with ``begin()`` or once there is a
    ///     part.
    package init(
        _ table: ArchiveTable, archiveID: Hash128, tableLimit: Int = ArchiveTable.lengthLimit,
        output: @escaping Output
    ) {
        self.table = table
        head = ArchiveHead(archiveID: archiveID)
        self.tableLimit = tableLimit
        self.output = output
    }

    package func put(_ name: String, _ bytes: [UInt8]) throws(StorageError) {
        try write(bytes[...], at: 0, of: name, length: bytes.count)
    }

    package func write(
        _ bytes: ArraySlice<UInt8>, at place: Int, of name: String, length: Int
    ) throws(StorageError) {
        if table.files.last?.name != name {
            try endPart()
            table.files.append(ArchiveTable.File(name: name, length: length))
        } else if place != partPlace + part.count {
            try endPart()
        }
        if part.isEmpty { partPlace = place }
        var rest = bytes
        while !rest.isEmpty {
            let count = min(rest.count, ArchiveTable.partLimit - part.count)
            part += rest.prefix(count)
            rest = rest.dropFirst(count)
            if part.count == ArchiveTable.partLimit { try endPart() }
        }
    }

    /// Says what shows only once all was written, and writes the table, without which it is no
    /// archive.
    ///
    /// - Throws: ``ArchiveRefusal`` where no reader would take the table, which is then not
    ///   written.
    package func finish(
        chain: UInt64, lastTime: Int64, zones: [ArchiveTable.Zone]
    ) throws {
        try endPart()
        table.chain = chain
        table.lastTime = lastTime
        table.zones = zones
        let fileCount = table.files.count
        let table = table.encoded()
        guard table.count <= tableLimit, fileCount <= ArchiveTable.fileLimit else {
            throw ArchiveRefusal.tableTooLong(table.count)
        }
        try begin()
        let foot = ArchiveFoot(
            archiveID: head.archiveID, tablePlace: length, tableLength: table.count,
            digest: ArchiveFoot.digest(head, table))
        try emit(table)
        try emit(foot.encoded())
    }

    private func endPart() throws(StorageError) {
        let (bytes, place) = (part, partPlace)
        partPlace += part.count
        if bytes.isEmpty { return }
        part.removeAll(keepingCapacity: true)
        table.parts.append(
            ArchiveTable.Part(
                file: table.files.count - 1, place: place, length: bytes.count,
                digest: SHA256.hash(bytes)))
        try begin()
        try emit(bytes)
    }

    /// Writes the head, unless that was done: what reads the archive from a pipe sees that it has begun.
    /// Without this call the head goes out with what follows it, and a backup that is refused before
    /// has written nothing.
    package func begin() throws(StorageError) {
        if length == 0 { try emit(head.encoded()) }
    }

    private func emit(_ bytes: [UInt8]) throws(StorageError) {
        try output(bytes)
        length += bytes.count
    }
}
