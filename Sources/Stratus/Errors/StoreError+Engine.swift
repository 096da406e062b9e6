internal import StratusFiles
internal import StratusArchive
internal import StratusAssets
internal import StratusBytes
package import StratusJournal
internal import StratusEngine

// The errors of the layers below, translated at the doors of the library.

extension StoreError {
    init(_ error: EngineError) {
        switch error {
        case .journal(let error): self.init(error)
        case .chunk(let error): self.init(error)
        case .chunkGone: self = .assetGone
        case .system(let error): self.init(error)
        case .cancelled: self.init(.operationCancelled, "cancelled before it was committed")
        case .committing(let error): self.init(committing: error)
        case .busy(let reason): self.init(.serviceUnavailable, reason)
        case .noRoom: self.init(.quotaExceeded, "the journal has no room to go on")
        case .other(let error as StoreError): self = error
        case .other(let damage as ArchiveDamage): self.init(damage)
        case .other(let refusal as ArchiveRefusal): self.init(refusal)
        case .other(let refusal as CopyRefusal): self.init(refusal)
        case .other(let error): self.init(.internalError, "unexpected: \(error)")
        case .wouldBlock: self.init(.internalError, "not in memory")
        }
    }

    package init(_ error: JournalError) {
        switch error {
        case .noStore:
            self.init(.badContainer, "there is no store here")
        case .storage(let error):
            self.init(error)
        case .poisoned(let error):
            if error.kind == .fencedOut {
                self.init(error)
                return
            }
            self.init(
                .internalError,
                "a sync failed: the store takes no changes until it is opened again")
            cause = .poisoned
            place = Place(file: error.file, byte: 0, kind: "sync failed")
        case .damaged(let damage), .refused(_, let damage):
            self.init(.internalError, "the store is damaged")
            cause = .damaged
            place = Place(damage)
        case .newerFormat(let damage):
            self.init(.internalError, "the store was written by a newer version")
            cause = .newerFormat
            place = Place(damage)
        case .noEntry(let offset):
            self.init(.internalError, "the index names an entry that is not there")
            cause = .damaged
            place = Place(file: "", byte: 0, offset: offset.rawValue, kind: "no entry")
        case .entryTooLong:
            self.init(.limitExceeded, "the record is longer than an entry may be")
        case .noIncarnation:
            self.init(.limitExceeded, "the store was restored so often that no number is left")
        case .historyChanged:
            self.init(
                .changeTokenExpired,
                "the store lost what was read of it before that was durable")
        case .closed:
            self.init(.operationCancelled, "the container was closed")
            cause = .closed
        }
    }

    /// Why a commit failed. After a failed sync it is open whether it is on the medium.
    init(committing error: JournalError) {
        self.init(error)
        guard case .poisoned = error else { return }
        code = .serverResponseLost
        if cause == .poisoned {
            reason =
                "a sync failed: whether the change is kept shows when the store is opened again"
        }
    }

    init(_ error: StorageError) {
        let call = error.cause.map { " (\($0))" } ?? ""
        switch error.kind {
        case .locked(let holder):
            self.init(.serviceUnavailable, "the store is locked by \(holder)")
            cause = .locked(holder: holder)
        case .noSpace:
            self.init(.quotaExceeded, "no space is left for the store")
            cause = .inputOutput("\(error.file)\(call)")
        case .permission:
            self.init(.permissionFailure, "the file system does not permit it")
            cause = .notPermitted("\(error.file)\(call)")
        case .notFound:
            self.init(.badContainer, "there is no store here")
            cause = .inputOutput("\(error.file)\(call)")
        case .truncated:
            self.init(.internalError, "a file of the store is too short")
            cause = .damaged
            place = Place(file: error.file, byte: 0, kind: "file.truncated")
        case .tooManyFiles:
            self.init(
                .serviceUnavailable,
                """
                the process has as many files open as it may (EMFILE): raise its limit (ulimit -n) \
                or close some
                """)
            retryAfter = .seconds(1)
            cause = .tooManyFiles
        case .fencedOut:
            self.init(
                .internalError,
                """
                the store was taken from this container: \(error.file) was removed, replaced or \
                added while it was open; open it again
                """)
            cause = .fencedOut(error.file)
        case .cancelled: self.init(.operationCancelled, "cancelled while the store was read")
        case .exists, .syncFailed, .inputOutput, .notResident:
            self.init(.internalError, "the file system failed")
            cause = .inputOutput("\(error.file)\(call)")
        }
    }

    init(_ error: ChunkError) {
        switch error {
        case .storage(let error): self.init(error)
        case .damaged(let damage):
            if damage.kind.isNewer {
                self.init(.internalError, "an asset was stored in a newer format")
                cause = .newerFormat
            } else {
                self.init(.internalError, "an asset is damaged")
                cause = .damaged
            }
            place = Place(
                file: damage.file, byte: damage.byte, kind: damage.kind.identifier)
        case .refused: self.init(.internalError, "the index gave no answer")
        case .closed: self.init(JournalError.closed)
        }
    }

