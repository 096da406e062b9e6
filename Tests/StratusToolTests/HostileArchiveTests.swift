import FoundationEssentials
import StratusTool
import Support
import Testing

/// Archives that are made to do harm, with checksums and digests that are right.
@Suite(.serialized) struct HostileArchiveTests {
    private typealias Case = (name: String, archives: [[UInt8]])
    private typealias Change = (inout ForgedArchive) -> Void

    /// Besides what the least command takes.
    private static let memoryLimit = 64 << 20
    /// Only work without end takes longer, whatever else the machine does.
    private static let secondsLimit = 60.0
    private static let manifest = "manifest-0000000000000001"

    private static func forged(_ change: Change) -> [UInt8] {
        var archive = ForgedArchive()
        change(&archive)
        return archive.bytes
    }

    /// One file with one part of these bytes.
    private static func file(
        _ name: String, length: UInt64? = nil, place: UInt64 = 0, partLength: UInt64? = nil
    ) -> [UInt8] {
        forged {
            $0.content = [UInt8](repeating: 7, count: 100)
            $0.files = ForgedArchive.items(1) { $1.file(name, length: length ?? 100) }
            let content = $0.content
            $0.parts = ForgedArchive.items(1) {
                $1.part(at: place, content, length: partLength)
            }
        }
    }

    /// So many files with one part each of one byte.
    private static func files(_ count: Int) -> [UInt8] {
        forged {
            $0.content = [UInt8](repeating: 0, count: count)
            $0.files = ForgedArchive.items(count) {
                $1.file("chunks-" + hexadecimal($0), length: 1)
            }
            $0.parts = ForgedArchive.items(count) { $1.part(ofFile: UInt64($0), [0]) }
        }
    }

    /// Without owner, name and records.
    private static func emptyZones(_ count: Int) -> [UInt8] {
        ForgedArchive.items(0, stated: UInt64(count)) + [UInt8](repeating: 0, count: 4 * count)
    }

