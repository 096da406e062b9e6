import Stratus
import StratusEngine
import StratusJournal
import Support
import Testing

/// Bytes of the index of a closed record store are changed.
struct IndexFileDamageTests {
    private let sample: SmallStore
    private let expected: StoreAnswers
    private let tokens: [StoreAnswers.Token]
    /// The files that the manifest names; others are of no effect.
    private let files: [String]

    init() async throws {
        var run = try StoreRun(seed: 11)
        try await run.run(150)
        sample = try await run.closed()
        expected = StoreAnswers(run.model, run.tokens)
        tokens = run.tokens
        files = try sample.manifest.checkpoint?.files.sorted() ?? []
    }

    private enum Answer: Hashable {
        case right
        case named(String)
        case wrong(String)
    }

    /// What a damaged store says, at the worst: of each way to read separately.
    private func answer(_ store: SmallStore) -> Answer {
        do {
            let container = try store.open()
            let answers = try StoreAnswers(container.snapshot(), tokens)
            if let difference = answers.difference(from: expected) { return .wrong(difference) }
            return .right
        } catch let error as StoreError {
            guard error.cause == .damaged, let place = error.place,
                place.file.hasPrefix("index-"), !place.kind.isEmpty
            else { return .wrong("\(error)") }
            return .named(place.file)
        } catch EngineError.journal(.damaged(let damage)) where damage.file.hasPrefix("index-") {
            // The opening itself reads some of the index.
            return .named(damage.file)
        } catch {
            return .wrong("\(error)")
        }
    }

    /// The file is named or, where an opening needed it, all was made again from the journal.
    private func isFair(_ store: SmallStore, _ name: String) -> Bool {
        [.named(name), .right].contains(answer(store))
    }

    /// Whether every record that is asked for by name is right, or the damage is told.
    private func recordProblem(_ store: SmallStore, of name: String) throws -> String? {
        let container: Container
        do {
            container = try store.open()
        } catch EngineError.journal(.damaged(let damage)) where damage.file == name {
            return nil
        }
        let snapshot = container.snapshot()
        for (user, database) in zip(StoreAnswers.users, expected.databases) {
            for record in database.zones.values.flatMap(\.records) {
                do throws(StoreError) {
                    let found = try snapshot.privateDatabase(for: user).record(
                        for: record.recordID)
                    if found != record { return "\(record.recordID.recordName) is another" }
                } catch {
                    if error.cause != .damaged || error.place == nil { return "\(error)" }
                }
            }
        }
        return nil
    }

    @Test func `a changed byte of the index is named or changes no answer`() throws {
        let stride = Campaign.triesAllBytes ? 11 : 997
        var problems: [String] = []
        var (named, right) = (0, 0)
        #expect(answer(sample.copy(seed: 1)) == .right)
        for name in files {
            let path = sample.path(name)
            let length = sample.disk.contents(path).count
            for byte in Swift.stride(from: 0, to: length, by: stride) {
                let damaged = sample.copy(seed: 1)
                damaged.disk.flip(path, at: byte, mask: UInt8(1) << UInt8(byte % 8))
                switch answer(damaged) {
                case .named(name): named += 1
                case .named(let other): problems.append("\(name), \(byte): \(other)")
                case .right: right += 1
                case .wrong(let what): problems.append("\(name), \(byte): \(what)")
                }
                damaged.disk.killProcesses()
                if byte % 10 == 0, let problem = try recordProblem(damaged, of: name) {
                    problems.append("\(name), \(byte): \(problem)")
                }
            }
        }
        CampaignReport.add("Bytes of the index changed: \(named) named, \(right) of no effect.\n")
        #expect(problems.prefix(20) == [])
        #expect(named > 20)
    }

    @Test func `an index file that is cut, empty, another one or gone is named or made again`()
        throws
    {
        #expect(!files.isEmpty)
        for (place, name) in files.enumerated() {
            let path = sample.path(name)
            let length = sample.disk.contents(path).count
            for cut in [0, 1, 31, length / 2, length - 1, length + 4096] {
                let damaged = sample.copy(seed: 1)
                damaged.disk.setLength(path, cut)
                #expect(isFair(damaged, name), "\(name) cut at \(cut)")
            }
            let other = files[(place + 1) % files.count]
            if other != name {
                let damaged = sample.copy(seed: 1)
                damaged.disk.replaceContents(
                    path, damaged.disk.contents(sample.path(other)))
                #expect(isFair(damaged, name), "\(other) as \(name)")
            }
            let missing = sample.copy(seed: 1)
            missing.disk.delete(path)
            #expect(answer(missing) == .right, "the journal tells what was in \(name)")
        }
    }
}
