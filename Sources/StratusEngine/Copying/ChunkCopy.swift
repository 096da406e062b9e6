package import StratusAssets
package import StratusFiles

/// Copies chunks of assets into segments with the same numbers, to the places that they have there.
package struct ChunkCopy {
    package typealias Rows = (
        _ body: (ChunkAddress, ChunkLocation) throws(EngineError) -> Void
    ) throws(EngineError) -> Void

    /// So many rows are held in memory, about.
    private let limit: Int
    /// Gives the chunks, in any order; each time the same.
    private let rows: Rows
    /// Whose segments are shared where they are needed whole, if the sink can do that.
    private let source: (any Storage)?
    private let header: (_ segment: UInt64) throws(EngineError) -> [UInt8]
    private let frame: (ChunkAddress, ChunkLocation) throws(EngineError) -> [UInt8]?

    /// - Parameters:
    ///   - header: the first bytes of a segment.
    ///   - frame: what comes to the place of a chunk; nil: it is left out.
    package init(
        limit: Int, sharing source: (any Storage)? = nil,
        header: @escaping (_ segment: UInt64) throws(EngineError) -> [UInt8],
        frame: @escaping (ChunkAddress, ChunkLocation) throws(EngineError) -> [UInt8]?,
        rows: @escaping Rows
    ) {
        self.limit = limit
        self.source = source
        self.header = header
        self.frame = frame
        self.rows = rows
    }

    /// What is copied of the segments, by their numbers.
    package typealias Portions = [UInt64: Portion]

    package struct Portion {
        var count = 0
        /// Of the frames.
        package var bytes = 0
        /// Where the last frame ends.
        var end = 0
    }

    package func portions() throws(EngineError) -> Portions {
        var portions: Portions = [:]
        try rows { _, place in
            var portion = portions[place.number] ?? Portion()
            portion.count += 1
            portion.bytes += place.frameLength
            portion.end = max(portion.end, place.byte + place.frameLength)
            portions[place.number] = portion
        }
        return portions
    }

    /// Copies the frames in the order in which they lie, a bounded number of rows at a time. Those of
    /// segments that are shared are read all the same, so that no damage is copied unseen.
    package func run(
        _ portions: Portions, into sink: any FileSink,
        progress: (_ done: Int) throws(EngineError) -> Void
    ) throws(EngineError) {
        var numbers = portions.keys.sorted()[...]
        var done = 0
        while let first = numbers.first {
            var count = 0
            let window = numbers.prefix { number in
                count += portions[number]?.count ?? 0
                return number == first || count <= limit
            }
            numbers = numbers.dropFirst(window.count)
            let chosen = Set(window)
            var rows: [ChunkEntry.Row] = []
            try self.rows { address, place in
                if chosen.contains(place.number) { rows.append((address, place)) }
            }
            rows.sort(by: ChunkEntry.isBefore)
            var last: UInt64?
            var isShared = false
            for (address, place) in rows {
                let length = portions[place.number]?.end ?? 0
                func write(_ bytes: [UInt8], at byte: Int) throws(EngineError) {
                    do throws(StorageError) {
                        try sink.write(bytes[...], at: byte, of: place.file, length: length)
                    } catch {
                        throw EngineError(error)
                    }
                }
                if last != place.number {
                    let header = try header(place.number)
                    isShared = try share(
                        portions[place.number], behind: header.count, place.file, with: sink)
                    try write(header, at: 0)
                }
                last = place.number
                if let frame = try frame(address, place), !isShared {
                    try write(frame, at: place.byte)
                }
                done += place.frameLength
                try progress(done)
            }
        }
    }

    /// Shares a segment of which all up to the last frame is needed.
    private func share(
        _ portion: Portion?, behind header: Int, _ file: String, with sink: any FileSink
    ) throws(EngineError) -> Bool {
        guard let source, let portion, portion.end == header + portion.bytes else { return false }
        do throws(StorageError) {
            return try sink.share(file, of: source, length: portion.end)
        } catch {
            throw EngineError(error)
        }
    }
}
