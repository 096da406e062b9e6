package import StratusFiles

// Files of the machine that runs the tests.

extension FileTree {
    package convenience init(_ path: String) throws(SystemError) {
        try self.init(path, on: LinuxFileSystem())
    }
}

extension TreeWriter {
    package convenience init(_ path: String) throws(SystemError) {
        try self.init(path, on: LinuxFileSystem())
    }
}

extension FreshFile {
    package convenience init(_ path: String, length: Int) throws(SystemError) {
        try self.init(path, length: length, on: LinuxFileSystem())
    }

    package convenience init?(replacing path: String) {
        self.init(replacing: path, on: LinuxFileSystem())
    }
}

extension SourceFile {
    package convenience init(_ place: FilePlace) throws(SystemError) {
        try self.init(place, on: LinuxFileSystem())
    }
}
