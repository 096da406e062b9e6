internal import StratusAssets
package import StratusFiles
package import StratusJournal
package import StratusEngine

/// An open store: a public database, and a private one for each user.
///
/// One process at a time opens a store for writing; any number read it meanwhile, and write
/// nothing. All calls may come from any task.
public final class Container: Sendable {
    /// When a change is acknowledged.
    public enum Durability: Hashable, Sendable {
        /// Once it is on the medium. The default.
        case full
        /// At once; it is on the medium within so many milliseconds, at most a day. A power loss
        /// may take the latest changes, never earlier ones before them; the death of the process
        /// takes none.
        case interval(milliseconds: Int)
        /// At once; it is on the medium when the system writes it, at the latest when the container
        /// is closed. Losses as with an interval.
        case none
    }

    /// What a save may bring. Each environment is a store of its own.
    public enum Environment: String, Hashable, Sendable {
        /// New types and fields. The default.
        case development
        /// What the schema of the store has already, and nothing else.
        case production
    }

    /// What an opening found and did.
    public struct RecoveryReport: Hashable, Sendable {
        /// The row of the recovery table of `Formats/Journal.md` that was decided on, A to K.
        public var row: String
        /// Whether the store had been closed cleanly.
        public var wasClean: Bool
        /// Whether something that had been acknowledged may be missing: only what the last sync
        /// covered can be concerned, where its bytes are damaged and nothing tells whether it was
        /// durable.
        public var possibleLoss: Bool
        /// Where the journal ended, as an offset.
        public var end: UInt64
        /// What was found behind the end.
        public var damage: StoreError.Place?
        /// How many commits were read.
        public var replayedCommits: UInt64
        /// How many bytes of commits that were never complete were passed over.
        public var droppedBytes: Int
        /// Files that a crash had left and nothing referred to.
        public var discardedFiles: [String]
        /// The offset of the checkpoint from which the journal was read; nil: it was read from its
        /// beginning.
        public var checkpoint: UInt64?
        /// Why the checkpoint that the store had was of no use. Nothing is lost by that but time.
        public var discardedCheckpoint: StoreError.Place?
        /// What was wrong with one of the two copies in the manifest when the container was opened. The
        /// other one was read, and an opening for writing has replaced both.
        public var manifestDamage: StoreError.Place?
    }

    /// What the opening found and did.
    public let recoveryReport: RecoveryReport
    let access: Access
    let foundation: StoreFoundation
    /// Nil where nothing is limited.
    let limits: Limits?
    let deduplication: Deduplication
    let receipts: AssetReceipts
    /// The validators and triggers of the host; nil where there are none.
    let rules: RecordRules?
    /// What never changes of the store.
    let identity: StoreIdentity
    let longLivedRuns: LongLivedRuns
    let backupHolds: BackupHolds
    let leftShares = LeftShares()
    /// What a save may bring: said once, when the store is made.
    public var environment: Environment { Environment(identity.environment) }

    /// How many reads wait for the disk at once.
    package static let threadCount = 8

    enum Access: Sendable {
        case writing(Engine)
        case reading(StoreFollower)
    }

    private init(
        _ access: Access, _ report: StratusJournal.RecoveryReport, _ foundation: StoreFoundation,
        _ limits: Limits?, _ identity: StoreIdentity, _ deduplication: Deduplication = .perUser,
        _ receipts: AssetReceipts = AssetReceipts(), _ rules: RecordRules? = nil,
        _ longLivedRuns: LongLivedRuns = LongLivedRuns(),
        _ backupHolds: BackupHolds = BackupHolds()
    ) {
        self.identity = identity
        self.longLivedRuns = longLivedRuns
        self.backupHolds = backupHolds
        self.rules = rules
        self.deduplication = deduplication
        self.receipts = receipts
        self.access = access
        self.foundation = foundation
        self.limits = limits
        recoveryReport = RecoveryReport(report)
    }

    deinit {
        if case .writing(let engine) = access { engine.abandon() }
    }

