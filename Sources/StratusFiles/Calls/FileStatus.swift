/// What a file system says of a file or directory. Where two of one file differ, it was changed.
package struct FileStatus: Equatable, Sendable {
    package enum Kind: Equatable, Sendable {
        case file
        case directory
        case link
        /// A device, a pipe, a socket.
        case other
    }

    package var kind: Kind
    /// The twelve lowest bits of the mode: permissions, set-user, set-group, sticky.
    package var permissions: UInt32
    /// In bytes.
    package var length: Int
    /// How many names the file has: 0 once it was unlinked.
    package var links: Int
    /// Device and inode, which together name the file.
    package var device: UInt64
    package var inode: UInt64
    /// When its bytes were changed last.
    package var modified: FileTime
    /// When anything of it was changed last.
    package var changed: FileTime

    package init(
        kind: Kind, permissions: UInt32, length: Int, links: Int, device: UInt64, inode: UInt64,
        modified: FileTime, changed: FileTime
    ) {
        self.kind = kind
        self.permissions = permissions
        self.length = length
        self.links = links
        self.device = device
        self.inode = inode
        self.modified = modified
        self.changed = changed
    }

    /// Whether both are of one file or directory, changed or not.
    package func isSameFile(as other: FileStatus) -> Bool {
        device == other.device && inode == other.inode
    }
}

/// A moment since 1970, as file systems keep it.
package struct FileTime: Equatable, Sendable {
    package var seconds: Int
    /// Less than a second.
    package var nanoseconds: Int

    package init(seconds: Int, nanoseconds: Int) {
        self.seconds = seconds
        self.nanoseconds = nanoseconds
    }

    package init(nanosecondsSince1970 total: Int) {
        let (seconds, rest) = total.quotientAndRemainder(dividingBy: 1_000_000_000)
        self.init(
            seconds: rest < 0 ? seconds - 1 : seconds,
            nanoseconds: rest < 0 ? rest + 1_000_000_000 : rest)
    }

    /// Times that no number holds, before 1678 and after 2262, become the least and the greatest.
    package var nanosecondsSince1970: Int {
        let (whole, over) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        let (sum, overAgain) = whole.addingReportingOverflow(nanoseconds)
        return over || overAgain ? (seconds < 0 ? .min : .max) : sum
    }
}
