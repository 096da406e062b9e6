internal import StratusBytes
internal import Synchronization

/// The writer's lock on a store: flock on a file of its own, since POSIX record locks vanish when
/// any other descriptor on the file is closed. It ends with the process.
final class StoreLock: Sendable {
    static let fileName = "lock"
    private static let holderLimit = 256

    private let file: OpenFile

    /// Takes the lock, or fails with `.locked` and what its holder wrote about itself.
    init(in directory: OpenFile, holder: String) throws(StorageError) {
        file = try OpenFile(Self.fileName, in: directory, .creating)
        guard try Self.take(file) else {
            throw StorageError(.locked(holder: Self.holder(in: file)), file: Self.fileName)
        }
        // Read by people in messages only; nothing is decided by it.
        var text = ByteWriter()
        text.text(String(holder.unicodeScalars.prefix(Self.holderLimit / 4)))
        text.zeros(Self.holderLimit - text.count)
        try file.write(text.bytes.span, at: 0)
    }

    /// Whether a writer holds the lock. It looks by taking the lock for a moment, together with
    /// any number of other readers that look.
    static func isHeld(in directory: OpenFile) throws(StorageError) -> Bool {
        do {
            return try !OpenFile(fileName, in: directory, .reading).lock(.shared)
        } catch {
            if error.kind == .notFound { return false }
            throw error
        }
    }

    /// What the writer that holds the lock wrote about itself; nil where none does.
    static func writer(in directory: OpenFile) throws(StorageError) -> String? {
        guard try isHeld(in: directory) else { return nil }
        return holder(in: try OpenFile(fileName, in: directory, .reading))
    }

    /// A reader that looks whether the lock is held must not keep a writer from it, so a refusal
    /// counts only once it has lasted longer than such a look.
    private static func take(_ file: OpenFile) throws(StorageError) -> Bool {
        for _ in 0..<20 {
            if try file.lock(.exclusive) { return true }
            Thread.pause(microseconds: 1_000)
        }
        return false
    }

    func release() { _ = try? file.lock(.none) }

    private static func holder(in file: OpenFile) -> String {
        guard let length = try? file.status().length,
            let bytes = try? file.read(0..<min(length, holderLimit), .blocking)
        else { return "unknown" }
        return String(decoding: bytes.prefix { $0 >= 0x20 && $0 != 0x7f }, as: UTF8.self)
    }
}