    /// Opens the store in the directory `path`. Indexes of which a death left a part are built on
    /// beside whatever follows, and long-lived operations that change records go on, under this
    /// profile and these rules.
    ///
    /// - Parameters:
    ///   - creating: makes the store where there is none.
    ///   - profile: what callers may do.
    ///   - environment: what a save may bring to a store that is made; nil: `development`. A store
    ///     that is there must be of that environment, or of any where it is nil.
    ///   - deduplication: whose assets are stored once where they are the same.
    ///   - rules: validators and triggers, which run for each save and deletion until the container
    ///     is closed. The store keeps none of them.
    ///   - continuesOperations: whether long-lived operations go on. A program that is not the
    ///     service itself leaves them to the service, which knows its rules and its profile.
    ///   - refusingPossibleLoss: fails, and changes nothing, where
    ///     ``RecoveryReport/possibleLoss`` would be reported: with the cause `damaged` and the place.
    ///     Otherwise the journal ends there from now on.
    ///   - memoryLimit: what the caches and the newest part of the index may take together, in
    ///     bytes, whatever the size of the store; at least 1 MiB.
    ///   - reading: how files that do not change any more are read: with ``ReadingMethod/mapped`` a
    ///     medium that fails may end the process.
    /// - Throws: ``StoreError`` with `badContainer` where there is no store, `serviceUnavailable`
    ///   with the cause `locked` where another writer has it, `internalError` with the cause
    ///   `damaged` and the place where bytes are not what was written, `invalidArguments` where
    ///   the store is of the other environment, or the rules are registered wrongly.
    public nonisolated(nonsending) static func open(
        at path: String, creating: Bool = false, durability: Durability = .full,
        profile: Profile = .unlimited, environment: Environment? = nil,
        deduplication: Deduplication = .perUser, rules: RecordRules = .none,
        continuesOperations: Bool = true, refusingPossibleLoss: Bool = false,
        memoryLimit: Int = 64 << 20, reading: ReadingMethod = .calls
    ) async throws(StoreError) -> Container {
        try await open(
            at: path, on: LinuxFileSystem(), creating: creating, durability: durability,
            profile: profile, environment: environment, deduplication: deduplication,
            rules: rules, continuesOperations: continuesOperations,
            refusingPossibleLoss: refusingPossibleLoss, memoryLimit: memoryLimit,
            reading: reading)
    }

    /// The same in a directory of `system`, which is also where callers' files are.
    package nonisolated(nonsending) static func open(
        at path: String, on system: any FileSystem, creating: Bool, durability: Durability,
        profile: Profile = .unlimited, environment: Environment? = nil,
        deduplication: Deduplication = .perUser, rules: RecordRules = .none,
        continuesOperations: Bool = true, refusingPossibleLoss: Bool = false, memoryLimit: Int,
        reading: ReadingMethod = .calls
    ) async throws(StoreError) -> Container {
        try await answering { () async throws(EngineError) -> Container in
            let threads = IOThreads(count: threadCount)
            let container = try await threads.run {
                var options = JournalOptions()
                options.refusesPossibleLoss = refusingPossibleLoss
                let storage = try LocalStorage(
                    at: path, .writing(creating: creating), on: system, maps: reading == .mapped)
                return try Container(
                    writing: StoreFoundation(storage, memoryLimit: memoryLimit, threads: threads),
                    creating: creating, durability: durability, profile: profile,
                    environment: environment, deduplication: deduplication, rules: rules,
                    options: options, driver: .thread)
            }
            container.resumeIndexes()
            if continuesOperations { container.resumeLongLivedOperations() }
            return container
        }
    }

