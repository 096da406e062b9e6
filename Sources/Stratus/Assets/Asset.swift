public import FoundationEssentials
internal import StratusAssets
package import StratusFiles
internal import StratusEngine

/// The value of a field that is too large for a record: bytes of any number, which go between files
/// and the store without ever being in memory as a whole.
///
/// A new asset says where its bytes are; the next save of the record reads them. An asset of a
/// record that was fetched or saved is one of the store: its bytes are read when they are asked
/// for, and until then nothing of them is touched. They are there as long as the record has the
/// asset, and as a snapshot is held in which it has.
///
/// Only the bytes are stored, no name and no dates.
public struct Asset: Sendable {
    indirect enum Source: Sendable {
        case file(FilePlace)
        case data(Data)
        case stream(AssetStream)
        case stored(StoredAsset)
        /// The bytes could not be read.
        case failed(StoreError)
        /// Has to be looked up first, and cannot be saved.
        case request(Request)
    }

    /// What a request of the gateway says of an asset.
    package enum Request: Hashable, Sendable {
        case path(String)
        case receipt(String)
        /// The asset that the record has, or had, under that checksum, and of that size in bytes
        /// where one is given.
        case held(checksum: String, size: Int?)
    }

    package init(_ request: Request) { source = .request(request) }

    /// What a request says, where the asset stands for that.
    package var request: Request? {
        if case .request(let request) = source { request } else { nil }
    }

    let source: Source

    init(_ source: Source) { self.source = source }

    init(_ content: AssetContent, in store: AssetStore?) {
        source = .stored(StoredAsset(content: content, store: store))
    }

    /// The bytes that the file at this path has when the record is saved. A file in the directory of
    /// a store fails the save with `permissionFailure`.
    public init(file path: String) { source = .file(FilePlace(path)) }

    /// The same of the file at `place`.
    package init(file place: FilePlace) { source = .file(place) }

    /// These bytes.
    public init(data: Data) { source = .data(data) }

    /// What the sequence gives, which is read once, while the record is saved. Where it throws, the
    /// record is not saved.
    public init<Bytes: AsyncSequence & Sendable>(stream bytes: Bytes) where Bytes.Element == Data {
        source = .stream(AssetStream(bytes))
    }

    /// How many bytes there are, where that is known without reading them.
    public var size: Int? {
        switch source {
        case .data(let data): data.count
        case .stored(let asset): asset.content.length
        case .file, .stream, .failed, .request: nil
        }
    }

    /// What the bytes of a stored asset are known by, in 64 hexadecimal digits: the same in all
    /// stores (`Formats/Assets.md`, "Digests"). Nil where the asset was not stored.
    public var fileChecksum: String? { content?.digest.description }

    /// What the store has; nil where the asset was not stored.
    var content: AssetContent? {
        if case .stored(let asset) = source { asset.content } else { nil }
    }

    /// The same, with the place where it was found.
    func found(
        in field: String, of record: Record.ID, by reader: AssetAccess? = nil
    ) -> Asset {
        guard case .stored(var asset) = source else { return self }
        asset.reader = reader
        asset.field = field
        asset.record = record
        return Asset(.stored(asset))
    }
}

/// An asset of a store.
struct StoredAsset: Sendable {
    var content: AssetContent
    /// Nil where no bytes can be read: the record was decoded without its store.
    var store: AssetStore?
    /// Where it was found.
    var record: Record.ID?
    var field: String?
    /// Who was given it, and reads it as long as the record may be read; nil: the program itself.
    var reader: AssetAccess?
}

/// Bytes that come once.
final class AssetStream: Sendable {
    private let body: @Sendable (_ take: @Sendable (Data) async throws -> Void) async throws -> Void

    init<Bytes: AsyncSequence & Sendable>(_ bytes: Bytes) where Bytes.Element == Data {
        body = { take in
            for try await data in bytes { try await take(data) }
        }
    }

    /// Gives `take` everything, buffer by buffer.
    func read(_ take: @Sendable (Data) async throws -> Void) async throws {
        try await body(take)
    }
}

extension Asset: Hashable {
    /// Stored assets are equal where their bytes are; others, where they come from the same place.
    public static func == (left: Asset, right: Asset) -> Bool {
        switch (left.source, right.source) {
        case (.file(let left), .file(let right)): left == right
        case (.data(let left), .data(let right)): left == right
        case (.stream(let left), .stream(let right)): left === right
        case (.stored(let left), .stored(let right)):
            left.content.digest == right.content.digest
                && left.content.length == right.content.length
        case (.failed(let left), .failed(let right)): left == right
        case (.request(let left), .request(let right)): left == right
        default: false
        }
    }

    /// By what is compared.
    public func hash(into hasher: inout Hasher) {
        switch source {
        case .file(let place): hasher.combine(place)
        case .data(let data): hasher.combine(data)
        case .stream(let stream): hasher.combine(ObjectIdentifier(stream))
        case .stored(let asset): hasher.combine(asset.content)
        case .failed: hasher.combine(0)
        case .request(let request): hasher.combine(request)
        }
    }
}

/// As a property of a value that becomes a record, and nowhere else.
extension Asset: Codable {
    /// Refused: an asset is read from a record.
    public init(from decoder: any Decoder) throws {
        throw DecodingError.dataCorrupted(
            DecodingError.Context(
                codingPath: decoder.codingPath, debugDescription: "an asset lives in a record"))
    }

    /// Refused: an asset is written to a record.
    public func encode(to encoder: any Encoder) throws {
        throw EncodingError.invalidValue(
            self,
            EncodingError.Context(
                codingPath: encoder.codingPath, debugDescription: "an asset lives in a record"))
    }
}

extension RecordValue {
    /// The asset that it is, or those in the list that it is.
    package var assets: [Asset] {
        switch self {
        case .asset(let asset): [asset]
        case .list(let values): values.flatMap(\.assets)
        default: []
        }
    }

    /// The same with others in the places of its assets, in the order of ``assets``.
    package func mappingAssets<Failure>(
        _ body: (Asset) throws(Failure) -> Asset
    ) throws(Failure) -> RecordValue {
        switch self {
        case .asset(let asset): return .asset(try body(asset))
        case .list(let values):
            return .list(
                try values.map { value throws(Failure) in try value.mappingAssets(body) })
        default: return self
        }
    }

    /// Whether there are any.
    package var hasAssets: Bool {
        switch self {
        case .asset: true
        case .list(let values): values.contains(where: \.hasAssets)
        default: false
        }
    }
}
