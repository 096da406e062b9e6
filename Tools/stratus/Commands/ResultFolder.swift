import StratusFiles

/// A directory that a command writes files into.
struct ResultFolder {
    private let path: String

    /// Makes the directory where there is none; fails where it is that of a store, or in one.
    init(_ path: String) throws(ToolError) {
        self.path = path.hasSuffix("/") ? path : path + "/"
        do throws(SystemError) {
            try FileBounds.checkOutsideStores(path, on: LinuxFileSystem())
            try Self.make(path)
            try FileBounds.checkOutsideStores(file("file"), on: LinuxFileSystem())
        } catch {
            throw ToolError(error, "cannot write to the directory", path)
        }
    }

    private static func make(_ path: String) throws(SystemError) {
        do throws(SystemError) {
            try LinuxFileSystem().makeDirectory(path)
        } catch {
            if error.code != .exists { throw error }
        }
    }

    /// The path of a file in it.
    func file(_ name: String) -> String { path + name }
}
