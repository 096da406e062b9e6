package import StratusFiles

/// What a simulated disk does beyond losing what was not synchronised.
package struct DiskOptions: Sendable {
    /// How many bytes of blocks it has; nil for no limit.
    package var capacity: Int?
    /// Whether a crash may mix two versions of a sector, the start of one and the end of another.
    package var tearsSectors = true
    /// Whether a crash may leave old blocks where the length survived and the data did not.
    package var garbageInGaps = false
    /// Whether a crash may leave old blocks where space was allocated and never written, even if
    /// the allocation had been synchronised.
    package var garbageInAllocations = false
    /// Whether after a failed synchronisation reads return what was there before the writes,
    /// instead of what was written.
    package var failedSyncEvicts = false
    /// Every so-many-th read on average that must not wait finds nothing in memory; 0: none does.
    package var missesOneIn = 8
    /// Decides which reads those are.
    package var missSeed: UInt64 = 0
    /// Whether it has files without a name; not every file system does.
    package var hasUnnamedFiles = true
    /// Whether files can share blocks; not every file system can do that.
    package var sharesBlocks = false
    /// Whether ``SimulatedDisk/makeStale(_:sector:by:)`` works; it costs memory.
    package var keepsReplacedSectors = false

    /// A disk without limit that tears sectors and does nothing worse.
    package init() {}
}

/// The calls of a ``FileSystem``.
package enum DiskCall: Int, CaseIterable, Sendable {
    case openDirectory, makeDirectory, open, openUnnamed, close, read, readResident, map, write
    case startWriting, synchronizeData, synchronize, truncate, allocate, deallocate, clone, status
    case setPermissions, setTimes, link, makeLink, target, rename, unlink, list, lock

    /// The name that an error carries, as on Linux.
    package var systemCall: StaticString {
        switch self {
        case .openDirectory, .open, .openUnnamed: "open"
        case .makeDirectory: "mkdir"
        case .close: "close"
        case .read: "pread"
        case .readResident: "preadv2"
        case .map: "mmap"
        case .write: "pwrite"
        case .startWriting: "sync_file_range"
        case .synchronizeData: "fdatasync"
        case .synchronize: "fsync"
        case .truncate: "ftruncate"
        case .allocate, .deallocate: "fallocate"
        case .clone: "ioctl"
        case .status: "fstat"
        case .setPermissions: "fchmod"
        case .setTimes: "futimens"
        case .link: "linkat"
        case .makeLink: "symlinkat"
        case .target: "readlinkat"
        case .rename: "renameat2"
        case .unlink: "unlinkat"
        case .list: "getdents"
        case .lock: "flock"
        }
    }

    /// Whether a crash before the call and one after it can differ.
    package var changesDisk: Bool {
        switch self {
        case .makeDirectory, .open, .openUnnamed, .write, .synchronizeData, .synchronize,
            .truncate, .allocate, .deallocate, .clone, .setPermissions, .setTimes, .link, .makeLink,
            .rename, .unlink:
            true
        case .openDirectory, .close, .read, .readResident, .map, .startWriting, .status, .target,
            .list, .lock:
            false
        }
    }

    var mayBeInterrupted: Bool {
        switch self {
        case .openDirectory, .open, .openUnnamed, .read, .readResident, .write, .synchronizeData,
            .synchronize:
            true
        default: false
        }
    }
}

/// A call that is to go wrong.
package struct DiskFault: Equatable, Sendable {
    /// What happens instead.
    package enum Effect: Equatable, Sendable {
        /// The call fails and does nothing, except that a failed synchronisation makes the pages
        /// clean and a failed close closes.
        case fail(SystemError.Code)
        /// A read or write of more than one byte transfers fewer than it was asked to.
        case short
        /// A read returns what lies a sector further on, or before in the last one.
        case misdirected
        /// Before a read, another process changes the byte at its place, or appends one.
        case overtaken
    }

    /// What happens instead.
    package var effect: Effect
    /// The number of the call, from 1: among all calls, or among those of its kind.
    package var number: Int
    /// The kind of call that is counted and affected, or nil for any.
    package var kind: DiskCall?
    /// The name of the file whose calls of that kind are counted and affected, or nil for any.
    package var file: String?
    /// Whether every later call goes wrong too.
    package var isLasting: Bool

    /// A fault at call `number`, and at every later one if it is `lasting`.
    package init(
        _ effect: Effect, at number: Int, of kind: DiskCall? = nil, lasting: Bool = false
    ) {
        self.effect = effect
        self.number = number
        self.kind = kind
        isLasting = lasting
    }

    /// A fault at the call `number` of a kind on the file that was opened by the name `file`.
    package init(_ effect: Effect, at number: Int, of kind: DiskCall, on file: String) {
        self.init(effect, at: number, of: kind)
        self.file = file
    }
}

/// A call that was made.
package struct LoggedCall: Equatable, Sendable {
    /// Counted from 1, as in ``SimulatedDisk/callCount``.
    package var number: Int
    /// Which of the calls.
    package var call: DiskCall
    /// The file or directory, without its path; of a rename, the old name.
    package var name: String
    /// Whether a fault or the power cut hit it.
    package var isFaulty: Bool
}
