/// A new file that has no name until it is whole: whatever ends the process before, nothing of it
/// stays. Where the file system knows no files without a name, it has a temporary one meanwhile,
/// which only a death of the process leaves behind.
final class UnnamedFile: Sendable {
    let open: OpenDescriptor
    private let folder: OpenFolder
    private let temporaryName: [UInt8]
    private let isNamed: Bool

    /// An empty file that is to lie in `folder`. Of `permissions` the process's mask is taken off.
    init(in folder: OpenFolder, permissions: UInt32 = 0o600) throws(SystemError) {
        self.folder = folder
        temporaryName = Array(".stratus-\(Randomness.system.next())".utf8)
        do {
            open = try folder.openUnnamed(permissions: permissions)
            isNamed = false
        } catch {
            switch error.code {
            // Not known to the file system, or to the kernel, which then sees a folder opened for
            // writing.
            case .notSupported, .isDirectory, .invalid: break
            default: throw error
            }
            open = try folder.open(
                temporaryName, .creatingExclusively, permissions: permissions)
            isNamed = true
        }
    }

    deinit {
        // Where it was linked there is no such name any more.
        if isNamed { try? folder.unlink(temporaryName) }
    }

    /// Gives the file its name; fails with `.exists` where that is taken.
    func link(as name: [UInt8]) throws(SystemError) {
        if isNamed {
            try folder.rename(temporaryName, to: name, replacing: false)
        } else {
            try folder.link(open, as: name)
        }
    }

    /// Gives the file its name, also where another file has it, which is then gone.
    func replace(_ name: [UInt8]) throws(SystemError) {
        if !isNamed { try folder.link(open, as: temporaryName) }
        do {
            try folder.rename(temporaryName, to: name, replacing: true)
        } catch {
            try? folder.unlink(temporaryName)
            throw error
        }
    }
}
