internal import StratusBytes
internal import Synchronization

/// A store's files in memory, gone with the process.
package final class MemoryStorage: Storage {
    package let place = "memory"
    private let files = Mutex<[String: MemoryFile]>([:])

    package init() {}

    package func list() throws(StorageError) -> [String] {
        files.withLock { $0.keys.sorted() }
    }

    package func create(
        _ name: String, length: Int
    ) throws(StorageError) -> any StorageFile {
        try add(MemoryFile(name: name, length: length, bytes: []))
    }

    package func open(_ name: String) throws(StorageError) -> any StorageFile {
        try find(name)
    }

    package func put(_ name: String, _ bytes: [UInt8]) throws(StorageError) {
        _ = try add(MemoryFile(name: name, length: bytes.count, bytes: bytes))
    }

    package func delete(_ name: String) throws(StorageError) -> Bool {
        files.withLock { files in
            guard files[name]?.isPinned != true else { return false }
            files[name] = nil
            return true
        }
    }

    package func pin(_ name: String) throws(StorageError) -> any StoragePin {
        // Under the lock, so that the file is not deleted before it is pinned.
        guard let pin = files.withLock({ $0[name].map { CountedPin($0.pins) } }) else {
            throw StorageError(.notFound, file: name)
        }
        return pin
    }

    /// Always true: only the container that made the memory can reach it.
    package func hasWriter() throws(StorageError) -> Bool { true }

    package func fence(
        holding names: [String], without absent: String
    ) throws(StorageError) -> any StorageFence {
        var held: [MemoryFile] = []
        for name in names { held.append(try find(name)) }
        return MemoryFence(storage: self, held: held, absent: absent)
    }

    fileprivate func check(
        _ held: [MemoryFile], without absent: String
    ) throws(StorageError) {
        let wrong = files.withLock { files in
            held.first { files[$0.name] !== $0 }?.name ?? (files[absent] == nil ? nil : absent)
        }
        if let wrong { throw StorageError(.fencedOut, file: wrong) }
    }

    package func writer() throws(StorageError) -> String? { ProcessIdentity.current }

    package func close() {}

    private func find(_ name: String) throws(StorageError) -> MemoryFile {
        guard let file = files.withLock({ $0[name] }) else {
            throw StorageError(.notFound, file: name)
        }
        return file
    }

    private func add(_ file: MemoryFile) throws(StorageError) -> MemoryFile {
        let added = files.withLock { files in
            if files[file.name] != nil { return false }
            files[file.name] = file
            return true
        }
        guard added else { throw StorageError(.exists, file: file.name) }
        return file
    }
}

private struct MemoryFence: StorageFence {
    let storage: MemoryStorage
    let held: [MemoryFile]
    let absent: String

    func check() throws(StorageError) { try storage.check(held, without: absent) }
}

private final class MemoryFile: StorageFile {
    let name: String
    let length: Int
    let pins = PinCount()
    /// What was written; the rest of the length reads as zero and takes no memory.
    private let bytes: Mutex<[UInt8]>

    init(name: String, length: Int, bytes: [UInt8]) {
        self.name = name
        self.length = length
        self.bytes = Mutex(bytes)
    }

    var isPinned: Bool { !pins.isZero }

    func append(
        _ new: Span<UInt8>, at position: Int, _ mode: WriteMode
    ) throws(StorageError) {
        precondition(position + new.count <= length, "an append must fit the file")
        let added = new.array(in: 0..<new.count)
        bytes.withLock { bytes in
            if bytes.count < position {
                bytes.append(contentsOf: repeatElement(0, count: position - bytes.count))
            }
            let end = min(bytes.count, position + added.count)
            bytes.replaceSubrange(position..<end, with: added)
        }
    }

    func reserve(_ range: Range<Int>) throws(StorageError) {}

    func release(_ range: Range<Int>) throws(StorageError) {}

    func rewrite(_ range: Range<Int>) throws(StorageError) {}

    func sync() throws(StorageError) {}

    func read(_ range: Range<Int>, _ mode: ReadMode) throws(StorageError) -> [UInt8] {
        guard range.upperBound <= length else { throw StorageError(.truncated, file: name) }
        return bytes.withLock { bytes in
            let held = Array(
                bytes[min(range.lowerBound, bytes.count)..<min(range.upperBound, bytes.count)])
            return held + repeatElement(0, count: range.count - held.count)
        }
    }
}
