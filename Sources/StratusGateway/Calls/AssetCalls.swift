internal import FoundationEssentials
internal import Stratus

/// Stores a file as an asset that a record can be given later.
struct UploadAsset: Call {
    enum Key: String { case path }

    private let path: String

    init(_ keys: JSONKeys<Key>) throws(Mismatch) { path = try keys.required(.path) }

    func run(in session: Session) async throws(StoreError) -> JSONObject {
        _ = try session.user()
        let file = try await session.files.asset(at: path)
        let (asset, receipt) = try await session.database().store(file)
        var object = session.writer().json(asset)
        object.append("receipt", .string(receipt))
        return object
    }
}

/// Writes an asset, or a part of it, to a file that does not exist.
struct DownloadAsset: Call {
    enum Key: String { case recordName, zoneID, fieldName, path, offset, length }

    private let id: Record.ID
    private let field: String
    private let path: String
    private let offset: Int?
    private let length: Int?

    init(_ keys: JSONKeys<Key>) throws(Mismatch) {
        let zone = try keys.optional(.zoneID, as: ZoneIDInput.self)?.id ?? .default
        id = Record.ID(recordName: try keys.required(.recordName), zoneID: zone)
        field = try keys.required(.fieldName)
        path = try keys.required(.path)
        offset = try keys.optional(.offset)
        length = try keys.optional(.length)
        guard offset ?? 0 >= 0 else { try keys.refuse(.offset, "is less than 0") }
        guard length ?? 0 >= 0 else { try keys.refuse(.length, "is less than 0") }
    }

    func run(in session: Session) async throws(StoreError) -> JSONObject {
        let files = session.files
        try await files.check(path, isNew: true)
        let record = try await session.database().record(for: id, desiredKeys: [field])
        guard let asset = record[field]?.assetValue, let size = asset.size else {
            throw StoreError(.assetNotAvailable, "the record has no asset in that field")
        }
        let start = min(offset ?? 0, size)
        try await files.write(
            start..<start + min(length ?? .max, size - start), of: asset, to: path)
        return session.writer().json(asset)
    }
}

extension Session {
    /// The files that the host permits. A path that is not absolute begins at the directory with the
    /// longest path: the one that permits least.
    var files: HostFiles {
        let roots = gateway.grants.compactMap { grant in
            if case .files(let root) = grant, root.utf8.first == UInt8(ascii: "/") {
                root
            } else {
                nil
            }
        }
        return HostFiles(
            below: roots.sorted { ($1.utf8.count, $0) < ($0.utf8.count, $1) }, of: container)
    }

    /// Fails where the host does not permit a file that is opened by its path. It begins nowhere else
    /// than at the root: what the process takes for its directory the caller does not know.
    func checkFile(_ path: String, isNew: Bool = false) async throws(StoreError) {
        guard path.hasPrefix("/") else {
            throw StoreError(
                .invalidArguments, "expected a path from the root on, found '\(path)'")
        }
        try await files.check(path, isNew: isNew)
    }

    /// The record with the assets that a request names by a path; what a receipt stands for the
    /// database knows.
    func resolvingAssets(
        _ item: RecordItem
    ) async throws(StoreError) -> RecordItem {
        guard case .save(var record, let rule) = item else { return item }
        for key in record.changedKeys {
            guard let value = record[key] else { continue }
            if let resolved = try await resolve(value) { record[key] = resolved }
        }
        return .save(record, rule)
    }

    /// Nil where there is nothing to resolve.
    private func resolve(_ value: RecordValue) async throws(StoreError) -> RecordValue? {
        switch value {
        case .asset(let asset):
            guard case .path(let path)? = asset.request else { return nil }
            return .asset(try await files.asset(at: path))
        case .list(let values):
            guard case .asset? = values.first else { return nil }
            var list: [RecordValue] = []
            for value in values { list.append(try await resolve(value) ?? value) }
            return .list(list)
        default: return nil
        }
    }
}

/// An asset as a request gives it.
struct AssetInput: JSONBody {
    enum Key: String {
        case path, receipt, fileChecksum, size
        // What Web Services knows and this build has no use for.
        case referenceChecksum, wrappingKey, downloadURL
    }

    let asset: Asset

    init(_ keys: JSONKeys<Key>) throws(Mismatch) {
        let path: String? = try keys.optional(.path)
        let receipt: String? = try keys.optional(.receipt)
        let checksum: String? = try keys.optional(.fileChecksum)
        let size = try keys.optional(.size, as: WholeNumber.self)?.value
        switch (path, receipt, checksum) {
        case (let path?, nil, _): asset = Asset(.path(path))
        case (nil, let receipt?, _): asset = Asset(.receipt(receipt))
        case (nil, nil, let checksum?): asset = Asset(.held(checksum: checksum, size: size))
        default:
            throw Mismatch("has either a path, or a receipt, or the fileChecksum of an asset")
        }
    }

    /// Whether an object is an asset where nothing says its type.
    static func isAsset(_ object: JSONObject) -> Bool {
        [Key.path, .receipt, .fileChecksum].contains { object[$0.rawValue] != nil }
    }
}
