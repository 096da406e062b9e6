import Stratus
import StratusBytes
import Support

// Stores with more names than a preamble repeats.
extension SampleMaker {
    /// Segments whose preambles repeat all names, give all entries that have the others, and give
    /// some of these; closed.
    static func manyNames() async throws -> SampleMaker {
        let maker = SampleMaker(seed: 15)
        let container = try maker.open()
        let database = container.privateDatabase(for: "alice")
        try await database.save(RecordZone(zoneID: zone))
        for number in 0..<60 {
            try await database.save(
                maker.record(
                    "note-\(number)", ["name\(100 + number)": maker.filling(number, count: 500)]))
        }
        try await container.close()
        return maker
    }

    /// Two segments; the preamble of the second one repeats names of two entries, and gives that
    /// of the last name and two more.
    static func wideNames() async throws -> SampleMaker {
        let maker = SampleMaker(seed: 16)
        let database = try maker.open().privateDatabase(for: "alice")
        try await database.save(RecordZone(zoneID: zone))
        for first in stride(from: 100, to: 160, by: 15) {
            let fields = (first..<first + 15).map { ("name\($0)", maker.filling($0, count: 9)) }
            try await database.save(
                maker.record("wide-\(first)", Dictionary(uniqueKeysWithValues: fields)))
        }
        var number = 0
        while maker.segmentNames.count < 2 {
            number += 1
            try await database.save(
                maker.record("note-\(number)", ["name100": maker.filling(number, count: 1500)]))
        }
        maker.disk.killProcesses()
        return maker
    }

    /// The store of ``wideNames()`` with another preamble, behind which it ends.
    static func wideNames(
        preamble change: (inout PreambleImage) -> Void
    ) async throws -> SampleMaker {
        let maker = try await wideNames()
        var preamble = PreambleImage([])
        try maker.edit(1) { image in preamble = PreambleImage(image.preamble) }
        change(&preamble)
        try maker.edit(1) { image in image.setPreamble(preamble.payload) }
        return maker
    }

    static func damagedPreambles() async throws -> [(String, StoreFiles)] {
        [
            ("order", try await wideNames { $0.locations.swapAt(1, 2) }.files),
            ("number", try await wideNames { $0.locations[0].number = $0.names.count + 1 }.files),
            ("offset", try await wideNames { $0.locations[2].offset = $0.offset }.files),
        ]
    }
}

/// A preamble taken apart, as `Formats/Record.md` says and by no other means.
struct PreambleImage {
    var count = 0
    /// As many as are repeated, unless that is said otherwise.
    var repeatedCount: Int?
    var names: [[UInt8]] = []
    var locations: [(number: Int, offset: UInt64)] = []
    /// Behind everything.
    var rest: [UInt8] = []
    /// Of the preamble's own frame, in the second segment of a store of short segments.
    let offset: UInt64 = (16 << 10) / 8 + (4096 + 72) / 8

    init(_ payload: [UInt8]) {
        let bytes = payload.span
        var cursor = ByteCursor()
        guard let count = try? cursor.varint(bytes), let names = try? cursor.varint(bytes)
        else { return }
        self.count = Int(count)
        for _ in 0..<names {
            guard let name = try? cursor.text(bytes, upTo: 255) else { return }
            self.names.append(Array(name.utf8))
        }
        guard let locations = try? cursor.varint(bytes) else { return }
        for _ in 0..<locations {
            guard let number = try? cursor.varint(bytes), let offset = try? cursor.varint(bytes)
            else { return }
            self.locations.append((Int(number), offset))
        }
    }

    var payload: [UInt8] {
        var writer = ByteWriter()
        writer.varint(count)
        writer.varint(repeatedCount ?? names.count)
        for name in names {
            writer.varint(name.count)
            writer.append(name)
        }
        writer.varint(locations.count)
        for (number, offset) in locations {
            writer.varint(number)
            writer.varint(offset)
        }
        writer.append(rest)
        return writer.bytes
    }
}
