import FoundationEssentials
import Stratus
import StratusBytes
import StratusFiles
import StratusJournal
import Support
import Testing

/// Stores whose checksums hold and whose payloads make no sense: what a broken writer leaves, or
/// a program that can write to the files.
@Suite struct HostilePayloadTests {
    /// A payload, and what is wrong with it.
    struct Malformation: Sendable, CustomTestStringConvertible {
        var name: String
        var kind: UInt8 = 32
        var zone: UInt8 = 1
        var version: UInt64?
        var payload: [UInt8]
        /// What only a later version can know: then it is no damage.
        var newer: String?

        var testDescription: String { name }

        init(_ name: String, _ body: (inout RawRecord) -> Void) {
            self.name = name
            var record = RawRecord()
            body(&record)
            payload = record.payload
        }

        init(_ name: String, field kind: UInt8, _ value: [UInt8], newer: String? = nil) {
            self.init(name) { $0.fields = [RawRecord.Field(number: 1, kind: kind, value: value)] }
            self.newer = newer
        }

        /// Of an entry that is no record and carries no zone.
        init(_ name: String, entry kind: UInt8, _ payload: (inout ByteWriter) -> Void) {
            self.name = name
            self.kind = kind
            zone = 0
            var writer = ByteWriter()
            payload(&writer)
            self.payload = writer.bytes
        }
    }

    /// Of three fields of one byte each.
    private static func table(
        _ name: String, _ body: (inout RawRecord) -> Void
    ) -> Malformation {
        Malformation(name) {
            $0.fields = (0..<3).map { RawRecord.Field(number: $0, kind: 5, value: [2]) }
            body(&$0)
        }
    }

    /// Of a record that the store can name: it is refused when it is read.
    static let ofFields = [
        Malformation("text that is not UTF-8", field: 1, [0x61, 0xff]),
        Malformation("an integer that is not in its shortest form", field: 2, [0x80, 0]),
        Malformation("an integer with bytes behind it", field: 2, [2, 2]),
        Malformation("an integer without bytes", field: 2, []),
        Malformation("a double of seven bytes", field: 3, [0, 0, 0, 0, 0, 0, 0]),
        Malformation("a date of nine bytes", field: 4, [0, 0, 0, 0, 0, 0, 0, 0, 0]),
        Malformation("a location of 63 bytes", field: 6, [UInt8](repeating: 0, count: 63)),
        Malformation("a reference without bytes", field: 7, []),
        Malformation("a reference without a target", field: 7, [0]),
        Malformation("a reference with an unknown action", field: 7, [9, 0x61], newer: "action"),
        Malformation("a reference to what is not UTF-8", field: 7, [0, 0xff]),
        Malformation(
            "a reference to a name of 256 bytes", field: 7,
            [0] + [UInt8](repeating: 0x61, count: 256)),
        Malformation("an asset without bytes", field: 8, []),
        Malformation(
            "an asset whose extents are shorter than it is", field: 8,
            [9] + [UInt8](repeating: 1, count: 32) + [0, 0]),
        Malformation("a list of 2^60 elements", field: 33, RawRecord.varint(1 << 60)),
        Malformation("a list with an element too few", field: 34, [2, 1, 2]),
        Malformation("a list with bytes behind it", field: 34, [1, 1, 2, 7]),
        Malformation("a list with an element beyond its end", field: 33, [1, 9, 0x61]),
        Malformation(
            "a list with text that is not UTF-8", field: 33, RawRecord.list([[0x61], [0xc0]])),
        Malformation("an empty list with an element", field: 32, [1, 0]),
        Malformation("a value of an unknown kind", field: 31, [0], newer: "field kind"),
        Malformation(
            "a reference that is flagged as encrypted", field: 71, [0, 0x61],
            newer: "field kind"),
        Malformation("the same field twice") {
            let field = RawRecord.Field(number: 1, kind: 2, value: [2])
            $0.fields = [field, field]
        },
        Malformation("a field without a name") {
            $0.fields = [RawRecord.Field(number: 9999, kind: 2, value: [2])]
        },
        Malformation("bytes behind the last value") {
            $0.fields = [RawRecord.Field(number: 1, kind: 2, value: [2])]
            $0.rest = [0]
        },
        table("a field table with more fields than there is room for") { $0.count = 200 },
        table("a field table without an end of its own") { $0.count = 4 },
        table("ends of no bytes") { $0.width = 0 },
        table("ends of three bytes") { $0.width = 3 },
        table("ends of two bytes where one is enough") { $0.width = 2 },
        table("an end before that of the field before") { $0.ends = [3, 1, 3] },
        table("a last end before the last byte") { $0.ends = [1, 2, 2] },
        table("a last end behind the last byte") { $0.ends = [1, 2, 4] },
        table("fields that are not in order") { $0.fields.reverse() },
        Malformation("a count without a width") { $0.count = 1 },
        Malformation("ends of four bytes where two are enough") {
            $0.fields = [
                RawRecord.Field(number: 1, kind: 5, value: .init(repeating: 0, count: 300))
            ]
            $0.width = 4
        },
        Malformation("an end that has no room in its byte") {
            $0.fields = [
                RawRecord.Field(number: 1, kind: 5, value: .init(repeating: 0, count: 300))
            ]
            $0.width = 1
        },
        Malformation("an unknown user") { $0.modifier = 77 },
        Malformation("a parent that is not UTF-8") { $0.parent = [0xff] },
        Malformation("an unknown type") { $0.type = 9999 },
    ]

