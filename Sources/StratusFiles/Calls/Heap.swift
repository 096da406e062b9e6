internal import CLinux

/// The allocator of the process.
package enum Heap {
    /// Blocks of 1 MiB and more are mapped each for itself, and go back when they are freed; of the
    /// rest, 4 MiB are kept when they are free.
    ///
    /// By itself glibc lets large blocks into the heap once one was freed, where small blocks that
    /// live longer keep what they leave: with ten million records twice the memory limit was taken.
    /// Told not to, it gives back whatever is free above 128 KiB, which the next page of records
    /// asks for again: that was a quarter of the time of a first sync. They are settings of the
    /// whole process.
    package static func prepare() { clinux_set_heap(1 << 20, 4 << 20) }
}
