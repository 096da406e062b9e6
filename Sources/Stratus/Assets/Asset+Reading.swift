public import FoundationEssentials
internal import StratusAssets
internal import StratusBytes
package import StratusFiles
internal import Synchronization
internal import StratusEngine

// What an asset holds: in chunks, in memory, or in a file.

extension Asset {
    /// So much room is made for bytes that were not read yet, and so much is read on the calling
    /// thread.
    private static let shortLength = 1 << 20

    /// All bytes, where there are no more than `limit`.
    ///
    /// - Throws: ``StoreError`` with `limitExceeded`, `assetNotAvailable` where the store has the
    ///   bytes no longer, `internalError` with the cause `damaged`, the place, and the record where
    ///   they are not what was written.
    public nonisolated(nonsending) func data(limit: Int) async throws(StoreError) -> Data {
        let size = try answering { () throws(EngineError) in try stored().content.length }
        guard size <= limit else {
            throw StoreError(
                .limitExceeded, "the asset has \(size) bytes, which is more than \(limit)")
        }
        return try await data(in: 0..<size)
    }

    /// The bytes in `range`, which is inside the asset.
    public nonisolated(nonsending) func data(
        in range: Range<Int>
    ) async throws(StoreError) -> Data {
        try await answering { () async throws(EngineError) -> Data in
            let asset = try stored(range)
            guard let threads = asset.store?.threads else { throw .refused(.assetGone) }
            var reader = AssetReader(asset, range)
            // How long an asset says it is shows only as it is read.
            var data = Data(capacity: min(range.count, Self.shortLength))
            // Another thread is asked only where there is much, or something has to be waited for.
            if range.count <= Self.shortLength {
                do throws(EngineError) {
                    while let bytes = try reader.next(.resident) { data.append(contentsOf: bytes) }
                    return data
                } catch {
                    guard error.wouldBlock else { throw error }
                }
            }
            return try await threads.run { [reader, data] in
                var (reader, data) = (reader, data)
                while let bytes = try reader.next() { data.append(contentsOf: bytes) }
                return data
            }
        }
    }

    /// All bytes in chunks of at most 256 KiB, read as they are asked for.
    public func chunks() throws(StoreError) -> AssetChunks {
        try answering { () throws(EngineError) in AssetChunks(try stored(), nil) }
    }

    /// The bytes in `range`, which is inside the asset, in chunks.
    public func chunks(in range: Range<Int>) throws(StoreError) -> AssetChunks {
        try answering { () throws(EngineError) in
            AssetChunks(try stored(range), range)
        }
    }

    /// Writes all bytes to the file `path`, which must not exist. Other users cannot read the file,
    /// and it is there whole and durable or not at all. Fails with `permissionFailure` where it
    /// would lie in the directory of a store.
    ///
    /// - Parameter progress: is told how many bytes were written, and of how many, often, and from
    ///   any thread.
    public nonisolated(nonsending) func write(
        to path: String, progress: (@Sendable (TransferProgress) -> Void)? = nil
    ) async throws(StoreError) {
        let size = try answering { () throws(EngineError) in try stored().content.length }
        try await write(to: path, bytes: 0..<size, .anywhere, progress)
    }

    /// The same of the bytes in `range`, to a path inside `bounds`.
    package nonisolated(nonsending) func write(
        to path: String, bytes range: Range<Int>, _ bounds: FileBounds = .anywhere,
        _ progress: (@Sendable (TransferProgress) -> Void)? = nil
    ) async throws(StoreError) {
        try await answering { () async throws(EngineError) in
            let asset = try stored(range)
            guard let threads = asset.store?.uploads else { throw .refused(.assetGone) }
            let flag = CancelFlag()
            let result = await withTaskCancellationHandler {
                await threads.outcome { try asset.write(range, to: path, bounds, flag, progress) }
            } onCancel: {
                flag.set()
            }
            do { try result.get() } catch { throw EngineError(translating: error) }
        }
    }

    /// Writes all bytes to a fresh file under the directory for temporary files, and returns its
    /// path. It is the caller's: no other fetch writes to it or takes it away.
    public nonisolated(nonsending) func temporaryFile() async throws(StoreError) -> String {
        let folder = FileManager.default.temporaryDirectory.path
        let path = "\(folder)/stratus-asset-\(UUID().uuidString.lowercased())"
        try await write(to: path)
        return path
    }

    /// Whether the file has the same bytes.
    package nonisolated(nonsending) func hasBytes(
        ofFile place: FilePlace
    ) async throws(StoreError) -> Bool {
        try await answering { () async throws(EngineError) -> Bool in
            let asset = try stored()
            guard let store = asset.store else { throw .refused(.assetGone) }
            return try await store.uploads.run {
                let file = try SourceFile(place, on: store.storage.fileSystem)
                guard file.isMeant, file.status.length == asset.content.length else { return false }
                var reader = AssetReader(asset)
                var position = 0
                while let bytes = try reader.next() {
                    var rest = bytes
                    while !rest.isEmpty {
                        let read = try file.read(at: position, upTo: rest.count)
                        guard !read.isEmpty, rest.starts(with: read) else { return false }
                        rest = rest.dropFirst(read.count)
                        position += read.count
                    }
                }
                return true
            }
        }
    }