    /// What no store has written there, nor any that a zone is restored from.
    static let later: Malformation = {
        var later = Malformation("a record of a version behind its own offset") { _ in }
        later.version = 1 << 40
        return later
    }()

    /// Of what the whole store depends on: it is refused when it is opened.
    static let ofStore: [Malformation] = {
        var unversioned = Malformation("a record of version 0") { _ in }
        unversioned.version = 0
        var incarnated = Malformation("a record of version 0 in another incarnation") { _ in }
        incarnated.version = 1 << 52
        var unzoned = Malformation("a record without a zone") { _ in }
        unzoned.zone = 0
        let table = Malformation("a field table that is wrong where cascade links are told by it") {
            $0.flags = 8
            $0.fields = (0..<3).map { RawRecord.Field(number: $0, kind: 2, value: [2]) }
            $0.ends = [3, 1, 3]
        }
        var lost = Malformation("a record in an unknown zone") { _ in }
        lost.zone = 77
        var tombstone = Malformation("a tombstone in an unknown zone", entry: 33) {
            for number: UInt64 in [0, 1, 0, 600, 9] { $0.varint(number) }
            $0.countedText("hostile")
        }
        tombstone.zone = 77
        func user(_ name: String, number: UInt64) -> Malformation {
            Malformation(name, entry: 35) {
                $0.varint(number)
                $0.append([UInt8](repeating: 7, count: 16))
                $0.signedVarint(0)
                $0.countedText("hostile")
            }
        }
        func zone(_ name: String, number: UInt64, database: UInt64) -> Malformation {
            Malformation(name, entry: 34) {
                $0.varint(number)
                $0.varint(database)
                $0.append([1, 1, 0, 0])
                $0.zeros(8)
                $0.countedText("hostile")
            }
        }
        func names(_ name: String, first: UInt64, _ all: [String], type: UInt64) -> Malformation {
            Malformation(name, entry: 36) {
                $0.varint(first)
                $0.varint(all.count)
                for name in all { $0.countedText(name) }
                $0.varint(UInt64(1))
                $0.varint(type)
                $0.varint(UInt64(1))
                $0.uint8(1)
            }
        }
        func policy(_ name: String, start: UInt64, _ rest: [UInt8]) -> Malformation {
            Malformation(name, entry: 39) {
                $0.uint64(start)
                $0.append(rest)
            }
        }
        func mark(_ name: String, offset: UInt64, _ text: String) -> Malformation {
            Malformation(name, entry: 37) {
                $0.int64(0)
                $0.uint64(offset)
                $0.uint64(0)
                $0.countedText(text)
            }
        }
        func horizon(_ name: String, _ write: @escaping (inout ByteWriter) -> Void) -> Malformation
        {
            var horizon = Malformation(name, entry: 44, write)
            horizon.zone = 1
            return horizon
        }
        let all: [Malformation] = [
            horizon("a horizon behind its own entry") { $0.uint64(1 << 40) },
            horizon("a horizon of four bytes") { $0.uint32(64) },
            horizon("a horizon with bytes behind it") {
                $0.uint64(64)
                $0.uint8(0)
            },
            Malformation("a deletion policy without an age", entry: 45) { $0.uint8(1) },
            Malformation("notifications for no time", entry: 64) { $0.append([0, 1]) },
            Malformation("no notifications of a user", entry: 64) { $0.append([1, 0]) },
            Malformation("a notification policy without a count", entry: 64) { $0.uint8(1) },
            Malformation("a notification policy with more", entry: 64) { $0.append([1, 1, 0]) },
            Malformation("no deletion policy, with an amount", entry: 45) { $0.append([0, 1]) },
            mark("a mark behind its own entry", offset: 1 << 40, "hostile"),
            mark("a mark without a name", offset: 64, ""),
            Malformation("the removal of a mark behind itself", entry: 38) { $0.uint64(1 << 40) },
            Malformation("the removal of a mark with bytes behind it", entry: 38) {
                $0.uint64(64)
                $0.uint8(0)
            },
            policy("a policy from behind itself on", start: 1 << 40, [3]),
            policy("a policy without an age", start: 64, [1]),
            policy(
                "a policy of an age above all limits", start: 64, [1] + RawRecord.varint(1 << 61)),
            policy("no policy, with an amount", start: 64, [0, 1]),
            unversioned, incarnated, unzoned, table, lost, tombstone,
            Malformation("a record name of 256 bytes") {
                $0.name = [UInt8](repeating: 0x61, count: 256)
            },
            Malformation("a date of modification past all years") { $0.modified = 1 << 60 },
            Malformation("a date of creation past all years") { $0.created = -1 << 60 },
            user("a user's number that is there already", number: 1),
            user("a user's number that leaves one out", number: 3),
            user("the greatest user's number", number: 1 << 31 - 1),
            zone("a zone's number that leaves one out", number: 3, database: 1),
            zone("the greatest zone's number", number: 1 << 31 - 1, database: 1),
            zone("a zone of an unknown database", number: 2, database: 2),
            names("names that leave a number out", first: 4, ["hostile"], type: 0),
            names("a name that is there already", first: 3, ["Note"], type: 0),
            names("the same name twice", first: 3, ["hostile", "hostile"], type: 0),
            names("a field of a type without a name", first: 3, ["hostile"], type: 9),
        ]
        return all + ofIndexes + ofSubscriptions + ofDevices
    }()

