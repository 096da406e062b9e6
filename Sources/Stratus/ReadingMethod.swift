/// How a container reads those files of its store that do not change any more: segments of the journal
/// that are full, and tables of the index. Checksums are verified either way, of what was copied.
public enum ReadingMethod: Sendable {
    /// By a system call for each read.
    case calls
    /// As part of the process's memory. What is read again takes no call, which is about twice as fast
    /// where records lie scattered; what was read counts as memory of the process, beyond the limit, until the
    /// system takes it back.
    ///
    /// For stores that fit into memory. What the system took back is waited for on the thread that
    /// reads, whichever that is. Where the medium fails then, or another program makes such a file
    /// shorter, **the process ends** by the signal SIGBUS, while with calls the read fails with an
    /// error that names the file. What is read for the first time is read by a call.
    case mapped
}
