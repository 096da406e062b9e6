internal import StratusBytes

/// The lock of a store's writer: flock(2) on the store's directory.
///
/// A file in the directory could be removed or replaced under its holder, and POSIX record locks
/// vanish when any other descriptor on the file is closed. This lock ends with the process.
final class StoreLock: Sendable {
    /// Who holds the lock, for messages only; nothing is decided by it.
    static let holderFile = "writer"
    private static let holderLimit = 256

    private let directory: OpenFile

    /// Takes the lock, or fails with `.locked` and what its holder wrote about itself.
    init(on directory: OpenFile, holder: String) throws(StorageError) {
        self.directory = directory
        guard try Self.take(directory) else {
            let name = Self.holder(in: directory) ?? "another process"
            throw StorageError(.locked(holder: name), file: Self.holderFile)
        }
        do {
            var text = ByteWriter()
            text.text(String(holder.unicodeScalars.prefix(Self.holderLimit / 4)))
            text.zeros(Self.holderLimit - text.count)
            let file = try OpenFile(Self.holderFile, in: directory, .creating)
            try file.write(text.bytes.span, at: 0)
        } catch {
            release()
            throw error
        }
    }

    /// Whether a writer holds the lock. Looking takes a shared lock for a moment.
    static func isHeld(on directory: OpenFile) throws(StorageError) -> Bool {
        guard try directory.lock(.shared) else { return true }
        _ = try directory.lock(.none)
        return false
    }

    /// What the last writer wrote about itself; nil where that cannot be read.
    static func holder(in directory: OpenFile) -> String? {
        guard let file = try? OpenFile(holderFile, in: directory, .reading),
            let length = try? file.status().length,
            let bytes = try? file.read(0..<min(length, holderLimit), .blocking)
        else { return nil }
        let text = bytes.prefix { $0 >= 0x20 && $0 != 0x7f }
        return text.isEmpty ? nil : String(decoding: text, as: UTF8.self)
    }

    /// What the writer that holds the lock wrote about itself; nil where none holds it.
    static func writer(of directory: OpenFile) throws(StorageError) -> String? {
        try isHeld(on: directory) ? holder(in: directory) ?? "another process" : nil
    }

    /// A reader that looks whether the lock is held must not keep a writer from it, so a refusal
    /// counts only once it has lasted longer than such a look.
    private static func take(_ directory: OpenFile) throws(StorageError) -> Bool {
        for _ in 0..<20 {
            if try directory.lock(.exclusive) { return true }
            Thread.pause(microseconds: 1_000)
        }
        return false
    }

    func release() { _ = try? directory.lock(.none) }
}
