internal import StratusBytes
internal import StratusFiles

/// Reads the table of an archive block by block, so that memory does not grow with the table.
struct TableReader: Sendable {
    private let file: any StorageFile
    /// Where the table lies in the file.
    private let table: Range<Int>
    /// Some of it, and where they end in the file.
    private var bytes: [UInt8]
    private var end: Int
    /// Where the next item begins in `bytes`.
    private var position = 0

    static let blockLength = 64 << 10
    /// The longest item is a zone: two names, their lengths, numbers and a digest.
    private static let itemLimit = 1 << 10

    /// Begins at `place` of the table, in bytes.
    ///
    /// - Parameter known: the bytes from there on that were read already.
    init(_ file: any StorageFile, _ table: Range<Int>, at place: Int, known: [UInt8] = []) {
        self.file = file
        self.table = table
        bytes = known
        end = table.lowerBound + place + known.count
    }

    /// The place of the next item in the table, in bytes.
    var place: Int { end - (bytes.count - position) - table.lowerBound }

    /// What of the table follows, in bytes.
    var left: Int { table.count - place }

    /// That the table has not the form that its page states.
    var damage: ArchiveDamage {
        ArchiveDamage(.archive(.table), file: file.name, byte: table.lowerBound)
    }

    /// Reads one item, which has at most 1,024 bytes.
    mutating func next<Value>(
        _ decode: (Span<UInt8>, inout ByteCursor) throws(FormatError) -> Value
    ) throws -> Value {
        try fill()
        var cursor = ByteCursor(at: position)
        let value: Value
        do throws(FormatError) {
            value = try decode(bytes.span, &cursor)
        } catch .newer(let what) {
            throw ArchiveDamage(.newerPart("\(what)"), file: file.name, byte: table.lowerBound)
        } catch {
            throw damage
        }
        position = cursor.position
        return value
    }

    /// Reads how many items follow, each of at least `least` bytes: more than there is room for are
    /// never believed.
    mutating func count(upTo limit: Int, ofAtLeast least: Int) throws -> Int {
        let possible = min(limit, left / least)
        return try next { bytes, cursor throws(FormatError) in
            try cursor.count(bytes, upTo: possible)
        }
    }

    private mutating func fill() throws(StorageError) {
        guard bytes.count - position < Self.itemLimit, end < table.upperBound else { return }
        let next = min(end + Self.blockLength, table.upperBound)
        bytes = Array(bytes[position...]) + (try file.read(end..<next))
        end = next
        position = 0
    }
}
