/// A way through a tree of folders of which one is open at a time: however deep it lies, one step
/// down or up takes the same few calls.
///
/// A walk never leaves the tree, even while other processes replace entries of it: down it follows
/// no link, and up it goes to the folder that it came from, or fails.
struct FolderWalk: Sendable {
    /// The open folder was come to from this one.
    private struct Step: Sendable {
        let outer: FileStatus
        /// How long its path is.
        let pathLength: Int
    }

    private let root: OpenFolder
    private var steps: [Step] = []
    private(set) var folder: OpenFolder
    /// Of the open folder, below the root.
    private(set) var path: [UInt8] = []

    init(at root: OpenFolder) {
        self.root = root
        folder = root
    }

    mutating func enter(_ name: [UInt8]) throws(SystemError) {
        let inner = try folder.folder(name)
        steps.append(Step(outer: try folder.status(), pathLength: path.count))
        if !path.isEmpty { path.append(UInt8(ascii: "/")) }
        path += name
        folder = inner
    }

    /// Goes up one folder. Where the open one was moved to another place meanwhile, the one above is
    /// looked for from the root on. Where it is not there any more either this fails, and the next
    /// call looks for the one above that.
    mutating func leave() throws(SystemError) {
        guard let step = steps.popLast() else { return }
        path.removeLast(path.count - step.pathLength)
        let above = [UInt8](repeating: UInt8(ascii: "."), count: 2)
        if let outer = try? folder.folder(above), let status = try? outer.status(),
            status.isSameFile(as: step.outer)
        {
            folder = outer
        } else {
            folder = try root.folder(at: path)
        }
    }
}