    private static func hexadecimal(_ number: Int) -> String {
        let digits = String(number, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }

    private static func parts(_ count: Int, length: UInt64) -> [UInt8] {
        forged {
            $0.content = [UInt8](repeating: 0, count: count)
            $0.files = ForgedArchive.items(1) { $1.file("chunks-0000000000000001", length: length) }
            // With room between them.
            $0.parts = ForgedArchive.items(count) { $1.part(at: UInt64(2 * $0), [0]) }
        }
    }

    /// What a table says that there is no room for, or no reader takes.
    private static var counts: [Case] {
        let counts: [UInt64] = [1, 1 << 12 + 1, 1 << 20 + 1, 1 << 40, .max]
        var cases: [Case] = counts.flatMap { count -> [Case] in
            let items = ForgedArchive.items(0, stated: count)
            return [
                ("\(count) zones stated", [forged { $0.zones = items }]),
                ("\(count) items stated", [forged { $0.selection = items }]),
                ("\(count) files stated", [forged { $0.files = items }]),
                ("\(count) parts stated", [forged { $0.parts = items }]),
            ]
        }
        cases += [
            (
                "4,000,000 zones", [forged { $0.zones = emptyZones(4_000_000) }]
            ),
            ("2,097,152 zones", [forged { $0.zones = emptyZones(1 << 21) }]),
            (
                "zones with 2^53 records",
                [
                    forged {
                        $0.zones = ForgedArchive.items(2) { $1.zone("z", records: 1 << 52) }
                    }
                ]
            ),
            (
                "5,000 items of a selection",
                [
                    forged {
                        $0.selection = ForgedArchive.items(5000) {
                            $1.text("")
                            $1.text(hexadecimal($0))
                        }
                    }
                ]
            ),
            ("65,536 files", [files(1 << 16)]), ("65,537 files", [files(1 << 16 + 1)]),
            ("100,000 files", [files(100_000)]),
            ("100,000 parts", [parts(100_000, length: 1 << 40)]),
        ]
        return cases
    }

    private static var names: [Case] {
        let names = [
            "", ".", "..", "../escaped", "/escaped", "manifest-../../escaped", "a\0b",
            "manifest-000000000000000g", "manifest-000000000000000A", "journal-0000000000000000",
            "chunks-0000000000000001/", "compacted-0000000000000001\0", "lock",
            String(repeating: "n", count: 255), String(repeating: "n", count: 256),
        ]
        return names.map { ("file \($0.debugDescription)", [file($0)]) }
            + names.map { name in
                (
                    "zone \(name.debugDescription)",
                    [
                        forged {
                            $0.zones = ForgedArchive.items(1) { $1.zone(name, of: "../escaped") }
                        }
                    ]
                )
            }
    }

    private static var lengths: [Case] {
        [
            ("manifest of 64 MiB", [file(manifest, length: 64 << 20)]),
            ("manifest of 12 MiB", [file(manifest, length: 12 << 20)]),
            ("manifest of 2^40 bytes", [file(manifest, length: 1 << 40)]),
            ("segment of 2^40 bytes", [file("compacted-0000000000000001", length: 1 << 40)]),
            ("chunks of 2^40 bytes", [file("chunks-0000000000000001", length: 1 << 40)]),
            ("file of 2^40 + 1 bytes", [file(manifest, length: 1 << 40 + 1)]),
            ("file of 2^63 bytes", [file(manifest, length: 1 << 63)]),
            ("part behind its file", [file(manifest, place: 1)]),
            ("part at 2^63", [file(manifest, length: 1 << 40, place: 1 << 63)]),
            ("part of no bytes", [file(manifest, partLength: 0)]),
            ("part of more than 1 MiB", [file(manifest, length: 2 << 20, partLength: 1 << 20 + 1)]),
            ("part of 2^63 bytes", [file(manifest, length: 1 << 40, partLength: 1 << 63)]),
            ("part behind the table", [file(manifest, partLength: 99)]),
            (
                "part of a file that is not there",
                [forged { $0.parts = ForgedArchive.items(1) { $1.part([]) } }]
            ),
            (
                "file without part",
                [forged { $0.files = ForgedArchive.items(1) { $1.file(manifest, length: 1) } }]
            ),
            ("overlapping parts", [overlapping(at: 5)]), ("falling parts", [overlapping(at: 0)]),
            ("one file twice", [twice]), ("files left out", [skipping]),
        ]
    }

    private static func overlapping(at place: UInt64) -> [UInt8] {
        forged {
            $0.content = [UInt8](repeating: 1, count: 20)
            $0.files = ForgedArchive.items(1) { $1.file(manifest, length: 20) }
            $0.parts = ForgedArchive.items(2) {
                $1.part(at: $0 == 0 ? 3 : place, [UInt8](repeating: 1, count: 10))
            }
        }
    }

    private static var twice: [UInt8] {
        forged {
            $0.content = [1, 1]
            $0.files = ForgedArchive.items(2) { $1.file(manifest, length: 1) }
            $0.parts = ForgedArchive.items(2) { $1.part(ofFile: UInt64($0), [1]) }
        }
    }

    private static var skipping: [UInt8] {
        forged {
            $0.content = [1, 1]
            $0.files = ForgedArchive.items(3) { $1.file("chunks-" + hexadecimal($0), length: 1) }
            $0.parts = ForgedArchive.items(2) { $1.part(ofFile: UInt64(2 * $0), [1]) }
        }
    }

    private static var fields: [Case] {
        let changes: [(String, Change)] = [
            (
                "start behind end",
                {
                    $0.base = 2; $0.start = 1
                }
            ),
            (
                "full, not from 0",
                {
                    $0.start = 1; $0.end = 2
                }
            ),
            ("floor behind end", { $0.floor = 1 }), ("end at 2^52", { $0.end = 1 << 52 }),
            ("greatest incarnation", { $0.incarnation = .max }), ("flags", { $0.flags = 0xff }),
            ("reserved of table", { $0.reservedOfTable = 1 }), ("reserved", { $0.reserved = 1 }),
            ("newer version", { $0.version = 2 }), ("newest version", { $0.version = .max }),
            ("table at 0", { $0.placeError = -64 }), ("table at -1", { $0.placeError = -65 }),
            ("table behind the end", { $0.placeError = 1 << 40 }),
            ("table of 2^40 bytes", { $0.lengthError = 1 << 40 }),
            ("table of negative length", { $0.lengthError = -(1 << 20) }),
            ("table a byte longer", { $0.lengthError = 1 }),
            (
                "owner of a selection",
                {
                    $0.selection = ForgedArchive.items(1) {
                        $1.text("../x"); $1.text("")
                    }
                }
            ),
            (
                "selection twice",
                {
                    $0.selection = ForgedArchive.items(2) {
                        $1.text(""); $1.text("z")
                    }
                }
            ),
            (
                "zones without end",
                { $0.zones = [0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80] }
            ),
            ("nothing", { _ in }),
        ]
        return changes.map { ($0.0, [forged($0.1)]) }
    }

    /// Archives that go on from each other; the one that is looked at comes first.
    private static func chain(
        _ count: Int, cyclic: Bool = false, _ change: Change = { _ in }
    ) -> [[UInt8]] {
        (1...count).map { number in
            forged {
                $0.number = UInt64(number)
                $0.base = number < count ? UInt64(number + 1) : cyclic ? 1 : 0
                change(&$0)
            }
        }
    }

    private static var chains: [Case] {
        [
            ("its own base", chain(1, cyclic: true)), ("two in a circle", chain(2, cyclic: true)),
            ("100 in a circle", chain(100, cyclic: true)), ("no base", [chain(2)[0]]),
            ("1,025 archives", chain(1025)),
            (
                "a base that ends elsewhere",
                [
                    forged { $0.base = 2 },
                    forged {
                        $0.number = 2
                        $0.end = 1
                    },
                ]
            ),
            ("20 tables of zones", chain(20) { $0.zones = emptyZones(200_000) }),
        ]
    }

    /// The store of a real archive, of which something is changed.
    private static func contents(_ whole: ForgedArchive) throws -> [Case] {
        var cases: [Case] = []
        for number in 0..<30 {
            var archive = whole
            archive.content[number * whole.content.count / 30] ^= 0xff
            try archive.signParts()
            cases.append(("content \(number)", [archive.bytes]))
        }
        var none = whole
        none.zones = [0]
        cases.append(("no zones", [none.bytes]))
        none.zones = ForgedArchive.items(1) { $1.zone("../escaped", records: 1) }
        cases.append(("another zone", [none.bytes]))
        return cases
    }

    private static func run(_ words: [String]) throws -> ToolProcess.Measurement {
        try ToolProcess(words, isSilent: true).waitMeasuring(limit: secondsLimit)
    }

    @Test func `no archive makes the tool write elsewhere, take much memory or run for ever`()
        async throws
    {
        let place = try Place()
        try await place.importTree()
        #expect(try await place.run("backup @/store -o @/whole").code == .ok)
        let whole = place.path + "/whole"
        let archive = try ForgedArchive(Array(try Data(contentsOf: URL(filePath: whole))))
        let least = try Self.run(["backups", "verify", whole])
        #expect(least.code == 0)
        let cases =
            try Self.counts + Self.names + Self.lengths + Self.fields + Self.chains
            + Self.contents(archive)
        #expect(cases.count >= 100)
        let files = FileManager.default
        let before = Set(try files.subpathsOfDirectory(atPath: place.path))
        let folder = place.path + "/hostile"
        var greatest = 0
        for hostile in cases {
            try files.createDirectory(atPath: folder, withIntermediateDirectories: false)
            for (number, bytes) in hostile.archives.enumerated() {
                try Data(bytes).write(to: URL(filePath: "\(folder)/\(number)"))
            }
            let target = folder + "/restored"
            let verified = try Self.run(["backups", "verify", folder + "/0"])
            // Damage that is found, an archive that is not valid, or one of a newer version.
            #expect([1, 18, 12].contains(verified.code), "\(hostile.name): \(verified)")
            let restored = try Self.run(["restore", folder + "/0", target])
            #expect([18, 12, 2].contains(restored.code), "\(hostile.name): \(restored)")
            let shown = try Self.run(["backups", "show", folder + "/0"])
            #expect([0, 18, 12].contains(shown.code), "\(hostile.name): \(shown)")
            for measured in [verified, restored, shown] {
                #expect(measured.memory < Self.memoryLimit, "\(hostile.name): \(measured)")
                #expect(measured.seconds < Self.secondsLimit, "\(hostile.name)")
                greatest = max(greatest, measured.memory)
            }
            #expect(
                try files.contentsOfDirectory(atPath: folder).count == hostile.archives.count,
                "\(hostile.name)")
            try files.removeItem(atPath: folder)
        }
        #expect(Set(try files.subpathsOfDirectory(atPath: place.path)) == before)
        #expect(greatest > 1 << 20, "memory is seen")
        #expect(!files.fileExists(atPath: "/escaped"))
    }
}
