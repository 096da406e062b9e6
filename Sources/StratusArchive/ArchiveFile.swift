package import StratusBytes
internal import StratusFiles

/// An archive that was opened: its head, table and foot are whole. Of the table it holds what does not
/// grow with the store; zones, files and parts are read where they are needed.
package final class ArchiveFile: Sendable {
    package let name: String
    package let archiveID: Hash128
    package let table: ArchiveTable
    package let totals: ArchiveTotals
    private let file: any StorageFile
    /// Where the table lies, in bytes.
    private let tableRange: Range<Int>

    /// Opens the archive in `file`, whose head was read.
    ///
    /// - Parameter selections: those of other archives: equal ones are held once.
    init(
        _ file: any StorageFile, _ head: ArchiveHead,
        sharing selections: inout Set<[ArchiveTable.Selected]>
    ) throws {
        let name = file.name
        self.name = name
        self.file = file
        func damage(_ kind: ArchiveDamage.StaticName, _ byte: Int) -> ArchiveDamage {
            ArchiveDamage(.archive(kind), file: name, byte: byte)
        }
        let footPlace = file.length - ArchiveFoot.length
        guard footPlace >= ArchiveHead.length else { throw damage(.length, file.length) }
        let footBytes = try file.read(footPlace..<file.length)
        guard let foot = ArchiveFoot(footBytes.span, ofFile: file.length),
            foot.archiveID == head.archiveID
        else { throw damage(.foot, footPlace) }
        tableRange = foot.tablePlace..<footPlace
        let (digest, known) = try Self.digest(head, file, tableRange)
        guard digest == foot.digest else { throw damage(.table, foot.tablePlace) }
        var reader = TableReader(file, tableRange, at: 0, known: known)
        var table = try ArchiveTable(&reader)
        table.selection = selections.insert(table.selection).memberAfterInsert
        // Read again where they are needed: a list of archives needs them of none.
        let contents = try ArchiveContents(file, &reader)
        guard reader.left == 0, contents.end == foot.tablePlace else {
            throw damage(.table, foot.tablePlace)
        }
        archiveID = head.archiveID
        self.table = table
        totals = ArchiveTotals(
            archives: 1, files: contents.files.count, parts: contents.partCount)
    }

    /// The digest of head and table, and the table where it is one block.
    private static func digest(
        _ head: ArchiveHead, _ file: any StorageFile, _ table: Range<Int>
    ) throws(StorageError) -> (digest: [UInt8], known: [UInt8]) {
        var hash = SHA256()
        hash.update(head.encoded().span)
        var place = table.lowerBound
        var block: [UInt8] = []
        while place < table.upperBound {
            block = try file.read(place..<min(place + TableReader.blockLength, table.upperBound))
            hash.update(block.span)
            place += block.count
        }
        return (hash.finish(), block.count == table.count ? block : [])
    }

    /// In bytes.
    package var length: Int { file.length }

    /// Of all parts, in bytes.
    package var contentLength: Int { tableRange.lowerBound - ArchiveHead.length }

    /// What the table says of the zones.
    package func zones() -> ArchiveZones {
        ArchiveZones(
            TableReader(file, tableRange, at: table.zonesPlace), count: table.zoneCount)
    }

    /// Which bytes of which file the archive has.
    func contents() throws -> ArchiveContents {
        var reader = TableReader(file, tableRange, at: table.filesPlace)
        return try ArchiveContents(file, &reader)
    }

    /// Compares every part with its digest; `progress` is told how many bytes were read.
    package func verify(progress: (Int) throws -> Void = { _ in }) throws -> [ArchiveDamage] {
        var findings: [ArchiveDamage] = []
        var reader = TableReader(file, tableRange, at: table.filesPlace)
        let files = try ArchiveTable.files(&reader)
        let count = try ArchiveTable.partCount(&reader)
        var start = ArchiveHead.length
        try ArchiveTable.forEachPart(of: files, count: count, &reader) { part in
            let bytes = try file.read(start..<start + part.length)
            if SHA256.hash(bytes) != part.digest {
                findings.append(ArchiveDamage(.archive(.part), file: name, byte: start))
            }
            start += part.length
            try progress(part.length)
        }
        return findings
    }

    /// That what the table says of the zones is not what the files of the chain say.
    package var zonesDamage: ArchiveDamage {
        ArchiveDamage(
            .archive(.zones), file: name, byte: tableRange.lowerBound + table.zonesPlace)
    }
}
