import Stratus
import StratusBytes
import StratusJournal
import Support
import Testing

// Indexes, and rows of indexes, that make no sense: `Formats/Record.md`, "Index" and below.
extension HostilePayloadTests {
    private static func index(
        _ name: String, number: UInt64 = 0, type: UInt64 = 0, field: UInt64 = 1,
        after leading: [UInt8] = [], form: UInt8 = 1, _ rest: [UInt8] = []
    ) -> Malformation {
        Malformation(name, entry: 46) {
            $0.varint(number)
            $0.uint8(1)
            $0.varint(type)
            $0.varint(leading.count)
            $0.append(leading)
            $0.varint(field)
            $0.uint8(form)
            $0.append(rest)
        }
    }

    /// Of one record with one value.
    private static func builtRows(
        _ name: String, zone: UInt8 = 1, count: UInt64 = 1, version: UInt64 = 600,
        _ value: [UInt8] = [UInt8](repeating: 1, count: 8)
    ) -> Malformation {
        var rows = Malformation(name, entry: 47) {
            $0.varint(UInt64(0))
            $0.varint(count)
            $0.append([UInt8](repeating: 7, count: 16))
            $0.varint(version)
            $0.varint(UInt64(1))
            $0.uint8(UInt8(value.count))
            $0.append(value)
        }
        rows.zone = zone
        return rows
    }

    /// A list of one row, as entries of records and tombstones have it.
    private static func row(change: UInt64 = 0, length: Int) -> [UInt8] {
        [1] + RawRecord.varint(change) + [UInt8(length)] + [UInt8](repeating: 1, count: length)
    }

    private static func tombstone(_ name: String, _ rows: [UInt8]) -> Malformation {
        var tombstone = Malformation(name, entry: 33) {
            for number: UInt64 in [0, 1, 0, 600, 9] { $0.varint(number) }
            $0.countedText("hostile")
            $0.varint(UInt64(16))
            $0.append(rows)
        }
        tombstone.zone = 1
        return tombstone
    }

    /// Refused when the store is opened.
    static let ofIndexes: [Malformation] = [
        index("an index's number that leaves one out", number: 1),
        index("an index's number that is too great", number: 1 << 16),
        index("an index of a type without a name", type: 9),
        index("an index of a field without a name", field: 9),
        index("an index of a field with a number that is too great", field: 1 << 16 + 4),
        index("an index on nine fields", after: [0, 2, 3, 4, 5, 6, 7, 8]),
        index("an index on a field twice", after: [1]),
        index("an index on another field without a name", after: [9]),
        index("an index on fields and words", after: [0], form: 4),
        index("an index on fields and places", after: [0], form: 5),
        index("an index with bytes behind it", [0]),
        builtRows("built rows in an unknown zone", zone: 77),
        builtRows("built rows of version 0", version: 0),
        builtRows("built rows of more records than there are", count: 2),
        builtRows("a built row with a value of seven bytes", [UInt8](repeating: 1, count: 7)),
        builtRows("a built row with a value of 23 bytes", [UInt8](repeating: 1, count: 23)),
        Malformation("a record with a list of no index rows") { $0.indexRows = [0] },
        Malformation("an index row with a value of seven bytes") {
            $0.indexRows = row(length: 7)
        },
        Malformation("an index row of a number that is too great") {
            $0.indexRows = row(change: 1 << 17, length: 8)
        },
        tombstone("a tombstone with a list of no index rows", [0]),
        tombstone("a tombstone with an index row of 23 bytes", row(length: 23)),
    ]

    /// Rows of an index that is not declared.
    private static let ofNoIndex = [
        Malformation("a record") { $0.indexRows = row(length: 22) },
        builtRows("built rows"),
    ]

    @Test(arguments: ofNoIndex.indices)
    func `rows of an index that is not declared are passed over`(place: Int) async throws {
        let (maker, _, _) = try await Self.store(Self.ofNoIndex[place])
        let container = try maker.open()
        #expect(try await container.indexes().isEmpty)
        try await container.close()
        maker.disk.killProcesses()
        let findings = try StoreVerification(maker.disk.storage(writing: false)).findings
        #expect(findings.isEmpty, "\(findings)")
    }
}
