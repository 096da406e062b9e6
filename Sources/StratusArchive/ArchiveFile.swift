package import StratusBytes
internal import StratusFiles

/// An archive that was opened: its head, table and foot are whole.
package final class ArchiveFile: Sendable {
    package let name: String
    package let archiveID: Hash128
    package let table: ArchiveTable
    private let file: any StorageFile
    /// Where each part begins in the archive, in bytes.
    private let starts: [Int]
    /// The first part of each file, and behind the last one how many parts there are.
    private let firstParts: [Int]

    /// Opens the archive in `file`, whose head was read.
    init(_ file: any StorageFile, _ head: ArchiveHead) throws {
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
        let bytes = try file.read(foot.tablePlace..<footPlace)
        guard ArchiveFoot.digest(head, bytes) == foot.digest else {
            throw damage(.table, foot.tablePlace)
        }
        do throws(FormatError) {
            table = try ArchiveTable(bytes.span)
        } catch .newer(let what) {
            throw ArchiveDamage(.newerPart("\(what)"), file: name, byte: foot.tablePlace)
        } catch {
            throw damage(.table, foot.tablePlace)
        }
        archiveID = head.archiveID
        var (starts, firsts) = ([Int](), [Int]())
        var place = ArchiveHead.length
        for (number, part) in table.parts.enumerated() {
            if part.file == firsts.count { firsts.append(number) }
            starts.append(place)
            place += part.length
        }
        firsts.append(table.parts.count)
        guard place == foot.tablePlace else { throw damage(.table, foot.tablePlace) }
        (self.starts, firstParts) = (starts, firsts)
    }

    /// In bytes.
    package var length: Int { file.length }

    /// Compares every part with its digest; `progress` is told how many bytes were read.
    package func verify(progress: (Int) throws -> Void = { _ in }) throws -> [ArchiveDamage] {
        var findings: [ArchiveDamage] = []
        for (number, part) in table.parts.enumerated() {
            let bytes = try file.read(starts[number]..<starts[number] + part.length)
            if SHA256.hash(bytes) != part.digest {
                findings.append(
                    ArchiveDamage(.archive(.part), file: name, byte: starts[number]))
            }
            try progress(part.length)
        }
        return findings
    }

    /// Puts what the archive has of a file's `range` into `bytes`, which stand for that range.
    func read(
        _ range: Range<Int>, ofFile number: Int, into bytes: inout [UInt8], _ mode: ReadMode
    ) throws(StorageError) {
        var next = part(ofFile: number, endingBehind: range.lowerBound)
        while next < firstParts[number + 1] {
            let part = table.parts[next]
            let common = range.clamped(to: part.place..<part.place + part.length)
            if part.place >= range.upperBound { return }
            if !common.isEmpty {
                let start = starts[next] + common.lowerBound - part.place
                let found = try file.read(start..<start + common.count, mode)
                let place = common.lowerBound - range.lowerBound
                bytes.replaceSubrange(place..<place + found.count, with: found)
            }
            next += 1
        }
    }

    /// The number of the first part of a file that ends behind `place`.
    private func part(ofFile number: Int, endingBehind place: Int) -> Int {
        var (low, high) = (firstParts[number], firstParts[number + 1])
        while low < high {
            let middle = (low + high) / 2
            let part = table.parts[middle]
            if part.place + part.length <= place { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
