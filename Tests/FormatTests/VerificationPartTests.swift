import Stratus
import Support
import Testing

/// A store that is verified in parts.
@Suite struct VerificationPartTests {
    private static func verify(
        _ sample: Sample, _ part: ScrubPart = ScrubPart()
    ) async throws -> StoreVerification {
        try await StoreVerification(part, at: "\(PackageFiles.root)/Formats/samples/\(sample.name)")
    }

    /// What parts have read together.
    private struct Sum: Equatable {
        /// Segments, entries, commits and bytes of the journal; tables and bytes of the index; chunks and
        /// their bytes.
        var counts = [0, 0, 0, 0, 0, 0, 0, 0]
        var findings: Set<String> = []

        mutating func add(_ result: StoreVerification) {
            let counts = [
                result.segmentCount, result.entryCount, result.commitCount, result.bytesRead,
                result.tableCount, result.tableBytes, result.chunkCount, result.chunkBytes,
            ]
            for (place, count) in counts.enumerated() { self.counts[place] += count }
            for finding in result.findings { findings.insert("\(finding.place)") }
        }
    }

    private static func whole(_ sample: Sample) async throws -> Sum {
        var sum = Sum()
        sum.add(try await verify(sample))
        return sum
    }

    /// The state of the checkpoint in the sample of that name is of no use, which only the whole tells.
    private static let stores = Sample.valid.filter {
        !$0.name.hasPrefix("valid/archive") && $0.name != "valid/checkpoint"
    }

    @Test(arguments: stores)
    func `the parts of a store are together the whole of it, and find nothing`(
        sample: Sample
    ) async throws {
        let whole = try await Self.whole(sample)
        for count in [1, 2, 7] {
            var sum = Sum()
            for number in 1...count {
                let part = ScrubPart(subset: ScrubPart.Subset(number, of: count))
                let result = try await Self.verify(sample, part)
                #expect(result.next == nil)
                sum.add(result)
            }
            #expect(sum == whole, "\(count)")
        }
    }

    @Test(arguments: stores)
    func `runs that each go on where the last one ended read the whole store`(
        sample: Sample
    ) async throws {
        var sum = Sum()
        var place: ScrubPlace?
        repeat {
            let result = try await Self.verify(sample, ScrubPart(from: place, for: .zero))
            if let next = result.next, let place { #expect(next > place) }
            sum.add(result)
            place = result.next
        } while place != nil
        let whole = try await Self.whole(sample)
        #expect(sum == whole)
    }

    @Test func `each damage of a file is found by the part that has the file`() async throws {
        var found = 0
        for sample in Sample.damaged {
            let whole: StoreVerification
            do {
                whole = try await Self.verify(sample)
            } catch {
                // Nothing is verified of a store of a later version, or without a manifest.
                continue
            }
            let ofFiles = whole.findings.filter {
                !$0.place.kind.hasPrefix("checkpoint.") && !$0.place.kind.hasPrefix("asset.")
                    && !$0.place.kind.hasPrefix("chunk.list")
            }
            var sum = Sum()
            for number in 1...3 {
                let part = ScrubPart(subset: ScrubPart.Subset(number, of: 3))
                do { sum.add(try await Self.verify(sample, part)) } catch {
                    Issue.record("\(sample.name), part \(number): \(error)")
                }
            }
            for finding in ofFiles {
                var place = finding.place
                place.record = nil
                place.field = nil
                #expect(sum.findings.contains("\(place)"), "\(sample.name)")
                found += 1
            }
        }
        #expect(found > 100)
    }

    @Test(arguments: [(0, 3), (4, 3), (-1, 1), (1, 0)])
    func `there is no such part`(number: Int, count: Int) async throws {
        let part = ScrubPart(subset: ScrubPart.Subset(number, of: count))
        let error = await #expect(throws: StoreError.self) {
            try await Self.verify(Sample(name: "valid/segments"), part)
        }
        #expect(error?.code == .invalidArguments)
    }

    @Test(arguments: ["journal-0000000000400000", "index-0000000000000012", "assets-8a3f"])
    func `a place is read again as it was written`(text: String) throws {
        let place = try #require(ScrubPlace(text))
        #expect(place.description == text)
    }

    @Test(arguments: [
        "", "journal", "journal-", "journal-12", "journal-00000000004000000",
        "index-+000000000000012", "assets-8A3F", "assets-12345", "assets-123", "chunks-8a3f",
        "journal-000000000040000g",
    ])
    func `what is no place is not read as one`(text: String) {
        #expect(ScrubPlace(text) == nil)
    }
}
