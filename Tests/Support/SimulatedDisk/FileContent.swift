import StratusBytes

/// A sector of a file.
enum Sector: Equatable, Sendable {
    /// No block: reads as zeros and takes no room.
    case hole
    /// A block that was reserved and never written: reads as zeros.
    case unwritten
    /// A block with its 512 bytes.
    case written([UInt8])

    var isHole: Bool {
        if case .hole = self { true } else { false }
    }
}

/// What a file holds, as a value: sectors in chunks, shared between copies until changed.
///
/// Beyond the length every sector is a hole and every byte zero.
struct FileContent: Sendable {
    /// In bytes.
    static let sectorSize = 512

    private static let sectorsPerChunk = 64
    private static let holes = [Sector](repeating: .hole, count: sectorsPerChunk)
    private static let unwritten = [Sector](repeating: .unwritten, count: sectorsPerChunk)
    private static let zeros = [UInt8](repeating: 0, count: sectorSize)

    /// In bytes.
    private(set) var length = 0
    /// How many sectors have a block.
    private(set) var blockCount = 0
    private var chunks: [[Sector]] = []

    /// How many sectors so many bytes need.
    static func sectors(for length: Int) -> Int { (length + sectorSize - 1) / sectorSize }

    subscript(sector: Int) -> Sector {
        let chunk = sector / Self.sectorsPerChunk
        guard chunk < chunks.count else { return .hole }
        return chunks[chunk][sector % Self.sectorsPerChunk]
    }

    /// The 512 bytes of a sector, whatever it is.
    func bytes(ofSector sector: Int) -> [UInt8] { Self.bytes(self[sector]) }

    static func bytes(_ sector: Sector) -> [UInt8] {
        if case .written(let bytes) = sector { bytes } else { zeros }
    }

    /// Appends `count` bytes at `offset` to `target`.
    func read(into target: inout OutputSpan<UInt8>, count: Int, at offset: Int) {
        var done = 0
        while done < count {
            let place = offset + done
            let start = place % Self.sectorSize
            let step = min(Self.sectorSize - start, count - done)
            if case .written(let bytes) = self[place / Self.sectorSize] {
                target.append(bytes.span.extracting(start..<start + step))
            } else {
                target.append(repeating: 0, count: step)
            }
            done += step
        }
    }

    /// All bytes.
    var bytes: [UInt8] {
        [UInt8](capacity: length) { bytes in read(into: &bytes, count: length, at: 0) }
    }

    mutating func set(_ sector: Int, _ content: Sector) {
        let chunk = sector / Self.sectorsPerChunk
        while chunks.count <= chunk { chunks.append(Self.holes) }
        let place = sector % Self.sectorsPerChunk
        if !chunks[chunk][place].isHole { blockCount -= 1 }
        if !content.isHole { blockCount += 1 }
        chunks[chunk][place] = content
    }

    /// Sets the length; blocks beyond it go, and bytes beyond it become zero.
    mutating func setLength(_ length: Int) {
        let isShorter = length < self.length
        self.length = length
        if isShorter { trim() }
    }

    /// Drops blocks and bytes that were set beyond the length.
    mutating func trim() {
        let end = Self.sectors(for: length)
        while chunks.count > end.divided(up: Self.sectorsPerChunk) {
            for sector in chunks.removeLast() where !sector.isHole { blockCount -= 1 }
        }
        for sector in end..<max(end, chunks.count * Self.sectorsPerChunk)
        where !self[sector].isHole { set(sector, .hole) }
        if let masked = masked(to: length) { set(end - 1, masked) }
    }

    /// The last sector of a file of `length` with zeros beyond it, or nil where that is no change.
    func masked(to length: Int) -> Sector? {
        let used = length % Self.sectorSize
        guard used > 0, case .written(var bytes) = self[length / Self.sectorSize],
            !bytes.span.isZero(in: used..<Self.sectorSize)
        else { return nil }
        var span = bytes.mutableSpan
        span.zero(used..<Self.sectorSize)
        return .written(bytes)
    }

    /// Gives every hole in a range of sectors a block.
    mutating func allocate(_ range: Range<Int>) {
        var sector = range.lowerBound
        while sector < range.upperBound {
            let chunk = sector / Self.sectorsPerChunk
            while chunks.count <= chunk { chunks.append(Self.holes) }
            let end = min(range.upperBound, (chunk + 1) * Self.sectorsPerChunk)
            if end - sector == Self.sectorsPerChunk && chunks[chunk].allSatisfy(\.isHole) {
                // All untouched chunks are one array, so that reserving megabytes costs nothing.
                chunks[chunk] = Self.unwritten
                blockCount += Self.sectorsPerChunk
            } else {
                for sector in sector..<end where self[sector].isHole { set(sector, .unwritten) }
            }
            sector = end
        }
    }

    /// How many sectors in `range` have no block.
    func holeCount(in range: Range<Int>) -> Int {
        range.count { self[$0].isHole }
    }
}

extension Int {
    fileprivate func divided(up divisor: Int) -> Int { (self + divisor - 1) / divisor }
}
