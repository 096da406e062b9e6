import Stratus
import StratusBytes
import StratusFiles
import StratusJournal
import Support
import Testing

/// What a segment says with nothing beside it, read as `Formats/Record.md` says.
struct SegmentAlone: JournalFold {
    /// An entry `names`.
    struct Entry {
        var offset: UInt64
        var firstNumber: Int
        var names: [String] = []
    }

    struct Preamble {
        /// In bytes.
        var length: Int
        var count = 0
        var names: [String] = []
        var locations: [(number: Int, offset: UInt64)] = []
    }

    private(set) var segment: Manifest.Segment
    private(set) var preambles: [Preamble] = []
    private(set) var entries: [Entry] = []
    private(set) var recordCount = 0

    mutating func apply(
        _ header: FrameHeader, at offset: JournalOffset, payload: Span<UInt8>
    ) throws(JournalDamage.Kind) {
        var cursor = ByteCursor()
        do throws(FormatError) {
            switch header.kind.rawValue {
            case 4: preambles.append(try Self.preamble(payload, &cursor))
            case 32: recordCount += 1
            case 36:
                var entry = Entry(offset: offset.rawValue, firstNumber: 0)
                entry.firstNumber = Int(try cursor.varint32(payload))
                entry.names = try Self.names(payload, &cursor)
                if !entry.names.isEmpty { entries.append(entry) }
            default: break
            }
        } catch {
            throw .payload("content")
        }
    }

    private static func preamble(
        _ payload: Span<UInt8>, _ cursor: inout ByteCursor
    ) throws(FormatError) -> Preamble {
        var preamble = Preamble(length: payload.count)
        preamble.count = Int(try cursor.varint32(payload))
        preamble.names = try names(payload, &cursor)
        for _ in 0..<(try cursor.varint32(payload)) {
            let number = Int(try cursor.varint32(payload))
            preamble.locations.append((number, try cursor.varint(payload)))
        }
        try cursor.end(payload)
        return preamble
    }

    private static func names(
        _ payload: Span<UInt8>, _ cursor: inout ByteCursor
    ) throws(FormatError) -> [String] {
        var names: [String] = []
        for _ in 0..<(try cursor.varint32(payload)) {
            names.append(try cursor.text(payload, upTo: 255))
        }
        return names
    }

    mutating func complete(end: JournalOffset, time: Int64) {}
    mutating func endGroup() {}
    mutating func setSavepoint() {}
    mutating func rollBack() {}

    /// The names that are in force where the segment begins: those that its preamble repeats, and
    /// of the others those that are found from its locations on.
    func names(lookingUp earlier: [Entry]) throws -> [String] {
        guard let preamble = preambles.first else { return [] }
        var found = preamble.names
        let places = Dictionary(
            earlier.enumerated().map { ($1.offset, $0) }, uniquingKeysWith: { first, _ in first })
        while found.count < preamble.count {
            let location = try #require(preamble.locations.last { $0.number <= found.count })
            var place = try #require(places[location.offset])
            #expect(earlier[place].firstNumber == location.number)
            // Up to where the next location leads, or else to the end.
            let next = preamble.locations.first { $0.number > found.count }?.number
            let end = min(next ?? .max, preamble.count)
            while found.count < end {
                while place + 1 < earlier.count, earlier[place + 1].firstNumber <= found.count {
                    place += 1
                }
                let entry = earlier[place]
                let name = found.count - entry.firstNumber
                let isThere = entry.names.indices.contains(name)
                found.append(try #require(isThere ? entry.names[name] : nil, "of \(location)"))
            }
        }
        return found
    }
}

extension DiskStore {
    /// All segments of the journal, each read with nothing beside it.
    func segmentsAlone() throws -> [SegmentAlone] {
        let manifest = try #require(
            try Journal.newestManifest(in: LocalStorage(at: "store", .reading, on: disk.process())))
        return try manifest.segments.map { segment in
            let storage = MemoryStorage()
            try storage.put(segment.fileName, disk.contents("store/\(segment.fileName)"))
            var lonely = manifest
            lonely.set(nil)
            lonely.segments = [segment]
            var reader = JournalReader(lonely, in: storage, fold: SegmentAlone(segment: segment))
            try reader.read(.toTheEnd)
            return reader.fold
        }
    }

    /// Expects that each segment begins with the names of those before it, or leads to them, in as
    /// many bytes as it may; returns the segments.
    @discardableResult
    func expectNamesInEverySegment() throws -> [SegmentAlone] {
        let segments = try segmentsAlone()
        var earlier: [SegmentAlone.Entry] = []
        for segment in segments {
            let comment = Comment(rawValue: segment.segment.fileName)
            #expect(segment.preambles.count == (earlier.isEmpty ? 0 : 1), comment)
            let length = segment.preambles.first?.length ?? 0
            #expect(length <= segment.segment.lengthInBytes / 64, comment)
            let names = try segment.names(lookingUp: earlier)
            #expect(names == earlier.flatMap(\.names), comment)
            earlier += segment.entries
        }
        return segments
    }
}
