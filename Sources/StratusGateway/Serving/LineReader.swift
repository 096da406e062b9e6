/// Cuts what is read into lines, each with its number, in bounded memory.
package struct LineReader {
    package enum Line: Equatable {
        case line([UInt8], number: Int)
        /// One that was passed over.
        case tooLong(number: Int)
    }

    private let limit: Int
    private var pending: [UInt8] = []
    /// What was cut off, and how far it was searched for an end of a line.
    private var start = 0
    private var searched = 0
    private var number = 0
    private var isSkipping = false

    /// Lines of more than `limit` bytes are passed over.
    package init(limit: Int) { self.limit = limit }

    package mutating func append(_ bytes: [UInt8]) {
        if start > 0 {
            // A long line leaves no memory behind.
            pending = Array(pending[start...])
            searched -= start
            start = 0
        }
        pending += bytes
    }

    /// The next line, without its end; nil where more must be read first.
    package mutating func next() -> Line? {
        while let end = pending[searched...].firstIndex(of: 0x0A) {
            defer { advance(past: end) }
            if let line = line(upTo: end) { return line }
        }
        searched = pending.count
        if pending.count - start > limit {
            isSkipping = true
            pending = []
            (start, searched) = (0, 0)
        } else if isSkipping {
            start = searched
        }
        return nil
    }

    /// The line that the end of the input ends.
    package mutating func last() -> Line? {
        defer { advance(past: pending.count - 1) }
        return line(upTo: pending.count)
    }

    private mutating func line(upTo end: Int) -> Line? {
        number += 1
        if isSkipping || end - start > limit {
            isSkipping = false
            return .tooLong(number: number)
        }
        let line = pending[start..<end]
        let isEmpty = line.allSatisfy { $0 == 0x20 || $0 == 0x09 || $0 == 0x0D }
        return isEmpty ? nil : .line(Array(line), number: number)
    }

    private mutating func advance(past end: Int) {
        start = end + 1
        searched = end + 1
    }
}
