import FoundationEssentials
import Stratus
import Support
import Testing

/// Certificates of a store, and what they still prove after all that may become of it.
struct CertificateTests {
    private let store = SmallStore(seed: Campaign.seed)
    private static let zone = RecordZone.ID(zoneName: "notes")

    private func save(_ container: Container, _ numbers: Range<Int>) async throws {
        let database = container.privateDatabase(for: "alice")
        for number in numbers {
            let id = Record.ID(recordName: "r\(number % 50)", zoneID: Self.zone)
            var record =
                (try? await database.record(for: id)) ?? Record(recordType: "Note", recordID: id)
            record["number"] = .int64(Int64(number))
            try await database.save(record)
        }
    }

    /// A store with fifty records.
    private func begin(_ store: SmallStore) async throws -> Container {
        let container = try store.open()
        try await container.privateDatabase(for: "alice").save(RecordZone(zoneID: Self.zone))
        try await save(container, 0..<50)
        return container
    }

    private func expect(
        _ container: Container, _ certificate: Certificate,
        _ history: CertificateComparison.Proof, _ chain: CertificateComparison.Proof,
        _ zones: CertificateComparison.Proof,
        _ differences: [CertificateComparison.Difference] = [],
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        let found = try await container.compare(with: certificate)
        #expect(found.history == history, sourceLocation: sourceLocation)
        #expect(found.chain == chain, sourceLocation: sourceLocation)
        #expect(found.zones == zones, sourceLocation: sourceLocation)
        #expect(found.differences == differences, sourceLocation: sourceLocation)
    }

