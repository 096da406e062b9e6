import StratusFiles

/// What a file or directory has besides its bytes or names.
struct DiskAttributes: Sendable {
    /// The twelve lowest bits of the mode.
    var permissions: UInt32
    var modified = FileTime(seconds: 0, nanoseconds: 0)
    var changed = FileTime(seconds: 0, nanoseconds: 0)

    /// What processes do not give to the files that they make.
    static let mask: UInt32 = 0o022

    /// The time of the so many-th change of a disk.
    static func moment(_ number: Int) -> FileTime {
        FileTime(seconds: 1_700_000_000 + number / 1_000_000, nanoseconds: number % 1_000_000)
    }
}
