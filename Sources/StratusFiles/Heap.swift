internal import CLinux

/// The allocator of the process.
package enum Heap {
    /// Blocks of 1 MiB and more are mapped each for itself, and go back when they are freed.
    ///
    /// By itself glibc lets them into the heap once one was freed, where small blocks that live
    /// longer keep what they leave: with ten million records twice the memory limit was taken. It
    /// is a setting of the whole process.
    package static func mapLargeBlocks() { clinux_map_blocks_from(1 << 20) }
}
