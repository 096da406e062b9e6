import StratusBytes
package import StratusFiles
package import StratusJournal
import Synchronization

/// How the tests open journals: in `store` on a simulated disk, with times and salts that a seed
/// determines.
package struct TestStore: Sendable {
    package let disk: SimulatedDisk
    package var options = JournalOptions()
    package var policy = WritePolicy()
    package var preamble: [UInt8]
    package var durability = Durability.full
    /// Whether the fold refuses to go on from a checkpoint.
    package var refusesCheckpoints = false
    /// Whether files that do not change any more are mapped.
    private let maps: Bool

    package static let directory = "store"

    package init(
        on disk: SimulatedDisk = SimulatedDisk(), seed: UInt64 = 1, segmentLength: Int = 64 << 10,
        preamble: [UInt8] = [], maps: Bool = false
    ) {
        self.disk = disk
        self.maps = maps
        self.preamble = preamble
        let generator = Mutex(SeededGenerator(seed: seed))
        let time = Mutex<Int64>(1_700_000_000_000_000)
        options.segmentLength = segmentLength
        options.randomness = Randomness { generator.withLock { $0.next() } }
        options.clock = Clock {
            time.withLock {
                $0 += 1
                return $0
            }
        }
        policy.zeroFill = 8 << 10
    }

    /// Makes the directory, durable.
    package func makeDirectory() throws {
        _ = try LocalStorage(
            at: Self.directory, .writing(creating: true), on: disk.process(), policy: policy)
        disk.killProcesses()
    }

    /// A store that a process has open for writing.
    package struct Session: Sendable {
        package let process: SimulatedProcess
        package let storage: LocalStorage
        package let committer: Committer<ModelFold>
        package let outcomes: ModelOutcomes
        package let report: RecoveryReport
        /// What the opening read.
        package let recovered: [FoldedCommit]
        /// The manifest in force.
        package var manifest: Manifest { committer.withStage { $0.writer.manifest } }
    }

    /// Opens the store for writing, in a process of its own.
    package func open(holder: String = "a test") throws -> Session {
        let process = disk.process()
        let storage = try LocalStorage(
            at: Self.directory, .writing(creating: true), on: process, policy: policy,
            holder: holder, maps: maps)
        let found = try Journal.manifest(in: storage, creating: true, options: options)
        let opened = try Journal.open(
            in: storage, found, options: options, fold: ModelFold(preamble: preamble),
            resuming: { resumed($0, in: storage) })
        let outcomes = opened.fold.outcomes
        let recovered = opened.fold.commits
        let report = opened.report
        let committer = Committer(opened.writer, participant: opened.fold, durability: durability)
        return Session(
            process: process, storage: storage, committer: committer, outcomes: outcomes,
            report: report, recovered: recovered)
    }

    /// The fold of a checkpoint, which lies in its only file.
    package func resumed(
        _ checkpoint: Manifest.Checkpoint, in storage: any Storage
    ) -> ModelFold? {
        guard !refusesCheckpoints, let name = checkpoint.files.first,
            checkpoint.state == Array(name.utf8), let file = try? storage.open(name),
            let bytes = try? file.read(0..<file.length)
        else { return nil }
        return ModelFold(decoding: bytes, preamble: preamble)
    }

    /// The files of checkpoints that are there.
    package var checkpointFiles: [String] {
        disk.paths.filter { $0.hasPrefix(path(Manifest.Checkpoint.filePrefix)) }
            .map { String($0.dropFirst(path("").utf8.count)) }.sorted()
    }

    /// Opens the store and commits to it; the store is left open.
    @discardableResult
    package func write(_ commits: [[ModelCommit]], idling: Bool = false) throws -> Session {
        let session = try open()
        for batch in commits {
            session.commit(batch)
            if idling { session.idle() }
        }
        return session
    }

    /// The path of a file of the store on the disk.
    package func path(_ name: String) -> String { Self.directory + "/" + name }

    /// The path of a segment's file.
    package func path(_ segment: Manifest.Segment) -> String { path(segment.fileName) }

    /// The contents of all segment files, by name.
    package var segments: [String: [UInt8]] {
        var found: [String: [UInt8]] = [:]
        for path in disk.paths where path.hasPrefix(Self.directory + "/journal-") {
            found[path] = disk.contents(path)
        }
        return found
    }
}

extension TestStore.Session {
    /// Commits, and tells the outcomes.
    package func commit(_ commits: [ModelCommit]) {
        let outcome = committer.commit(commits)
        for (place, commit) in commits.enumerated() {
            outcomes.finish(commit, outcome.failures[place])
        }
    }

    /// Does what is due when nothing was asked for, as if much time had passed.
    package func idle() {
        while committer.idle(now: .max) != nil {}
    }

    /// Ends the process as kill -9 does.
    package func kill() { process.kill() }

    /// What a verification finds in everything that the manifest in force lists.
    package func findings() throws -> [JournalFinding] {
        var verifier = JournalVerifier(manifest, in: storage)
        try verifier.run { _, _ in nil }
        return verifier.findings
    }
}

extension TestStore.Session {
    /// What ``frozen()`` gives: a fold, encoded, and its place.
    package struct Frozen: Sendable {
        package var position: JournalPosition
        package var state: [UInt8]
        package var numbers: [UInt64]

        package var file: String {
            Manifest.Checkpoint.filePrefix + Hex.encode(position.offset.rawValue)
        }
    }

    /// The fold as it is now; nil where no checkpoint can be taken.
    package func frozen() -> Frozen? {
        committer.freeze { fold, position in
            Frozen(position: position, state: fold.encoded, numbers: fold.numbers)
        }
    }

    /// Makes a checkpoint of what was frozen, and releases the files of earlier ones.
    package func take(_ frozen: Frozen) throws {
        let name = frozen.file
        let others = try storage.list().filter {
            $0.hasPrefix(Manifest.Checkpoint.filePrefix) && $0 != name
        }
        do {
            try storage.put(name, frozen.state)
        } catch {
            // Of the same place, and so the same, from an earlier time. One that could not be made
            // may be there and yet not be durable, unless the manifest names it.
            guard error.kind == .exists else {
                let isInForce = manifest.checkpoint?.files.contains(name) ?? false
                if !isInForce { _ = try? storage.delete(name) }
                throw error
            }
        }
        try committer.take(
            Manifest.Checkpoint(
                position: frozen.position, files: [name], state: Array(name.utf8)))
        committer.release(others)
    }
}

extension TestStore {
    /// What is wrong with journal, checkpoint and files of a session that was just opened, where
    /// nothing was damaged. Readers may have pinned older generations.
    package func problem(
        _ session: Session, besideReaders: Bool
    ) throws -> String? {
        let findings = try session.findings()
        if !findings.isEmpty { return "verification finds \(findings)" }
        if let discarded = session.report.discardedCheckpoint { return "discarded: \(discarded)" }
        let named = Set(session.manifest.checkpoint?.files ?? [])
        let there = Set(checkpointFiles)
        guard there.isSuperset(of: named) else { return "\(named) of \(there)" }
        return besideReaders || there == named ? nil : "\(there), needed: \(named)"
    }
}
