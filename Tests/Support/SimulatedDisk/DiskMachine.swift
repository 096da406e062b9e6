import StratusFiles

/// A disk in a machine: the medium, what processes have open, and what is to go wrong.
struct DiskMachine: Sendable {
    var medium: DiskMedium
    var faults: [DiskFault] = []
    var crashAtCall: Int?
    var logsCalls = false
    var keepsCrashPoints = false
    private(set) var log: [LoggedCall] = []
    private(set) var crashPoints: [CrashPoint] = []
    private(set) var callCount = 0
    private(set) var isOff = false

    private var openFiles: [Int32: OpenFile] = [:]
    private var lastDescriptor: Int32 = 2
    private var liveProcesses: Set<Int> = []
    private var lastProcess = 0
    private var kindCounts = [Int](repeating: 0, count: DiskCall.allCases.count)
    /// Of the calls that a fault on one file counts.
    private var fileCounts: [DiskCall: [String: Int]] = [:]
    private var misbehaviour: (generator: SeededGenerator, oneIn: Int)?

    init(_ medium: DiskMedium) {
        self.medium = medium
        self.medium.closeAll()
    }

    mutating func misbehave(seed: UInt64, oneIn: Int) {
        misbehaviour = oneIn > 0 ? (SeededGenerator(seed: seed), oneIn) : nil
    }

    mutating func resetCalls() {
        callCount = 0
        kindCounts = [Int](repeating: 0, count: DiskCall.allCases.count)
        fileCounts = [:]
        log = []
        crashPoints = []
    }
}

/// A descriptor of a process.
struct OpenFile: Sendable {
    var node: DiskNode
    var name: String
    var process: Int
    var isWritable: Bool
    /// Of a directory: whether it may only be gone through.
    var isTraversed = false
    var lock = LockKind.none
}

/// How a call goes.
enum CallTurn: Equatable {
    case normal
    case short(keeping: UInt64)
    case misdirected
    case overtaken
    /// The power fails during the call: it takes effect, and its caller never learns that.
    case powerCut
}

// The frame of every call.
extension DiskMachine {
    /// Counts a call and decides how it goes.
    mutating func begin(
        _ call: DiskCall, by process: Int, on file: FileDescriptor? = nil, name: String? = nil
    ) throws(SystemError) -> CallTurn {
        guard !isOff, liveProcesses.contains(process) else {
            throw SystemError(.inputOutput, in: call.systemCall)
        }
        callCount += 1
        kindCounts[call.rawValue] += 1
        let name =
            logsCalls || !faults.isEmpty
            ? name ?? file.flatMap { openFiles[$0.rawValue]?.name } ?? "" : ""
        if faults.contains(where: { $0.kind == call && $0.file == name }) {
            fileCounts[call, default: [:]][name, default: 0] += 1
        }
        let turn: CallTurn
        var failure: SystemError?
        do {
            turn = try decide(call, name)
        } catch {
            turn = .normal
            failure = error
        }
        if logsCalls {
            log.append(
                LoggedCall(
                    number: callCount, call: call, name: name,
                    isFaulty: turn != .normal || failure != nil))
        }
        if let failure {
            if let file { fail(call, file, by: process, failure.code) }
            throw failure
        }
        if turn == .powerCut { isOff = true }
        return turn
    }

    /// Ends a call that has taken effect.
    mutating func end(
        _ call: DiskCall, _ turn: CallTurn, hasChanged: Bool = true
    ) throws(SystemError) {
        guard turn != .powerCut else { throw SystemError(.inputOutput, in: call.systemCall) }
        if keepsCrashPoints && hasChanged && call.changesDisk {
            crashPoints.append(CrashPoint(call: callCount, snapshot: DiskSnapshot(medium: medium)))
        }
    }

    private mutating func decide(
        _ call: DiskCall, _ name: String
    ) throws(SystemError) -> CallTurn {
        if callCount == crashAtCall { return .powerCut }
        for fault in faults {
            if let kind = fault.kind, kind != call { continue }
            if let file = fault.file, file != name { continue }
            let number =
                fault.kind == nil
                ? callCount
                : fault.file == nil
                    ? kindCounts[call.rawValue] : fileCounts[call]?[name] ?? 0
            guard fault.isLasting ? number >= fault.number : number == fault.number else {
                continue
            }
            switch fault.effect {
            case .fail(let code): throw SystemError(code, in: call.systemCall)
            case .short: return .short(keeping: UInt64(truncatingIfNeeded: callCount))
            case .misdirected: return .misdirected
            case .overtaken: return .overtaken
            }
        }
        guard call.mayBeInterrupted, misbehaviour != nil else { return .normal }
        return try misbehave(call)
    }

