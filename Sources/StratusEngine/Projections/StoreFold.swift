internal import StratusBytes
internal import StratusFiles
package import StratusIndex
package import StratusJournal

/// The fold of a store: every entry of the journal, applied by the projections that read its kind.
///
/// The same code applies entries that were just staged, that an opening reads, and that another
/// process wrote. So what is maintained equals what is rebuilt.
package struct StoreFold: JournalFold, Sendable {
    package private(set) var state: FoldState
    /// The state to roll back to.
    private var savepoint: FoldState?
    /// Whether a commit has begun since ``setSavepoint()`` that is not complete.
    private var isOpen = false
    private let registry: ProjectionRegistry
    private var projections: [any Projection]
    /// Seeds the hashes of names.
    package let secret: UInt64
    /// The points that readers may read at; nil while there are no readers.
    private let points: (@Sendable () -> NeededPoints)?
    /// The size at which the fold itself writes the memtable to disk; nil where the maintainer does.
    private let spillLimit: Int?
    /// Is told how far the journal was read.
    private let follow: (@Sendable (JournalOffset) -> Void)?
    private let released: ReleasedFiles
    /// Reads what was kept of the entries before, where that is not all of them.
    private var kept: JournalView?
    /// Why that failed.
    private var failure: JournalError?
    /// Right behind the entry that was given last, where that ends a commit.
    private var commitEnd: JournalOffset?

    package init(
        _ state: FoldState, _ registry: ProjectionRegistry, secret: UInt64,
        _ released: ReleasedFiles, spillLimit: Int? = nil,
        follow: (@Sendable (JournalOffset) -> Void)? = nil,
        points: (@Sendable () -> NeededPoints)? = nil
    ) {
        self.state = state
        self.registry = registry
        projections = registry.projections.map { $0.init() }
        self.secret = secret
        self.released = released
        self.spillLimit = spillLimit
        self.follow = follow
        self.points = points
        if points != nil { self.state.changes = UnpublishedChanges() }
    }

    package func preamble(limit: Int) -> [UInt8] { state.schema.preamble(limit: limit) }
    package var files: [String] { state.index.fileNames }

    /// What the other one has written lies there until the opening is done.
    package mutating func replace(_ failed: StoreFold) {
        state.index.keepNumbers(of: failed.state.index)
    }

    /// The state without a commit that is still open.
    package var committed: FoldState { isOpen ? savepoint ?? state : state }

    package mutating func setSavepoint() {
        savepoint = state
        isOpen = true
    }

    /// Rolls back complete commits, too: those of a group that could not be written.
    package mutating func rollBack() {
        guard var savepoint else { preconditionFailure("there is a state to roll back to") }
        savepoint.index.keepNumbers(of: state.index)
        savepoint.changes = state.changes
        // The tables that were written since belong to no state, and what was merged is read again.
        let kept = Set(savepoint.index.fileNames)
        let made = state.index.fileNames + savepoint.lease.takeBack()
        released.add(made.filter { !kept.contains($0) })
        state = savepoint
        (isOpen, failure) = (false, nil)
        for place in projections.indices { projections[place].rollBack() }
    }

    package mutating func apply(
        _ header: FrameHeader, at offset: JournalOffset, payload: Span<UInt8>
    ) throws(JournalDamage.Kind) {
        commitEnd = header.isLast ? offset.next : nil
        let readers = registry.readers(of: header.kind)
        if readers.isEmpty {
            if header.kind.mayBeIgnored { return }
            throw .unknownKind(header.kind.rawValue)
        }
        if registry.beginsState(header.kind) { settle() }
        var entry = FoldedEntry(header, at: offset, secret: secret)
        if let kept {
            do throws(JournalError) {
                switch header.kind {
                case .record, .tombstone: try entry.compare(payload, with: state.index, kept)
                case .builtRows: try entry.compareBuiltRows(payload, with: state.index)
                case .members: try entry.compareMembers(payload, with: state.index)
                default: break
                }
            } catch {
                failure = failure ?? error
            }
        }
        do throws(FormatError) {
            if registry.isInZone(header.kind), !state.numbers.hasZone(header.zone) {
                throw .value("zone")
            }
            for place in readers {
                try projections[place].apply(&entry, payload, to: &state)
            }
        } catch {
            throw JournalDamage.Kind(error)
        }
    }

    package mutating func complete(end: JournalOffset, time: Int64) {
        state.end = end
        state.lastTime = time
        isOpen = false
        for place in projections.indices {
            projections[place].completeCommit(at: time, in: &state)
        }
        // Of what is compacted a part may be given that ends amid a commit.
        if let place = commitEnd.take() {
            state.history.note(end: place, at: time)
            state.deletions.note(end: place, at: time)
        }
        if state.history.isKept { settle() }
    }

    package mutating func passOver(latest time: Int64) {
        state.history.passOver(latest: time)
        state.deletions.passOver(latest: time)
    }

    /// Makes the state whole between two commits of a group, since it may be read later.
    private mutating func settle() {
        do throws(IndexError) {
            for place in projections.indices { try projections[place].endGroup(in: &state) }
        } catch {
            failure = failure ?? JournalError(error)
        }
    }

    package mutating func lookBack(through view: JournalView) { kept = view }

    package mutating func endGroup() throws(JournalError) {
        settle()
        if let failure { throw failure }
        do throws(IndexError) {
            lookUpPoints()
            state.index.endGroup()
            if let spillLimit, state.index.activeBytes >= spillLimit { try spill() }
            follow?(state.end)
        } catch {
            throw JournalError(error)
        }
    }

    private mutating func lookUpPoints() {
        let points = points?() ?? NeededPoints()
        state.index.points = points.keeping(state.history.points)
    }

    /// What changed since the last call.
    package mutating func takeChanges() -> UnpublishedChanges {
        guard let changes = state.changes else { return UnpublishedChanges() }
        state.changes = UnpublishedChanges()
        return changes
    }
}