    /// A store whose last entry is a commit of its own.
    private static func whole() async throws -> (maker: SampleMaker, segment: [UInt8]) {
        let maker = SampleMaker(seed: 70)
        let container = try maker.open()
        let database = container.privateDatabase(for: "alice")
        try await maker.fill(database, saves: 2)
        try await database.save(maker.record("hostile", ["number": 3]))
        return (maker, try maker.segment(0))
    }

    /// Puts the malformation in the place of the last entry; returns the byte of its frame.
    private static func put(
        _ malformation: Malformation, into segment: [UInt8], of maker: SampleMaker
    ) -> Int {
        var image = SegmentImage(segment, base: 0)
        let byte = image.frames(ofGroup: image.groups[image.groups.count - 1])[1]
        image.replaceLast(payload: malformation.payload)
        let content = image.content(ofFrame: byte)
        image.overwrite(content + 8, with: [malformation.zone, 0, 0, 0, malformation.kind])
        if let version = malformation.version { image.put(version, at: content) }
        image.seal(byte)
        maker.replace(image, 0)
        return byte
    }

    /// A store whose last entry, which is a commit of its own, has that payload.
    static func store(
        _ malformation: Malformation
    ) async throws -> (maker: SampleMaker, file: String, byte: Int) {
        let (maker, segment) = try await whole()
        let byte = put(malformation, into: segment, of: maker)
        return (maker, maker.segmentNames[0], byte)
    }

    private static let id = Record.ID(recordName: "hostile", zoneID: SampleMaker.zone)

