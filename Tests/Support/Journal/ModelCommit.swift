import StratusBytes

/// A commit of the model: a number, and entries whose payloads follow from it.
package struct ModelCommit: Hashable, Sendable {
    /// What becomes of it.
    package enum Course: Hashable, Sendable {
        /// It is appended as one part.
        case short
        /// It is appended in parts of so many entries.
        case long(entriesPerPart: Int)
        /// It is begun in parts and given up after so many.
        case abandoned(afterParts: Int)
        /// The model refuses it and appends nothing.
        case refused
    }

    package var number: UInt64
    /// Of the payload of every entry, in bytes.
    package var lengths: [Int]
    package var course: Course

    package init(_ number: UInt64, _ lengths: [Int], _ course: Course = .short) {
        self.number = number
        self.lengths = lengths
        self.course = course
    }

    /// What the payload of an entry begins with: the number, and the entry's place.
    package static let prefixLength = 16

    /// The payload of the entry at `place`: nothing in it could belong to another entry.
    package func payload(_ place: Int) -> [UInt8] {
        Self.payload(of: number, place, length: lengths[place])
    }

    package static func payload(of number: UInt64, _ place: Int, length: Int) -> [UInt8] {
        var writer = ByteWriter(capacity: length)
        writer.uint64(number)
        writer.uint64(UInt64(place))
        var generator = SeededGenerator(seed: number &* 1_000_003 &+ UInt64(place))
        writer.append(generator.bytes(max(0, length - prefixLength)))
        return writer.bytes
    }
}

/// A commit as a fold was given it.
package struct FoldedCommit: Hashable, Sendable {
    package var number: UInt64
    package var lengths: [Int] = []
    /// Of its entries.
    package var offsets: [UInt64] = []
    package var time: Int64 = 0
}

extension FoldedCommit {
    init(_ cursor: inout ByteCursor, _ bytes: Span<UInt8>) throws(FormatError) {
        number = try cursor.uint64(bytes)
        time = try cursor.int64(bytes)
        for _ in 0..<(try cursor.uint32(bytes)) {
            lengths.append(Int(try cursor.uint64(bytes)))
            offsets.append(try cursor.uint64(bytes))
        }
    }

    func write(to writer: inout ByteWriter) {
        writer.uint64(number)
        writer.int64(time)
        writer.uint32(UInt32(offsets.count))
        for (length, offset) in zip(lengths, offsets) {
            writer.uint64(UInt64(length))
            writer.uint64(offset)
        }
    }
}
