internal import StratusFiles

/// Which bytes of an archive are which of its files.
final class ArchiveContents: Sendable {
    let files: [ArchiveTable.File]
    private let file: any StorageFile
    /// The place of each part in its file.
    private let places: [Int]
    /// Where each part begins in the archive, and behind them where the last one ends.
    private let starts: [Int]
    /// The first part of each file, and behind the last one how many parts there are.
    private let firstParts: [Int]

    /// Reads them from where the files begin in the table.
    init(_ file: any StorageFile, _ reader: inout TableReader) throws {
        self.file = file
        let files = try ArchiveTable.files(&reader)
        let partCount = try ArchiveTable.partCount(&reader)
        var (places, starts, firsts) = ([Int](), [ArchiveHead.length], [Int]())
        places.reserveCapacity(partCount)
        starts.reserveCapacity(partCount + 1)
        try ArchiveTable.forEachPart(of: files, count: partCount, &reader) { part in
            if part.file == firsts.count { firsts.append(places.count) }
            places.append(part.place)
            starts.append(starts[places.count - 1] + part.length)
        }
        firsts.append(partCount)
        self.files = files
        (self.places, self.starts, firstParts) = (places, starts, firsts)
    }

    /// Of the archive.
    var name: String { file.name }

    var partCount: Int { places.count }

    /// Where the last part ends in the archive.
    var end: Int { starts[places.count] }

    /// Puts what the archive has of a file's `range` into `bytes`, which stand for that range.
    func read(
        _ range: Range<Int>, ofFile number: Int, into bytes: inout [UInt8], _ mode: ReadMode
    ) throws(StorageError) {
        var next = part(ofFile: number, endingBehind: range.lowerBound)
        while next < firstParts[number + 1] {
            let part = placeOfPart(next)
            if part.lowerBound >= range.upperBound { return }
            let common = range.clamped(to: part)
            if !common.isEmpty {
                let start = starts[next] + common.lowerBound - part.lowerBound
                let found = try file.read(start..<start + common.count, mode)
                let place = common.lowerBound - range.lowerBound
                bytes.replaceSubrange(place..<place + found.count, with: found)
            }
            next += 1
        }
    }

    /// Where the archive has a byte of a file; nil: nowhere.
    func place(of byte: Int, ofFile number: Int) -> Int? {
        let next = part(ofFile: number, endingBehind: byte)
        guard next < firstParts[number + 1], placeOfPart(next).contains(byte) else { return nil }
        return starts[next] + byte - places[next]
    }

    /// Which bytes of its file a part is.
    private func placeOfPart(_ number: Int) -> Range<Int> {
        places[number]..<places[number] + starts[number + 1] - starts[number]
    }

    /// The number of the first part of a file that ends behind `place`.
    private func part(ofFile number: Int, endingBehind place: Int) -> Int {
        var (low, high) = (firstParts[number], firstParts[number + 1])
        while low < high {
            let middle = (low + high) / 2
            if placeOfPart(middle).upperBound <= place { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