    private mutating func misbehave(_ call: DiskCall) throws(SystemError) -> CallTurn {
        guard case (var generator, let oneIn)? = misbehaviour else { return .normal }
        defer { misbehaviour = (generator, oneIn) }
        guard generator.oneIn(oneIn) else { return .normal }
        if [.read, .readResident, .write].contains(call), generator.oneIn(2) {
            return .short(keeping: generator.next())
        }
        throw SystemError(.interrupted, in: call.systemCall)
    }

    /// What a failing call does all the same.
    private mutating func fail(
        _ call: DiskCall, _ file: FileDescriptor, by process: Int, _ code: SystemError.Code
    ) {
        guard let open = openFiles[file.rawValue], open.process == process else { return }
        switch call {
        case .synchronizeData, .synchronize:
            guard code != .interrupted else { return }
            medium.failSynchronization(open.node)
            // The state has changed, though the call failed.
            _ = try? end(call, .normal)
        case .close: drop(file.rawValue)
        default: break
        }
    }
}

// Descriptors and processes.
extension DiskMachine {
    mutating func makeProcess() -> Int {
        lastProcess += 1
        liveProcesses.insert(lastProcess)
        return lastProcess
    }

    /// Closes all that a process has open; what it wrote stays.
    mutating func kill(_ process: Int) {
        liveProcesses.remove(process)
        for (descriptor, open) in openFiles where open.process == process { drop(descriptor) }
    }

    mutating func killAll() {
        liveProcesses = []
        openFiles = [:]
        isOff = false
        crashAtCall = nil
        faults = []
        misbehaviour = nil
        medium.closeAll()
        resetCalls()
    }

    mutating func crash(seed: UInt64) {
        medium.crash(seed: seed)
        killAll()
    }

    mutating func add(_ open: OpenFile) -> FileDescriptor {
        // Numbers are never used again: a call on a closed descriptor fails for certain.
        lastDescriptor += 1
        openFiles[lastDescriptor] = open
        if case .file(let file) = open.node { medium.withFile(file) { $0.openCount += 1 } }
        return FileDescriptor(rawValue: lastDescriptor)
    }

    mutating func drop(_ descriptor: Int32) {
        guard let open = openFiles.removeValue(forKey: descriptor) else { return }
        if case .file(let file) = open.node { medium.withFile(file) { $0.openCount -= 1 } }
    }

    func find(
        _ file: FileDescriptor, of process: Int, _ call: DiskCall
    ) throws(SystemError) -> OpenFile {
        guard let open = openFiles[file.rawValue], open.process == process else {
            throw SystemError(.badDescriptor, in: call.systemCall)
        }
        return open
    }

    func findFile(
        _ file: FileDescriptor, of process: Int, _ call: DiskCall, writing: Bool = false
    ) throws(SystemError) -> Int {
        let open = try find(file, of: process, call)
        guard case .file(let place) = open.node else {
            throw SystemError(.isDirectory, in: call.systemCall)
        }
        guard !writing || open.isWritable else {
            throw SystemError(.badDescriptor, in: call.systemCall)
        }
        return place
    }

    func findDirectory(
        _ file: FileDescriptor, of process: Int, _ call: DiskCall
    ) throws(SystemError) -> Int {
        guard case .directory(let place) = try find(file, of: process, call).node else {
            throw SystemError(.notDirectory, in: call.systemCall)
        }
        return place
    }

    /// As flock(2): a lock belongs to a descriptor, and a conversion that fails loses the old one.
    mutating func lock(
        _ file: FileDescriptor, _ kind: LockKind, of process: Int
    ) throws(SystemError) -> Bool {
        let node = try find(file, of: process, .lock).node
        openFiles[file.rawValue]?.lock = .none
        let isTaken = openFiles.values.contains { other in
            switch (kind, other.lock) {
            case (.none, _), (_, .none), (.shared, .shared): false
            default: other.node == node
            }
        }
        if !isTaken { openFiles[file.rawValue]?.lock = kind }
        return !isTaken
    }
}