    /// Opens the store in the directory `path` for reading only: beside a writer, on a medium that
    /// cannot be written, by a user who may not write.
    ///
    /// It shows the store as it was at the last ``refresh()``. Beside a living writer that is all
    /// that is durable.
    ///
    /// - Parameters:
    ///   - refusingPossibleLoss: fails where ``RecoveryReport/possibleLoss`` would be reported, with the
    ///     cause `damaged` and the place.
    ///   - memoryLimit: as of ``open(at:creating:durability:profile:environment:deduplication:rules:continuesOperations:refusingPossibleLoss:memoryLimit:reading:)``.
    ///   - reading: likewise.
    public nonisolated(nonsending) static func openReadOnly(
        at path: String, profile: Profile = .unlimited, refusingPossibleLoss: Bool = false,
        memoryLimit: Int = 64 << 20, reading: ReadingMethod = .calls
    ) async throws(StoreError) -> Container {
        try await openReadOnly(
            at: path, on: LinuxFileSystem(), profile: profile,
            refusingPossibleLoss: refusingPossibleLoss, memoryLimit: memoryLimit,
            reading: reading)
    }

    /// The same of a directory of `system`.
    package nonisolated(nonsending) static func openReadOnly(
        at path: String, on system: any FileSystem, profile: Profile = .unlimited,
        refusingPossibleLoss: Bool = false, memoryLimit: Int, reading: ReadingMethod = .calls
    ) async throws(StoreError) -> Container {
        try await answering { () async throws(EngineError) -> Container in
            let threads = IOThreads(count: threadCount)
            return try await threads.run {
                let storage = try LocalStorage(
                    at: path, .reading, on: system, maps: reading == .mapped)
                return try Container(
                    reading: StoreFoundation(storage, memoryLimit: memoryLimit, threads: threads),
                    profile: profile, refusingPossibleLoss: refusingPossibleLoss)
            }
        }
    }

    /// A store in memory, gone with the container.
    public static func inMemory(
        profile: Profile = .unlimited, environment: Environment = .development,
        deduplication: Deduplication = .perUser, rules: RecordRules = .none
    ) throws(StoreError) -> Container {
        do {
            let threads = IOThreads(count: threadCount)
            return try Container(
                writing: StoreFoundation(
                    MemoryStorage(), memoryLimit: MemoryBudget.usual, threads: threads),
                creating: true, durability: .none, profile: profile, environment: environment,
                deduplication: deduplication, rules: rules,
                options: JournalOptions(), driver: .thread)
        } catch {
            throw StoreError(translating: error)
        }
    }

    package convenience init(
        writing storage: any Storage, _ registry: ProjectionRegistry = .store, creating: Bool,
        durability: Durability,
        profile: Profile = .unlimited, environment: Environment? = nil,
        deduplication: Deduplication = .perUser, rules: RecordRules = .none,
        options: JournalOptions, steppedByCaller: Bool,
        memoryLimit: Int = 64 << 20, threadCount: Int = 1
    ) throws {
        try self.init(
            writing: StoreFoundation(
                storage, registry, memoryLimit: memoryLimit,
                threads: IOThreads(count: threadCount)),
            creating: creating, durability: durability, profile: profile,
            environment: environment, deduplication: deduplication, rules: rules,
            options: options, driver: steppedByCaller ? .caller : .thread)
    }

