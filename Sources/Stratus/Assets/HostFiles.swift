package import StratusFiles
internal import StratusEngine

/// The files of the machine that the requests of a host's callers may name.
package struct HostFiles: Sendable {
    private let bounds: FileBounds
    private let container: Container

    /// The files below `roots`, which are absolute paths; a path that is not absolute begins at the
    /// first. None of them is a file of a store.
    package init(below roots: [String], of container: Container) {
        bounds = .below(roots)
        self.container = container
    }

    /// An asset with the bytes of the file, which is read when it is saved.
    ///
    /// - Throws: ``StoreError`` with `permissionFailure` where a request may not name the path.
    package nonisolated(nonsending) func asset(
        at path: String
    ) async throws(StoreError) -> Asset {
        try await check(path, isNew: false)
        return uncheckedAsset(at: path)
    }

    /// The same without a look at the path first: what is wrong with it shows when it is read.
    package func uncheckedAsset(at path: String) -> Asset {
        Asset(file: FilePlace(path, bounds))
    }

    /// Writes the bytes in `range` of an asset to a file that does not exist.
    ///
    /// - Throws: as ``Asset/write(to:progress:)``.
    package nonisolated(nonsending) func write(
        _ range: Range<Int>, of asset: Asset, to path: String
    ) async throws(StoreError) {
        try await asset.write(to: path, bytes: range, bounds)
    }

    /// Fails where a request may not name the path, whether or not there is such a file.
    package nonisolated(nonsending) func check(
        _ path: String, isNew: Bool
    ) async throws(StoreError) {
        try await answering { () async throws(EngineError) in
            let (bounds, storage) = (bounds, container.foundation.storage)
            let code = try await container.threads.run { () -> SystemError.Code? in
                do throws(SystemError) {
                    try bounds.check(path, isNew: isNew, outside: storage)
                    return nil
                } catch {
                    return error.code
                }
            }
            switch code {
            case .outsideBounds: throw .refused(.outsideBounds)
            case .insideStore: throw .refused(.insideStore)
            // Any other error is that of the opening.
            default: return
            }
        }
    }
}

extension Container {
    /// Begins a file of the machine outside every store.
    package func makeFile(_ path: String, length: Int) throws(SystemError) -> FreshFile {
        let storage = foundation.storage
        return try FreshFile(path, length: length, outside: storage, on: storage.fileSystem)
    }
}
