/// Names in one buffer, since there may be very many: of the entries of a folder, or of records.
package struct NameList: Sendable {
    private var bytes: [UInt8] = []
    private var places: [Range<UInt32>] = []

    package init() {}

    /// All together have less than 4 GiB.
    package mutating func append(_ name: some Collection<UInt8>) {
        let start = UInt32(bytes.count)
        bytes += name
        places.append(start..<UInt32(bytes.count))
    }

    /// What they take in memory, in bytes.
    package var size: Int { bytes.count + places.count * MemoryLayout<Range<UInt32>>.stride }

    package mutating func reverse() { places.reverse() }

    package mutating func popLast() -> [UInt8]? {
        places.popLast().map { Array(bytes[Self.place($0)]) }
    }

    /// Brings the names into the order of their bytes.
    package mutating func sort() {
        places.sort { bytes[Self.place($0)].lexicographicallyPrecedes(bytes[Self.place($1)]) }
    }

    private static func place(_ range: Range<UInt32>) -> Range<Int> {
        Int(range.lowerBound)..<Int(range.upperBound)
    }
}

extension NameList: RandomAccessCollection {
    package var startIndex: Int { 0 }
    package var endIndex: Int { places.count }
    package subscript(index: Int) -> [UInt8] { Array(bytes[Self.place(places[index])]) }
}
