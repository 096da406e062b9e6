import Synchronization

/// A disk in memory that loses, tears, reorders and refuses what real disks do.
///
/// Code under test gets a ``process()``. Whatever it wrote since the last synchronisation may be on
/// the medium or not, sector by sector, length by length and name by name; ``crash(seed:)``
/// decides. The same seeds and the same calls give the same result. Paths begin at the root, which
/// is also the working directory; there are no links, user IDs, modes or times.
package final class SimulatedDisk: Sendable {
    let machine: Mutex<DiskMachine>

    /// An empty disk.
    package init(options: DiskOptions = DiskOptions()) {
        machine = Mutex(DiskMachine(DiskMedium(options: options)))
    }

    /// A disk as it was when the snapshot was taken, if all processes had been killed then.
    package init(_ snapshot: DiskSnapshot) {
        machine = Mutex(DiskMachine(snapshot.medium))
    }

    /// An independent disk with the same content, pending changes included, and no process.
    package convenience init(copying other: SimulatedDisk) {
        self.init(other.snapshot())
    }

    /// What is on the disk and what is pending, as a value that costs little.
    package func snapshot() -> DiskSnapshot {
        machine.withLock { DiskSnapshot(medium: $0.medium) }
    }

    /// A new process, which has nothing open.
    package func process() -> SimulatedProcess {
        SimulatedProcess(machine.withLock { $0.makeProcess() }, on: self)
    }

    /// Cuts the power, decides what had reached the medium, and switches on again.
    ///
    /// Processes are gone, as after ``killProcesses()``. What the medium holds is durable.
    package func crash(seed: UInt64) {
        machine.withLock { $0.crash(seed: seed) }
    }

    /// Ends all processes as kill -9 does: descriptors and locks go, what was written stays.
    ///
    /// Faults, misbehaviour and ``crashAtCall`` are cleared, the log and the crash points are
    /// forgotten, and calls count from 1 again. Options stay.
    package func killProcesses() {
        machine.withLock { $0.killAll() }
    }
}

// What goes wrong.
extension SimulatedDisk {
    /// What the disk does beyond losing what was not synchronised.
    package var options: DiskOptions {
        get { machine.withLock { $0.medium.options } }
        set { machine.withLock { $0.medium.options = newValue } }
    }

    /// Calls that are to go wrong; of those that hit a call, the first decides.
    package var faults: [DiskFault] {
        get { machine.withLock { $0.faults } }
        set { machine.withLock { $0.faults = newValue } }
    }

    /// The call, counted from 1, in which the power goes.
    ///
    /// It takes effect, which a crash may undo, but fails, as all later calls do, until
    /// ``crash(seed:)``. ``killProcesses()`` instead makes it the death of the processes.
    package var crashAtCall: Int? {
        get { machine.withLock { $0.crashAtCall } }
        set { machine.withLock { $0.crashAtCall = newValue } }
    }

    /// Whether the power is gone.
    package var isOff: Bool { machine.withLock { $0.isOff } }

    /// Interrupts or shortens every `oneIn`-th call on average, by chance; 0 ends that.
    package func misbehave(seed: UInt64, oneIn: Int = 8) {
        machine.withLock { $0.misbehave(seed: seed, oneIn: oneIn) }
    }
}

// What was called.
extension SimulatedDisk {
    /// How many calls were made since the beginning, a crash or ``resetCalls()``.
    package var callCount: Int { machine.withLock { $0.callCount } }

    /// Whether calls are kept in ``log``.
    package var logsCalls: Bool {
        get { machine.withLock { $0.logsCalls } }
        set { machine.withLock { $0.logsCalls = newValue } }
    }

    /// The calls made while ``logsCalls`` was set.
    package var log: [LoggedCall] { machine.withLock { $0.log } }

    /// Whether the disk is kept as it is after every call that changes it.
    package var keepsCrashPoints: Bool {
        get { machine.withLock { $0.keepsCrashPoints } }
        set { machine.withLock { $0.keepsCrashPoints = newValue } }
    }

    /// The disk after every changing call, made while ``keepsCrashPoints`` was set.
    package var crashPoints: [CrashPoint] { machine.withLock { $0.crashPoints } }

    /// Counts calls from 1 again and forgets the log and the crash points.
    package func resetCalls() {
        machine.withLock { $0.resetCalls() }
    }
}

/// A disk at a moment, as a value.
package struct DiskSnapshot: Sendable {
    let medium: DiskMedium
}

/// The disk between two calls.
package struct CrashPoint: Sendable {
    /// The number of the call that had just ended.
    package let call: Int
    /// The disk at that time.
    package let snapshot: DiskSnapshot

    /// An independent disk in that state, on which the power went and came back.
    package func crashed(seed: UInt64) -> SimulatedDisk {
        let disk = SimulatedDisk(snapshot)
        disk.crash(seed: seed)
        return disk
    }
}