    convenience init(
        writing foundation: StoreFoundation, creating: Bool, durability: Durability,
        profile: Profile = .unlimited, environment: Environment? = nil,
        deduplication: Deduplication = .perUser, rules: RecordRules = .none,
        options: JournalOptions, driver: EngineDriver,
        rebuilding: Rebuilding? = nil
    ) throws {
        let storage = foundation.storage
        do {
            let rules = try rules.checked()
            var foundation = foundation
            var options = options
            if let environment { options.environment = environment.stored }
            // Names are hashed with a secret that lies in the manifest.
            var manifest = try Journal.manifest(
                in: storage, creating: creating, options: options)
            if let environment { try environment.check(manifest) }
            if rebuilding != nil { manifest.set(nil) }
            let beginnings = try foundation.beginnings(
                of: manifest, spills: true, follow: rebuilding?.follower(of: manifest))
            var resumed: StoreCheckpoint?
            let opened = try Journal.open(
                in: storage, manifest, options: options, cache: foundation.cache,
                fold: beginnings.empty
            ) { checkpoint in
                let fold = beginnings.resuming(checkpoint)
                resumed = fold.map { StoreCheckpoint($0.state, at: checkpoint.position) }
                return fold
            }
            let (assets, receipts, runs) = (foundation.assets, AssetReceipts(), LongLivedRuns())
            let holds = BackupHolds()
            let engine = try Engine(
                opened, foundation, opened.writer.manifest.checkpoint == nil ? nil : resumed,
                durability: StratusJournal.Durability(durability), driver: driver
            ) { engine in
                assets.collectIfDue(receipts, engine)
                runs.release(before: engine.clock.now())
                holds.release(by: engine.clock.now())
            }
            if !opened.report.wasClean { try? ChunkStore.releaseUnused(in: storage) }
            foundation.assets.attach(
                engine.published, StoreIdentity(opened.writer.manifest), options)
            foundation.options = options
            self.init(
                .writing(engine), opened.report, foundation, Limits(profile, options.clock),
                StoreIdentity(opened.writer.manifest), deduplication, receipts, rules, runs,
                holds)
            try dropGrowingShares()
        } catch {
            storage.close()
            throw error
        }
    }

    package convenience init(
        reading storage: any Storage, memoryLimit: Int = 64 << 20
    ) throws {
        try self.init(
            reading: StoreFoundation(
                storage, memoryLimit: memoryLimit, threads: IOThreads(count: 1)))
    }

    convenience init(
        reading foundation: StoreFoundation, profile: Profile = .unlimited,
        refusingPossibleLoss: Bool = false
    ) throws {
        let follower = try StoreFollower(foundation)
        if refusingPossibleLoss { try follower.report.refusePossibleLoss() }
        self.init(
            .reading(follower), follower.report, foundation, Limits(profile, .system),
            follower.published.current.identity)
    }

    /// The public database, called by `user` or, where that is nil, by an anonymous caller.
    ///
    /// Every caller reads all of it. A user creates records, and changes and deletes those that the
    /// same user created (otherwise `permissionFailure`); an anonymous caller changes nothing
    /// (`notAuthenticated`). Rules: `Formats/README.md`, "Permissions".
    ///
    /// - Parameters:
    ///   - user: a user record name (`_` and 32 lower-case hexadecimal digits), or any other name,
    ///     which always stands for the same user of this store. The container believes it. An
    ///     empty name makes every call fail with `invalidArguments`.
    ///   - device: tells the user's devices apart, by any name.
    public func publicDatabase(as user: String? = nil, device: String? = nil) -> Database {
        Database(
            container: self, scope: .public, principal: principal(user), userName: user ?? "",
            device: device)
    }

    /// The public database, called by the program that opened the container, for moderation and
    /// maintenance: it changes and deletes records of all users. Its changes bear the name `user`.
    public func publicDatabase(asHost user: String, device: String? = nil) -> Database {
        Database(
            container: self, scope: .public,
            principal: host(user), userName: user, device: device)
    }

    /// The database that belongs to `user`, on one of the user's devices. The names are those of
    /// ``publicDatabase(as:device:)``; an empty one makes every call fail with `invalidArguments`.
    public func privateDatabase(for user: String, device: String? = nil) -> Database {
        Database(
            container: self, scope: .private(owner: userID(user)), principal: principal(user),
            userName: user, device: device)
    }

    /// Whether `name` is `_` and 32 lower-case hexadecimal digits. Any other name is a plain one.
    package static func isUserRecordName(_ name: String) -> Bool { UserID(recordName: name) != nil }

    /// The user record name that `user` stands for.
    public func userRecordName(for user: String) -> String { userID(user).recordName }

    /// Shows a store that was opened for reading as it is now; otherwise it always is so. Returns
    /// whether anything is new.
    @discardableResult
    public nonisolated(nonsending) func refresh() async throws(StoreError) -> Bool {
        try await answer { () async throws(EngineError) -> Bool in
            guard case .reading(let follower) = access else { return false }
            return try await threads.run { try follower.refresh() }
        }
    }

