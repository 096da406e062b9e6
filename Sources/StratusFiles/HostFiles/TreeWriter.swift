/// A directory of the machine that is being made anew, the counterpart of ``FileTree``. Nothing is
/// made outside it, even while other processes replace entries of it.
package final class TreeWriter: Sendable {
    private let root: OpenFolder

    /// Makes the directory `path`, which must not exist. Other users have no access to it.
    package init(
        _ path: String, on system: any FileSystem
    ) throws(SystemError) {
        try retrying { () throws(SystemError) in try system.makeDirectory(path) }
        root = try OpenFolder(at: path, on: system)
    }

    /// Whether an entry may have that name.
    package static func isName(_ name: [UInt8]) -> Bool {
        !name.isEmpty && name.count <= 255 && name != [UInt8(ascii: ".")]
            && name != [UInt8(ascii: "."), UInt8(ascii: ".")]
            && !name.contains(0) && !name.contains(UInt8(ascii: "/"))
    }

    /// PATH_MAX of Linux, in bytes, with the zero at the end.
    private static let targetLimit = 4096

    /// Whether a link may point there.
    package static func isTarget(_ target: [UInt8]) -> Bool {
        !target.isEmpty && target.count < targetLimit && !target.contains(0)
    }

    /// A folder that was made; the root at the path of no names.
    package func folder(_ path: [UInt8]) throws(SystemError) -> Folder {
        Folder(folder: try root.folder(at: path))
    }

    /// A way through the tree that begins at its root.
    package func walk() -> Walk { Walk(steps: FolderWalk(at: root)) }

    /// One folder of the tree after another, each a step from the one before.
    package struct Walk: Sendable {
        fileprivate var steps: FolderWalk

        /// Where the way has led to.
        package var folder: Folder { Folder(folder: steps.folder) }

        /// Its path.
        package var path: [UInt8] { steps.path }

        /// Goes into a folder of ``folder``.
        package mutating func enter(_ name: [UInt8]) throws(SystemError) { try steps.enter(name) }

        /// Goes back to the folder above.
        package mutating func leave() throws(SystemError) { try steps.leave() }
    }

    /// A folder of the tree. Names that are taken are refused with `.exists`.
    package struct Folder: Sendable {
        fileprivate let folder: OpenFolder

        package func makeFolder(_ name: [UInt8]) throws(SystemError) {
            try folder.makeFolder(name)
        }

        /// Begins a file of at most `length` bytes.
        package func makeFile(_ name: [UInt8], length: Int) throws(SystemError) -> TreeFile {
            try TreeFile(folder, name, length)
        }

        /// Makes a link that points to `target`.
        package func makeLink(
            _ name: [UInt8], to target: [UInt8], modifiedNanoseconds: Int
        ) throws(SystemError) {
            try folder.makeLink(name, to: target)
            try folder.setTimes(name, FileTime(nanosecondsSince1970: modifiedNanoseconds))
        }

        /// Gives the folder, once it is complete, what it had.
        package func finish(mode: Int, modifiedNanoseconds: Int) throws(SystemError) {
            try folder.finish(mode: mode, FileTime(nanosecondsSince1970: modifiedNanoseconds))
        }
    }
}

/// A file of a tree, being written. It has no name before it is finished; given up, or with the end
/// of the process, it is gone.
package final class TreeFile: Sendable {
    private let name: [UInt8]
    private let file: UnnamedFile
    private let content: NewFile

    fileprivate init(
        _ folder: OpenFolder, _ name: [UInt8], _ length: Int
    ) throws(SystemError) {
        self.name = name
        file = try UnnamedFile(in: folder)
        // A tree is more than memory should hold back from the disk, or keep.
        content = NewFile(file.open, length: length, .streamed)
    }

    /// Writes `slices` one after the other from `position` on. Several threads may.
    package func write(
        _ slices: [ArraySlice<UInt8>], at position: Int
    ) throws(SystemError) {
        try content.write(slices, at: position)
    }

    /// Gives the file, which is whole now, what it has besides its bytes, and then its name; fails
    /// with `.exists` where that is taken.
    package func finish(mode: Int, modifiedNanoseconds: Int) throws(SystemError) {
        try file.open.finish(
            mode: mode, FileTime(nanosecondsSince1970: modifiedNanoseconds))
        try file.link(as: name)
    }
}
