internal import Glibc

/// The names in a directory, as bytes, since a name need not be UTF-8.
struct DirectoryStream {
    /// Without `.` and `..`, in no order.
    let names: NameList

    /// Reads all of `directory` and closes it.
    init(_ directory: FileDescriptor) throws(SystemError) {
        // Safe: the stream takes over the descriptor, which has no other user.
        guard let stream = unsafe fdopendir(directory.rawValue) else {
            let number = errno
            _ = close(directory.rawValue)
            throw SystemError(number: number, in: "fdopendir")
        }
        // Safe: the stream is open until here.
        defer { unsafe closedir(stream) }
        var names = NameList()
        while true {
            errno = 0
            // Safe: the stream is open, and its entry is copied before the next call.
            guard let entry = unsafe readdir(stream) else {
                let number = errno
                if number != 0 { throw SystemError(number: number, in: "readdir") }
                break
            }
            // Safe: d_name is a C string inside the entry.
            let name = unsafe withUnsafeBytes(of: &entry.pointee.d_name) { buffer in
                unsafe Array(buffer.prefix { $0 != 0 })
            }
            if name != [0x2e], name != [0x2e, 0x2e] { names.append(name) }
        }
        self.names = names
    }
}