    init(_ damage: ArchiveDamage) {
        switch damage.kind {
        case .newerFormat, .newerPart:
            self.init(.internalError, "the archive was written by a newer version")
            cause = .newerFormat
        case .archive(.base):
            let base = damage.missing.map { " " + Hex.encode($0) } ?? ""
            self.init(
                .invalidArguments,
                "the archive goes on from another one\(base), which is not beside it or is not its base"
            )
            needsFullBackup = true
        case .archive:
            self.init(.internalError, "the archive is damaged")
            cause = .damaged
            needsFullBackup = true
        }
        place = Place(file: damage.file, byte: damage.byte, kind: damage.identifier)
    }

    init(_ refusal: ArchiveRefusal) {
        switch refusal {
        case .tooLarge(let reason):
            self.init(
                .limitExceeded,
                """
                an archive of the store would be more than a reader takes: expected \(reason): choose \
                parts of the store for several archives; without content hashes a table is shorter
                """)
        case .chainTooLong(let reason):
            self.init(
                .limitExceeded,
                """
                the archives that go on from each other would be more than a reader takes together: \
                expected \(reason): a full one is needed
                """)
            needsFullBackup = true
        }
    }

    init(_ refusal: CopyRefusal) {
        switch refusal {
        case .forgotten(let through):
            self = .expired(
                .compacted,
                "the store has forgotten deletions up to offset \(through), of which the earlier "
                    + "archive does not know: a full one is needed")
        }
    }

    /// A call of the system failed that concerns no file.
    init(_ error: SystemError) {
        guard error.code == .tooManyThreads else {
            self.init(.internalError, "the system failed")
            cause = .inputOutput("\(error)")
            return
        }
        self.init(
            .serviceUnavailable,
            """
            the system gives this process no further thread (EAGAIN): raise the limit of its user \
            (ulimit -u) or of its control group (pids.max)
            """)
        retryAfter = .seconds(1)
        cause = .tooManyThreads
    }

    /// Any error of the layers below.
    package init(translating error: any Error) { self.init(EngineError(translating: error)) }
}

extension StoreError.Place {
    init(_ damage: JournalDamage) {
        self.init(
            file: damage.file, byte: damage.byte, offset: damage.offset?.rawValue,
            kind: damage.kind.identifier)
    }

    private static let archivePrefix = "archive."

    /// Whether it is a place in an archive itself.
    fileprivate var isOfArchive: Bool { kind.hasPrefix(Self.archivePrefix) }

    /// The same place. Where the files of a store lie in an archive, it is the place in that.
    func located(in storage: any Storage) -> StoreError.Place {
        guard !isOfArchive, let holder = storage.holder(of: file, at: byte) else { return self }
        var place = self
        (place.file, place.byte) = (holder.file, holder.byte)
        // A newer version is one wherever it is met.
        if !kind.hasPrefix("format.newer") { place.kind = Self.archivePrefix + kind }
        return place
    }
}

extension EngineError {
    /// What stands on the engine refuses with `error`.
    static func refused(_ error: StoreError) -> EngineError { .other(error) }

    static func refused(_ code: StoreError.Code, _ reason: String) -> EngineError {
        .other(StoreError(code, reason))
    }

    /// Whether bytes of the store are not what was written.
    var isDamage: Bool { !wouldBlock && StoreError(self).cause == .damaged }

    /// The same of a backup that would not fail without its base.
    var needingFullBackup: EngineError {
        var error = StoreError(self)
        error.needsFullBackup = true
        return .refused(error)
    }

    /// The same of a record.
    func with(_ recordID: Record.ID) -> EngineError {
        wouldBlock ? self : .refused(StoreError(self).with(recordID))
    }
}

/// What `body` returns; its errors are those that callers of the library see.
func answering<Value>(
    _ body: () throws(EngineError) -> Value
) throws(StoreError) -> Value {
    do throws(EngineError) {
        return try body()
    } catch {
        throw StoreError(error)
    }
}

/// The same of what suspends.
nonisolated(nonsending) func answering<Value>(
    _ body: nonisolated(nonsending) () async throws(EngineError) -> Value
) async throws(StoreError) -> Value {
    do throws(EngineError) {
        return try await body()
    } catch {
        throw StoreError(error)
    }
}

// What callers of a container are answered. Its store may lie in an archive: then damage is said of that.
extension Container {
    /// What `body` returns; its errors are those that callers of the library see.
    func answer<Value>(
        _ body: () throws(EngineError) -> Value
    ) throws(StoreError) -> Value {
        do throws(EngineError) {
            return try body()
        } catch {
            throw StoreError(error).located(in: foundation.storage)
        }
    }

    /// The same of what suspends.
    nonisolated(nonsending) func answer<Value>(
        _ body: nonisolated(nonsending) () async throws(EngineError) -> Value
    ) async throws(StoreError) -> Value {
        do throws(EngineError) {
            return try await body()
        } catch {
            throw StoreError(error).located(in: foundation.storage)
        }
    }
}

extension StoreError {
    /// The same error. Where the files of a store lie in an archive, damage is said of that.
    func located(in storage: any Storage) -> StoreError {
        guard cause == .damaged || cause == .newerFormat, let place, !place.isOfArchive,
            storage.holder(of: place.file, at: place.byte) != nil
        else { return self }
        var error = self
        error.reason =
            cause == .damaged
            ? "the archive is damaged" : "the archive was written by a newer version"
        return error.replacing(places: places.map { $0.located(in: storage) })
    }

    /// Two names with one hash of 128 bits, which cannot be brought about without the secret.
    static let hashCollision = StoreError(
        .internalError, "two record names have the same hash")
}