    /// Commits what was submitted, and gives up the store. Changes are refused afterwards, with
    /// `operationCancelled` and the cause `closed`; reads go on showing the last state.
    ///
    /// A save whose assets are still being read is refused likewise, as soon as their next bytes
    /// come: it is not waited for, since a stream may have no end. Nothing of it is written once
    /// this has returned; what was before is collected some day. A long-lived operation that is run
    /// is interrupted between two commits, and goes on when the store is opened again.
    public nonisolated(nonsending) func close() async throws(StoreError) {
        defer { published.end() }
        guard case .writing(let engine) = access else { return }
        await longLivedRuns.close()
        try await answer { () async throws(EngineError) in try await engine.close() }
    }

    /// Of a container that is stepped by its caller: shows everything that is durable to readers in
    /// other processes. It writes an idle group where there is anything new to show, so that the
    /// same calls make the same store whenever they come.
    package func announceDurable() {
        if case .writing(let engine) = access { engine.announceDurable() }
    }

    /// How many commits wait for the next group.
    package var queueDepth: Int {
        guard case .writing(let engine) = access else { return 0 }
        return engine.queueDepth
    }

    /// For whatever waits for the disk.
    var threads: IOThreads { foundation.threads }

    var published: PublishedState {
        switch access {
        case .writing(let engine): engine.published
        case .reading(let follower): follower.published
        }
    }

    /// Of feeds and listeners that wait for changes.
    package var waiting: ChangeWaiters.Counts { published.waiting }

    /// The newest state, for a caller that may not wait for the disk.
    var reading: StoreReading { StoreReading(state, .resident) }

    var state: StoreState { published.current }

    package func engine() throws(EngineError) -> Engine {
        guard case .writing(let engine) = access else {
            throw .refused(.permissionFailure, "the store was opened for reading only")
        }
        return engine
    }

    func userID(_ name: String) -> UserID {
        UserID(name, seed: identity.userSeed)
    }

    /// The host itself, under the name of a user.
    func host(_ user: String) -> Principal { user.isEmpty ? .unnamed : .host(userID(user)) }

    /// The caller that a host names; nil is anonymous.
    func principal(_ user: String?) -> Principal {
        guard let user else { return .anonymous }
        return user.isEmpty ? .unnamed : .user(userID(user))
    }
}

extension StratusJournal.Durability {
    init(_ durability: Container.Durability) {
        switch durability {
        case .full: self = .full
        case .interval(let milliseconds):
            self = .interval(milliseconds: max(0, min(milliseconds, 86_400_000)))
        case .none: self = .none
        }
    }
}

extension Container.Environment {
    init(_ stored: Manifest.Environment) {
        switch stored {
        case .development: self = .development
        case .production: self = .production
        }
    }

    /// As a manifest has it.
    fileprivate var stored: Manifest.Environment {
        switch self {
        case .development: .development
        case .production: .production
        }
    }

    /// Fails where the store is of the other environment.
    fileprivate func check(_ manifest: Manifest) throws(StoreError) {
        let found = Self(manifest.environment)
        guard found == self else {
            throw StoreError(
                .invalidArguments,
                "expected a store of the environment \(rawValue), found one of \(found.rawValue)")
        }
    }
}

extension Container.RecoveryReport {
    init(_ report: StratusJournal.RecoveryReport) {
        self.init(
            row: report.row.rawValue, wasClean: report.wasClean,
            possibleLoss: report.possibleLoss, end: report.end.rawValue,
            damage: report.damage.map { StoreError.Place($0) },
            replayedCommits: report.replayedCommits, droppedBytes: report.droppedBytes,
            discardedFiles: report.discardedFiles, checkpoint: report.checkpoint?.rawValue,
            discardedCheckpoint: report.discardedCheckpoint.map { StoreError.Place($0) },
            manifestDamage: report.manifestDamage.map { StoreError.Place($0) })
    }
}
