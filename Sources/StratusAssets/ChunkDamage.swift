package import StratusFiles

/// Bytes of a chunk segment are not what was written.
package struct ChunkDamage: Error, Equatable, Sendable {
    package enum Kind: Error, Equatable, Sendable {
        /// The first bytes of a segment; the word names the field.
        case header(StaticString)
        /// A chunk's frame; the word names the field.
        case frame(StaticString)
        /// Another chunk stands where this one should.
        case otherChunk
        case newerFormat(UInt16)
        /// A chunk is stored in a way that this code does not know.
        case newerEncoding(UInt8)
        /// There is no such segment.
        case missing
        /// A list of extents is not one of the asset that names it, or a chunk of another length.
        case list

        package static func == (left: Kind, right: Kind) -> Bool {
            left.identifier == right.identifier
        }

        /// Whether the bytes may be right, and a newer version knows what they mean.
        package var isNewer: Bool {
            switch self {
            case .newerFormat, .newerEncoding: true
            default: false
            }
        }

        /// A stable name.
        package var identifier: String {
            switch self {
            case .header(let field): "chunk segment.\(field)"
            case .frame(let field): "chunk.\(field)"
            case .otherChunk: "chunk.other"
            case .newerFormat: "chunk segment.newer format"
            case .newerEncoding(let encoding): "chunk.newer encoding \(encoding)"
            case .missing: "chunk segment.missing"
            case .list: "chunk.list"
            }
        }
    }

    package var kind: Kind
    package var file: String
    /// From the start of the file.
    package var byte: Int

    package init(_ kind: Kind, file: String, byte: Int) {
        self.kind = kind
        self.file = file
        self.byte = byte
    }
}

/// Why chunks cannot be read or written.
package enum ChunkError: Error, Equatable, Sendable {
    case damaged(ChunkDamage)
    case storage(StorageError)
    /// The caller's lookup of a chunk's place failed; the caller has kept the reason.
    case refused
    /// Nothing is written any more.
    case closed
}