    func stored(_ range: Range<Int>? = nil) throws(EngineError) -> StoredAsset {
        switch source {
        case .stored(let asset):
            guard let range else { return asset }
            guard range.lowerBound >= 0, range.upperBound <= asset.content.length else {
                throw .refused(
                    .invalidArguments,
                    "the range is not inside the asset, which has "
                        + "\(asset.content.length) bytes")
            }
            return asset
        case .failed(let error): throw .refused(error)
        case .file, .data, .stream, .request:
            throw .refused(.assetNotAvailable, "the asset was not saved yet")
        }
    }
}

/// The bytes of an asset, chunk by chunk.
public struct AssetChunks: AsyncSequence, Sendable {
    /// A chunk.
    public typealias Element = Data
    /// Why there is no next chunk.
    public typealias Failure = StoreError

    private let asset: StoredAsset
    private let range: Range<Int>?

    init(_ asset: StoredAsset, _ range: Range<Int>?) {
        self.asset = asset
        self.range = range
    }

    /// Reads from the beginning.
    public func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(reader: AssetReader(asset, range), threads: asset.store?.threads)
    }

    /// Reads one chunk after the other.
    public struct AsyncIterator: AsyncIteratorProtocol {
        fileprivate var reader: AssetReader
        fileprivate let threads: IOThreads?

        /// The next chunk; nil at the end.
        public mutating func next() async throws(StoreError) -> Data? {
            try await answering { () async throws(EngineError) -> Data? in
                guard let threads else { throw .refused(.assetGone) }
                do throws(EngineError) {
                    return try reader.next(.resident).map { Data($0) }
                } catch {
                    guard error.wouldBlock else { throw error }
                }
                let bytes: ArraySlice<UInt8>?
                (bytes, reader) = try await threads.run { [reader] in
                    var reader = reader
                    return (try reader.next(), reader)
                }
                return bytes.map { Data($0) }
            }
        }

        /// The next chunk; nil at the end.
        public mutating func next(
            isolation actor: isolated (any Actor)?
        ) async throws(StoreError) -> Data? {
            try await next()
        }
    }
}

/// Set once, when no more is wanted.
final class CancelFlag: Sendable {
    private let isSetNow = Atomic(false)

    var isSet: Bool { isSetNow.load(ordering: .relaxed) }
    func set() { isSetNow.store(true, ordering: .relaxed) }
}

extension StoredAsset {
    /// Through memory, where all bytes are verified: a copy within the file system would save no
    /// reading, and can share no blocks (`Formats/Assets.md`, "Validity").
    func write(
        _ range: Range<Int>, to path: String, _ bounds: FileBounds, _ flag: CancelFlag,
        _ progress: ((TransferProgress) -> Void)?
    ) throws {
        do {
            guard let storage = store?.storage else { throw EngineError.refused(.assetGone) }
            let file = try FreshFile(
                path, length: range.count, bounds, outside: storage, on: storage.fileSystem)
            var reader = AssetReader(self, range) { slices, place throws(EngineError) in
                do throws(SystemError) {
                    try file.write(slices, at: place)
                } catch {
                    throw .refused(StoreError(writingFile: error, path))
                }
            }
            try reader.useAll { position throws(EngineError) in
                if flag.isSet {
                    throw .refused(.operationCancelled, "cancelled while the asset was written")
                }
                progress?(TransferProgress(completedBytes: position, totalBytes: range.count))
            }
            try file.place()
        } catch let error as SystemError {
            throw StoreError(writingFile: error, path)
        }
    }
}

extension StoreError {
    static let outsideBounds = StoreError(
        .permissionFailure,
        "expected a path below a directory that the host permits, found one that leads elsewhere")
    static let insideStore = StoreError(
        .permissionFailure,
        "expected a path outside every store, found one that leads into the directory of a store")

    init(writingFile error: SystemError, _ path: String) {
        self =
            switch error.code {
            case .exists: StoreError(.invalidArguments, "something of that name is there already")
            case .outsideBounds: .outsideBounds
            case .insideStore: .insideStore
            case .notFound, .notDirectory:
                StoreError(.unknownItem, "there is no directory for it")
            case .permission:
                StoreError(.permissionFailure, "the file system does not permit to write it")
            case .noSpace: StoreError(.quotaExceeded, "no space is left for it")
            case .nameTooLong: StoreError(.unknownItem, "its name is too long")
            default: StoreError(.internalError, "the file cannot be written")
            }
        cause = .inputOutput("\(path) (\(error))")
    }
}
