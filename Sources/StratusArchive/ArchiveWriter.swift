package import StratusBytes
package import StratusFiles

/// Why an archive is not written.
package enum ArchiveRefusal: Error, Equatable {
    /// No reader would take it: what has a limit, and what was found.
    case tooLarge(String)
    /// The chain that it ends would be too long for a reader; a full archive may not be.
    case chainTooLong(String)
}

/// Writes an archive from its beginning to its end: `Formats/Backup.md`.
package final class ArchiveWriter: FileSink {
    package typealias Output = ([UInt8]) throws(StorageError) -> Void

    package private(set) var table: ArchiveTable
    /// How much was written, in bytes.
    package private(set) var length = 0
    private let head: ArchiveHead
    private let output: Output
    /// Of the table, in bytes.
    private let tableLimit: Int
    /// Of the archives that it goes on from, and of itself.
    private let baseTotals: ArchiveTotals
    private var totals = ArchiveTotals(archives: 1)
    /// The zones, files and parts as the table has them, which take less room so.
    private var (zones, files, parts) = (ByteWriter(), ByteWriter(), ByteWriter())
    private var zoneCount = 0
    private var lastFile: ArchiveTable.File?
    /// Whether a file is longer than a reader takes.
    private var hasLongFile = false
    /// The part that is being filled, and where it lies in its file.
    private var part: [UInt8] = []
    private var partPlace = 0

    /// - Parameters:
    ///   - table: what is known before anything is written.
    ///   - base: the archives that it goes on from, together.
    ///   - tableLimit: how long the table may become, in bytes.
    ///   - output: takes all bytes in their order, the first ones with ``begin()`` or once there is a
    ///     part.
    package init(
        _ table: ArchiveTable, archiveID: Hash128, behind base: ArchiveTotals = ArchiveTotals(),
        tableLimit: Int = ArchiveTable.lengthLimit, output: @escaping Output
    ) {
        self.table = table
        head = ArchiveHead(archiveID: archiveID)
        baseTotals = base
        self.tableLimit = tableLimit
        self.output = output
    }

    package func put(_ name: String, _ bytes: [UInt8]) throws(StorageError) {
        try write(bytes[...], at: 0, of: name, length: bytes.count)
    }

    package func write(
        _ bytes: ArraySlice<UInt8>, at place: Int, of name: String, length: Int
    ) throws(StorageError) {
        if lastFile?.name != name {
            try endPart()
            let file = ArchiveTable.File(name: name, length: length)
            file.write(to: &files)
            totals.files += 1
            hasLongFile = hasLongFile || !file.isReadable
            lastFile = file
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

    /// States a zone, in the order that the table has.
    package func state(_ zone: ArchiveTable.Zone) {
        zone.write(to: &zones)
        zoneCount += 1
    }

    /// Says what shows only once all was written, and writes the table, without which it is no
    /// archive.
    ///
    /// - Throws: ``ArchiveRefusal`` where no reader would take the table, which is then not
    ///   written.
    package func finish(chain: UInt64, lastTime: Int64) throws {
        try endPart()
        table.chain = chain
        table.lastTime = lastTime
        let pieces = [
            table.encodedHead(), Self.varint(zoneCount), zones.bytes, table.encodedSelection(),
            Self.varint(totals.files), files.bytes, Self.varint(totals.parts), parts.bytes,
        ]
        let tableLength = pieces.reduce(0) { $0 + $1.count }
        try checkLimits(tableLength)
        try begin()
        let tablePlace = length
        var hash = SHA256()
        hash.update(head.encoded().span)
        for piece in pieces {
            hash.update(piece.span)
            try emit(piece)
        }
        let foot = ArchiveFoot(
            archiveID: head.archiveID, tablePlace: tablePlace, tableLength: tableLength,
            digest: hash.finish())
        try emit(foot.encoded())
    }

    private static func varint(_ count: Int) -> [UInt8] {
        var writer = ByteWriter()
        writer.varint(count)
        return writer.bytes
    }

    private func checkLimits(_ tableLength: Int) throws(ArchiveRefusal) {
        let counts = [
            ("zones", zoneCount, ArchiveTable.zoneLimit),
            ("items of a selection", table.selection.count, ArchiveTable.selectionLimit),
            ("bytes in the table", tableLength, tableLimit),
        ]
        for (what, count, limit) in counts where count > limit {
            throw .tooLarge("at most \(limit) \(what), found \(count)")
        }
        if let excess = totals.excess { throw .tooLarge(excess) }
        if hasLongFile {
            throw .tooLarge("a manifest of at most \(ArchiveTable.manifestLimit) bytes")
        }
        var all = baseTotals
        all.add(totals)
        if let excess = all.excess { throw .chainTooLong(excess) }
    }

    private func endPart() throws(StorageError) {
        if part.isEmpty { return }
        let row = ArchiveTable.Part(
            file: totals.files - 1, place: partPlace, length: part.count,
            digest: SHA256.hash(part))
        row.write(to: &parts)
        totals.parts += 1
        try begin()
        try emit(part)
        partPlace += part.count
        part.removeAll(keepingCapacity: true)
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