// Keeping the index within memory.
extension StoreFold {
    /// The same, read by others from now on.
    package func observed(
        spillLimit: Int?, points: @escaping @Sendable () -> NeededPoints
    ) -> StoreFold {
        StoreFold(
            state, registry, secret: secret, released, spillLimit: spillLimit, points: points)
    }

    /// Writes the memtable to disk, and merges what is due.
    private mutating func spill() throws(IndexError) {
        state.index.freeze()
        if let job = state.index.checkpointJob(), let output = try job.run() { install(output) }
        // A commit that is open may be taken back, and then what was merged is needed again.
        while !isOpen, let job = state.index.mergeJob() {
            guard let output = try job.run() else { return }
            install(output)
        }
    }

    package mutating func install(_ output: IndexJob.Output) {
        let given = state.index.install(output)
        if !given.isEmpty { state.lease = state.lease.giveUp(given) }
    }

    /// It was found out that less is dead than was counted, or more.
    package mutating func correctDead(by bytes: Int) {
        state.deadBytes = max(0, state.deadBytes + bytes)
    }

    /// Files of the journal are listed no more, and go once no state reads them. Comes between
    /// commits.
    package mutating func giveUp(_ files: [String]) {
        if files.isEmpty { return }
        state.lease = state.lease.giveUp(files)
        // It would keep them until the next commit.
        savepoint = nil
    }

    /// Gives `body` the index, for what is done to it between groups.
    package mutating func withIndex<Result>(_ body: (inout OrderedIndex) -> Result) -> Result {
        // The last group may have been the only one that needed the state before it.
        lookUpPoints()
        return body(&state.index)
    }
}

extension JournalError {
    /// What is wrong with the index, in the words of the journal.
    package init(_ error: IndexError) {
        switch error {
        case .storage(let error): self = .storage(error)
        case .damaged(let damage): self.init(JournalDamage(damage))
        }
    }
}

extension JournalDamage {
    package init(_ damage: IndexDamage) {
        let kind: Kind =
            switch damage.kind {
            case .newerFormat(let version): .newerFormat(version)
            case .table(.form): .newerPart("form")
            case .table(.flags): .newerPart("flags")
            default: .above(damage.kind.identifier)
            }
        self.init(kind, file: damage.file, byte: damage.byte)
    }
}
