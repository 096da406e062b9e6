import FoundationEssentials
import Stratus
import StratusBytes
import StratusFiles
import StratusJournal
import Support
import Testing

/// What a verification finds, and how grave it says that is.
@Suite struct VerificationTests {
    private typealias Severity = StoreVerification.Finding.Severity

    private static func findings(_ disk: SimulatedDisk) throws -> [StoreVerification.Finding] {
        try StoreVerification(disk.storage(writing: false)).findings
    }

    /// Samples that an opening has something to say of, and that have a manifest.
    private static let samples = Sample.damaged.filter { sample in
        let expected = sample.expected ?? ""
        return expected.contains("\ndamage journal-")
            || expected.hasPrefix("opens yes") && expected.contains("\ndamage manifest-")
    }

    @Test(arguments: samples)
    func `what an opening says of the journal is found at the same place`(
        sample: Sample
    ) async throws {
        let lines = (sample.expected ?? "").split(separator: "\n").map(String.init)
        let damage = try #require(lines.first { $0.hasPrefix("damage ") })
        let row = lines.first { $0.hasPrefix("row ") }
        let disk = try SimulatedDisk(holding: sample.files)
        if lines.contains("cause newerFormat") {
            // Whether anything is damaged this version cannot tell.
            do {
                let findings = try Self.findings(disk)
                Issue.record("\(findings)")
            } catch JournalError.newerFormat(let found) {
                #expect(damage.hasPrefix("damage \(found.file) byte \(found.byte) "))
            }
            return
        }
        let severity: Severity =
            switch row {
            case "row C", "row J": .possibleLoss
            case "row F", "row G": .tornTail
            default: .damage
            }
        let found = try Self.findings(disk)
        #expect(
            found.contains {
                damage.hasPrefix("damage \($0.place.file) byte \($0.place.byte) ")
                    && $0.severity == severity
            }, "\(found)")
    }

    @Test(
        // The state of the checkpoint in the sample of that name is of no use.
        arguments: Sample.valid.filter { $0.name != "valid/checkpoint" }
            + ["row-e-clean-tail", "row-k-behind-stated-end"].map {
                Sample(name: "damaged/\($0)")
            })
    func `a store that is whole, closed or not, has no findings`(sample: Sample) async throws {
        let found = try Self.findings(SimulatedDisk(holding: sample.files))
        #expect(found.isEmpty, "\(found)")
    }

    /// What is not known, and how the finding names it.
    private static let unknown: [(HostilePayloadTests.Malformation, String)] = {
        typealias Malformation = HostilePayloadTests.Malformation
        let words = [
            "a record without a zone": "zone number", "a record in an unknown zone": "zone number",
            "a tombstone in an unknown zone": "zone number",
            "a user's number that is there already": "user number",
            "a user's number that leaves one out": "user number",
            "the greatest user's number": "user number",
            "a zone's number that leaves one out": "zone number",
            "the greatest zone's number": "zone number",
            "a zone of an unknown database": "database",
            "names that leave a number out": "first number",
            "a name that is there already": "name", "the same name twice": "name",
            "a field of a type without a name": "name number", "an unknown user": "user number",
            "an unknown type": "type number", "a field without a name": "field number",
            "an index's number that leaves one out": "index number",
            "an index of a type without a name": "type number",
            "an index of a field without a name": "type number",
            "an index on another field without a name": "type number",
            "built rows in an unknown zone": "zone number",
            "a share whose number leaves one out": "share number",
            "a new share with the number of a zone": "share number",
            "a share that began before, and is not known": "share number",
            "a share of an unknown zone": "zone number",
            "members that leave an unknown share": "zone number",
            "members that enter an unknown share": "zone number",
            "a participant of an unknown share": "zone number",
            "a record in an unknown share": "zone number",
            "a tombstone of a record in an unknown share": "zone number",
            "members of an unknown type": "type number",
            "a participant that is no known user": "user number",
            "roles of an unknown user": "user number",
            "a subscription of an unknown user": "user number",
            "the end of a subscription of an unknown user": "user number",
            "matches in an unknown zone": "zone number",
            "matches of an unknown type": "type number",
            "matches with a field without a name": "type number",
            "matches of a record of an unknown user": "user number",
            "matches of a change by an unknown user": "user number",
            "matches for an unknown user": "user number",
            "a read mark of an unknown user": "user number",
            "a badge of an unknown user": "user number",
            "a device of an unknown user": "user number",
            "a push position of an unknown user": "user number",
        ]
        // An opening does not check the type of members and the user of a participant.
        var members = Malformation("members of an unknown type", entry: 50) {
            $0.append([0, 1])
            $0.zeros(8)
            $0.append([1])
            $0.countedText("note-0")
            $0.append([9, 200, 4, 88])
        }
        members.zone = 1
        var participant = Malformation("a participant that is no known user", entry: 51) {
            $0.append([1])
            $0.zeros(16)
            $0.append([7, 3, 2, 1, 0, 0, 0, 0])
        }
        participant.zone = 1
        let roles = Malformation("roles of an unknown user", entry: 53) { $0.append([2, 0]) }
        let all =
            HostilePayloadTests.ofFields + HostilePayloadTests.ofStore
            + ShareEntryTests.refusedByFold + [members, participant, roles]
        return all.filter { $0.version == nil }.map { ($0, words[$0.name] ?? "content") }
    }()

    @Test(arguments: unknown)
    func `a payload that makes no sense is one finding that says what is wrong`(
        malformation: HostilePayloadTests.Malformation, word: String
    ) async throws {
        let (maker, file, byte) = try await HostilePayloadTests.store(malformation)
        maker.disk.killProcesses()
        if let newer = malformation.newer {
            do {
                Issue.record("\(try Self.findings(maker.disk))")
            } catch JournalError.newerFormat(let found) {
                #expect(found.kind.identifier == "format.newer \(newer)")
                #expect(found.file == file && found.byte == byte)
            }
            return
        }
        let found = try Self.findings(maker.disk)
        #expect(found.map(\.place.kind) == ["payload.\(word)"])
        #expect(found.first?.severity == .damage)
        #expect(found.first?.place.file == file)
        #expect(found.first?.place.byte == byte)
        #expect(found.first?.place.offset == UInt64(byte / 8))
    }

    @Test func `a version that no writer gives is found`() async throws {
        let versions = HostilePayloadTests.ofStore.filter { $0.version != nil }
        for malformation in versions + [HostilePayloadTests.later] {
            let (maker, _, byte) = try await HostilePayloadTests.store(malformation)
            maker.disk.killProcesses()
            let found = try Self.findings(maker.disk)
            #expect(found.map(\.place.kind) == ["frame.field version"])
            #expect(found.first?.severity == .damage)
            #expect(found.first?.place.byte == byte)
        }
    }

    @Test func `any changed byte of the group that closes a store is found`() async throws {
        for place in stride(from: 0, to: 120, by: 7) {
            let maker = SampleMaker(seed: 71)
            let container = try maker.open()
            try await maker.fill(container.privateDatabase(for: "alice"), saves: 2)
            try await container.close()
            try maker.edit(0) { $0.flip($0.groups[$0.groups.count - 1] + place) }
            maker.disk.killProcesses()
            let found = try Self.findings(maker.disk)
            #expect(found.count == 1, "byte \(place)")
            #expect(found.first?.severity != .tornTail, "byte \(place)")
        }
    }

    @Test func `a tail that is not whole is no finding beside the writer that may be writing it`()
        async throws
    {
        let maker = SampleMaker(seed: 73)
        let container = try maker.open()
        try await maker.fill(container.privateDatabase(for: "alice"), saves: 3)
        // The last group without its end, and then without its beginning.
        for (start, severity) in [(100, Severity.possibleLoss), (24, Severity.tornTail)] {
            try maker.edit(0) { image in image.zero(from: (image.groups.last ?? 0) + start) }
            #expect(try Self.findings(maker.disk).isEmpty)
            let afterwards = try SimulatedDisk(holding: maker.disk.storeFiles)
            #expect(try Self.findings(afterwards).map(\.severity) == [severity])
        }
        withExtendedLifetime(container) {}
    }

    @Test func `damage before what a writer has said to be durable is found beside it`()
        async throws
    {
        let maker = SampleMaker(seed: 74)
        let container = try maker.open()
        try await maker.fill(container.privateDatabase(for: "alice"), saves: 4)
        var byte = 0
        try maker.edit(0) { image in
            byte = image.groups[2]
            image.flip(byte + 20)
        }
        let found = try Self.findings(maker.disk)
        #expect(found.map(\.place.byte) == [byte])
        #expect(found.first?.severity == .damage)
        withExtendedLifetime(container) {}
    }

    @Test func `behind an entry that cannot be read no number is called unknown`() async throws {
        let maker = SampleMaker(seed: 75)
        let container = try maker.open()
        try await maker.fill(container.privateDatabase(for: "alice"), saves: 3)
        maker.disk.killProcesses()
        // The commit that makes the zone and the user.
        try maker.edit(0) { $0.flip($0.groups[0] + 90) }
        #expect(try Self.findings(maker.disk).count == 1)
        withExtendedLifetime(container) {}
    }
}
