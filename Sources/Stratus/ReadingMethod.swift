/// How a container reads those files of its store that do not change any more: segments of the journal
/// that are full, and tables of the index. Checksums are verified either way, of what was copied.
public enum ReadingMethod: Sendable {
    /// By a system call for each read.
    case calls
    /// As part of the process's memory: what is read again takes no call, so that scattered reads take a
    /// quarter less CPU time (`Tools/benchmarks/README.md`). What was read counts as memory of the
    /// process, beyond the limit, until the system drops it.
    ///
    /// For stores that fit into memory. Pages are read by a call the first time, which fails with an
    /// error where the medium does. Later a thread waits for pages that the system has dropped, also in a
    /// call that must not wait; where the medium fails then, or another program makes such a file
    /// shorter, **the process ends** by the signal SIGBUS.
    case mapped
}