    @Test func `a certificate says what a store is, and is proved there`() async throws {
        let container = try await begin(store)
        let certificate = try await container.certificate(by: "test 1")
        let information = container.information
        #expect(certificate.storeID == information.storeID && certificate.tool == "test 1")
        #expect(certificate.offset <= information.head && certificate.chain != 0)
        #expect(certificate.lastCommit == information.lastCommit)
        let hash = try await container.privateDatabase(for: "alice").contentHash(of: Self.zone)
        #expect(
            certificate.zones == [
                Certificate.Zone(
                    owner: container.userRecordName(for: "alice"), zoneName: "notes",
                    recordCount: 50, contentHash: hash.description)
            ])
        try await expect(container, certificate, .proved, .proved, .proved)
        // A reader finds the same, beside the writer and when the store is closed.
        try await expect(store.openReadOnly(), certificate, .proved, .proved, .proved)
        try await container.close()
        let reader = try store.openReadOnly()
        try await expect(reader, certificate, .proved, .proved, .proved)
        #expect(try await reader.certificate().zones == certificate.zones)
    }

    @Test func `a certificate of an empty store is one of whatever it becomes`() async throws {
        let container = try store.open()
        let certificate = try await container.certificate()
        #expect(certificate.offset == 0 && certificate.chain == 0)
        #expect(certificate.zones.isEmpty && certificate.lastCommit == nil)
        try await expect(container, certificate, .proved, .proved, .proved)
        try await container.close()
        let again = try await begin(store)
        try await expect(again, certificate, .proved, .proved, .notKept)
        try await again.close()
    }

    @Test func `the zones are compared as long as a mark or the history keeps their state`()
        async throws
    {
        let container = try await begin(store)
        let plain = try await container.certificate()
        try await save(container, 50..<60)
        let marked = try await container.certificate()
        let mark = try await container.mark("certified")
        try await save(container, 60..<70)
        try await container.setHistoryPolicy(.everything)
        let kept = try await container.certificate()
        try await save(container, 70..<80)
        try await expect(container, plain, .proved, .proved, .notKept)
        try await expect(container, marked, .proved, .proved, .proved)
        try await expect(container, kept, .proved, .proved, .proved)
        try await container.removeMark(mark)
        try await expect(container, marked, .proved, .proved, .notKept)
        try await container.close()
    }

    @Test
    func `after a compaction the chain is not known amid it, and nothing is called different`()
        async throws
    {
        let container = try await begin(store)
        var certificates: [Certificate] = []
        for round in 1...20 {
            certificates.append(try await container.certificate())
            if round == 3 { try await container.mark("third") }
            try await save(container, round * 50..<round * 50 + 50)
        }
        try await container.maintenance.compact()
        #expect(store.journalFiles.contains { $0.hasPrefix("compacted-") })
        var chains: Set<CertificateComparison.Proof> = []
        for (number, certificate) in certificates.enumerated() {
            let found = try await container.compare(with: certificate)
            #expect(found.differences.isEmpty && found.history == .proved, "\(number)")
            #expect(found.zones == (number == 2 ? .proved : .notKept), "\(number)")
            chains.insert(found.chain)
        }
        #expect(chains == [.compacted, .proved])
        // At the end it is always known.
        try await expect(container, container.certificate(), .proved, .proved, .proved)
        try await container.maintenance.erase()
        let erased = try await container.certificate()
        try await expect(container, erased, .proved, .proved, .proved)
        try await save(container, 0..<5)
        try await expect(container, erased, .proved, .proved, .notKept)
        try await container.close()
    }

    @Test func `a copy and a restored store have the history of the original up to their own`()
        async throws
    {
        let container = try await begin(store)
        let first = try await container.certificate()
        try await save(container, 50..<60)
        let last = try await container.certificate()
        try await container.backup(to: store.archivePath("a"), marking: .none)
        try await container.copy(to: "copied")
        try await container.copy(to: "cloned", cloning: true)
        try await store.openArchive("a").restore(to: "restored")
        try await save(container, 60..<70)
        let later = try await container.certificate()
        for name in ["copied", "restored"] {
            let copy = try store.opening(name).open()
            try await expect(copy, first, .proved, .compacted, .notKept)
            try await expect(copy, last, .proved, .proved, .proved)
            try await expect(
                copy, later, .differs, .notCompared, .notCompared, [.lineage(end: last.offset)])
            let own = try await copy.certificate()
            #expect(own.lineage != last.lineage && own.incarnation > last.incarnation)
            try await expect(copy, own, .proved, .proved, .proved)
            try await expect(
                container, own, .differs, .notCompared, .notCompared, [.lineage(end: nil)])
            try await save(copy, 70..<80)
            try await expect(copy, last, .proved, .proved, .notKept)
            try await copy.close()
        }
        let clone = try store.opening("cloned").open()
        try await expect(
            clone, last, .differs, .notCompared, .notCompared,
            [.store(clone.information.storeID)])
        try await clone.close()
        try await container.close()
    }

    @Test func `a store that ends earlier has lost commits`() async throws {
        let container = try await begin(store)
        try await container.checkpoint()
        let earlier = store.copy(seed: 1)
        try await save(container, 50..<60)
        let certificate = try await container.certificate()
        try await container.close()
        let reader = try earlier.openReadOnly()
        let end = reader.information.head
        #expect(end < certificate.offset)
        try await expect(
            reader, certificate, .differs, .notCompared, .notCompared, [.lost(from: end)])
    }

    @Test func `what a crash took is lost, though the journal goes on behind it`() async throws {
        var store = store
        store.durability = .none
        let container = try await begin(store)
        var certificate = try await container.certificate()
        let end = certificate.offset
        try await save(container, 50..<70)
        certificate.offset = container.snapshot().offset
        var from: Set<UInt64> = []
        for seed in 1...10 {
            let copy = store.copy(seed: UInt64(seed))
            copy.disk.crash(seed: UInt64(seed))
            let other = try copy.open()
            try await save(other, 100..<300)
            #expect(other.information.head > certificate.offset)
            let found = try await other.compare(with: certificate)
            if case .lost(let offset) = found.differences.first {
                #expect(found.history == .differs && found.differences.count == 1)
                from.insert(offset)
            }
            try await other.close()
        }
        #expect(!from.isEmpty && from.allSatisfy { $0 >= end && $0 < certificate.offset })
        try await container.close()
    }

    @Test func `files that went another way are found by the chain, and their zones are named`()
        async throws
    {
        try await begin(store).close()
        let twin = store.copy(seed: 1)
        let container = try store.open()
        try await save(container, 50..<60)
        let certificate = try await container.certificate()
        let other = try twin.open()
        try await save(other, 150..<160)
        let own = try await other.certificate()
        #expect(own.offset == certificate.offset && own.chain != certificate.chain)
        try await expect(
            other, certificate, .proved, .differs, .differs,
            [
                .chain(own.chain),
                .zone(certified: certificate.zones.first, found: own.zones.first),
            ])
        // Behind further commits, too.
        try await save(other, 160..<170)
        try await expect(other, certificate, .proved, .differs, .notKept, [.chain(own.chain)])
        try await other.close()
        try await container.close()
    }

    @Test func `a zone that is missing, and one that was added, are named`() async throws {
        let container = try await begin(store)
        var certificate = try await container.certificate()
        let zone = certificate.zones[0]
        var other = zone
        other.zoneName = "others"
        certificate.zones = [other]
        try await expect(
            container, certificate, .proved, .proved, .differs,
            [.zone(certified: other, found: nil), .zone(certified: nil, found: zone)])
        // A name is its bytes: a composed letter is another one than a decomposed.
        (other.zoneName, certificate.zones[0].zoneName) = ("caf\u{E9}", "cafe\u{301}")
        certificate.zones.append(other)
        #expect(try await container.compare(with: certificate).differences.count == 3)
        try await container.close()
    }
}