    @Test(arguments: ofFields)
    func `a record that cannot be decoded is an error of every call that needs it`(
        malformation: Malformation
    ) async throws {
        let (maker, file, byte) = try await Self.store(malformation)
        let container = try maker.open()
        let database = container.privateDatabase(for: "alice")
        let head = container.information.head
        func expectDamage(
            _ error: StoreError, _ call: String, sourceLocation: SourceLocation = #_sourceLocation
        ) {
            #expect(
                error.cause == (malformation.newer == nil ? .damaged : .newerFormat),
                "\(call): \(error)", sourceLocation: sourceLocation)
            #expect(error.place?.file == file, "\(call)", sourceLocation: sourceLocation)
            #expect(error.place?.byte == byte, "\(call)", sourceLocation: sourceLocation)
            #expect(
                error.place?.offset == UInt64(byte / 8), "\(call)", sourceLocation: sourceLocation)
        }
        func expectDamageOfRecord(
            _ error: StoreError, _ call: String, sourceLocation: SourceLocation = #_sourceLocation
        ) {
            expectDamage(error, call, sourceLocation: sourceLocation)
            #expect(error.recordID == Self.id, "\(call)", sourceLocation: sourceLocation)
        }
        expectDamageOfRecord(
            try await failure { try await database.record(for: Self.id) }, "get")
        expectDamageOfRecord(
            try await failure {
                try await database.record(for: Self.id, desiredKeys: ["content"])
            }, "get of other fields")
        for policy in [SavePolicy.changedKeys, .allKeys] {
            let record = maker.record("hostile", ["content": maker.filling(9, count: 9)])
            expectDamageOfRecord(
                try await failure { try await database.save(record, savePolicy: policy) },
                "update, \(policy)")
        }
        expectDamage(
            try await failure {
                try await database.recordZoneChanges(inZoneWith: SampleMaker.zone)
            }, "changes")
        expectDamage(
            try await failure { try await database.contentHash(of: SampleMaker.zone) }, "hash")
        let other = RecordZone(zoneID: RecordZone.ID(zoneName: "other"))
        #expect(container.information.head == head)
        try await database.save(other)
        expectDamage(
            try await failure {
                try await database.moveRecords([Self.id], to: other.zoneID)
            }, "move")
    }

    @Test(arguments: ofFields)
    func `a record whose fields cannot be decoded can be deleted`(
        malformation: Malformation
    ) async throws {
        let (maker, _, byte) = try await Self.store(malformation)
        let container = try maker.open()
        let database = container.privateDatabase(for: "alice")
        // A tombstone has the type and the parent.
        if ["an unknown type", "a parent that is not UTF-8"].contains(malformation.name) {
            let error = try await failure { try await database.deleteRecord(withID: Self.id) }
            #expect(error.cause == .damaged)
            #expect(error.place?.byte == byte)
            return
        }
        try await database.deleteRecord(withID: Self.id)
        let changes = try await database.recordZoneChanges(inZoneWith: SampleMaker.zone)
        #expect(changes.modifications.map(\.recordID.recordName) == ["note-0", "note-1"])
        try await container.close()
        let again = try maker.open().privateDatabase(for: "alice")
        #expect(try await again.contentHash(of: SampleMaker.zone).recordCount == 2)
    }

    @Test(arguments: ofStore)
    func `an entry that other entries depend on and makes no sense is refused at the opening`(
        malformation: Malformation
    ) async throws {
        let (maker, file, byte) = try await Self.store(malformation)
        let error = #expect(throws: JournalError.self) { try maker.open() }
        guard case .damaged(let damage)? = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(damage.file == file)
        #expect(damage.byte == byte)
        #expect(
            damage.kind.identifier
                == (malformation.version == nil ? "payload.content" : "frame.field version"))
    }

    @Test func `a name that is not UTF-8 is an error of every list that has the record`()
        async throws
    {
        let (maker, file, byte) = try await Self.store(
            Malformation("a name that is not UTF-8") { $0.name = [0xff] })
        let database = try maker.open().privateDatabase(for: "alice")
        let error = try await failure {
            try await database.recordZoneChanges(inZoneWith: SampleMaker.zone)
        }
        #expect(error.place?.file == file)
        #expect(error.place?.byte == byte)
    }

    @Test func `whatever a byte of a record says, its fields are read or refused`() async throws {
        let number: [UInt8] = [UInt8](repeating: 0x40, count: 8)
        let asset = [0] + [UInt8](repeating: 1, count: 32) + [0, 0]
        let values: [(UInt8, [UInt8])] = [
            (1, [0x61, 0xc3, 0xa9]), (2, [0x83, 1]), (3, number), (4, number),
            (5, [1, 2]), (6, Array((0..<8).map { _ in number }.joined())), (7, [1, 0x61]),
            (8, asset), (32, [0]), (33, RawRecord.list([[0x61], []])),
            (34, RawRecord.list([[2], [0x83, 1]])), (39, RawRecord.list([[0, 0x61]])),
            (40, RawRecord.list([asset])),
        ]
        let (maker, segment) = try await Self.whole()
        maker.disk.killProcesses()
        var readCount = 0
        var refusedCount = 0
        for (kind, value) in values {
            let whole = Malformation("whole", field: kind, value).payload
            let start = whole.count - value.count - 3
            for place in start..<whole.count {
                for change: UInt8 in [0x01, 0x20, 0x80] {
                    var malformation = Malformation("a change", field: kind, value)
                    malformation.payload[place] ^= change
                    _ = Self.put(malformation, into: segment, of: maker)
                    let container = try Container(reading: maker.disk.storage(writing: false))
                    let database = container.privateDatabase(for: "alice")
                    do throws(StoreError) {
                        let record = try await database.record(for: Self.id)
                        #expect(record.allKeys.allSatisfy { record[$0] != nil })
                        readCount += 1
                    } catch {
                        let isNewer = error.place?.kind.hasPrefix("format.newer ") == true
                        #expect(
                            error.cause == (isNewer ? .newerFormat : .damaged),
                            "\(kind), \(place), \(change): \(error)")
                        refusedCount += 1
                    }
                }
            }
        }
        #expect(readCount > 50)
        #expect(refusedCount > 50)
    }
}
