internal import StratusBytes

/// The locks that processes of this machine hold on files, as Linux lists them.
enum FileLocks {
    /// The processes with a shared flock(2) on a file, each once; none where the system does not tell.
    static func readers(of file: FileStatus, on system: any FileSystem) -> [Int] {
        guard let text = try? contents(system) else { return [] }
        var processes: Set<Int> = []
        // 1: FLOCK  ADVISORY  READ  30308 fe:00:16236745 0 EOF
        for line in text.split(separator: "\n") {
            let words = line.split(separator: " ")
            guard words.count >= 6, words[1] == "FLOCK", words[3] == "READ",
                let process = Int(words[4]), process > 0, words[5] == file.lockName
            else { continue }
            processes.insert(process)
        }
        return processes.sorted()
    }

    private static func contents(_ system: any FileSystem) throws(StorageError) -> String {
        let folder = try OpenFile.directory("/proc", on: system)
        let file = try OpenFile("locks", in: folder, .reading)
        // Its length is said to be 0.
        var bytes: [UInt8] = []
        while bytes.count < 16 << 20 {
            let room = 64 << 10
            let start = bytes.count
            var failure: SystemError?
            bytes.append(addingCapacity: room) { output in
                do throws(SystemError) {
                    _ = try system.read(file.descriptor, into: &output, at: start, .blocking)
                } catch {
                    failure = error
                }
            }
            if let failure { throw StorageError(failure, file: file.name) }
            if bytes.count == start { break }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}

extension FileStatus {
    /// How the list of locks names the file: device and inode.
    fileprivate var lockName: String {
        let major = (device >> 8 & 0xfff) | (device >> 32 & ~0xfff)
        let minor = (device & 0xff) | (device >> 12 & ~0xff)
        return "\(digits(major)):\(digits(minor)):\(inode)"
    }

    private func digits(_ number: UInt64) -> String {
        let text = String(number, radix: 16)
        return text.utf8.count < 2 ? "0" + text : text
    }
}
