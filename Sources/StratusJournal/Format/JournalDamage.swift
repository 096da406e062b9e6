internal import StratusBytes

/// Bytes on disk that are not what was written, and where.
package struct JournalDamage: Error, Equatable, Sendable {
    package enum Kind: Equatable, Sendable {
        /// A frame that should be there is not whole.
        case frame(FrameFault)
        /// A group frame contradicts what was read before it; the word names the field.
        case group(StaticString)
        /// The chain does not continue: a group is missing, added, exchanged or moved.
        case chain
        /// A commit's entries are not in their order, or its last one is missing.
        case commit
        case segmentHeader(StaticString)
        /// In a compacted segment; the word says what.
        case compacted(StaticString)
        /// A trailer says something else than the segment holds.
        case trailer
        case manifest(StaticString)
        /// A checkpoint that is of no use, and why; the store is whole without it.
        case checkpoint(StaticString)
        /// A file that the manifest lists is not there.
        case missingFile
        /// A file is shorter or longer than it should be.
        case fileLength
        /// A frame of a kind that this version does not know and may not pass over.
        case unknownKind(UInt8)
        /// Written in a format of this version, which is newer than this code reads.
        case newerFormat(UInt16)
        /// Uses features of this set, of which this code does not know all.
        case newerFeatures(UInt32)
        /// A segment whose entries lie in a way that this code does not know.
        case newerLayout(UInt32)
        /// Has something that this code does not know and may not ignore; the word says what.
        case newerPart(StaticString)
        /// An entry whose frame is whole and whose payload has no meaning.
        case payload(StaticString)
        /// In a file of the layer above; the word is its own.
        case above(String)

        package static func == (left: Kind, right: Kind) -> Bool {
            left.identifier == right.identifier
        }
    }

    package var kind: Kind
    package var file: String
    /// Where in the file, in bytes from its start: the beginning of what is not whole.
    package var byte: Int
    /// The same place in the journal, where it has one.
    package var offset: JournalOffset?

    /// Whether the bytes may be right, and a newer version knows what they mean.
    package var isNewer: Bool {
        switch kind {
        case .newerFormat, .newerFeatures, .newerLayout, .newerPart, .unknownKind,
            .frame(.newerFlags):
            true
        default: false
        }
    }

    /// Whether the frame is whole, and its payload is at fault.
    var isOfPayload: Bool { if case .payload = kind { true } else { false } }

    /// Whether no frame begins at the place, which is damage only where one should.
    package var isNoFrame: Bool {
        switch kind {
        case .frame(.zero), .frame(.headerChecksum), .frame(.length): true
        default: false
        }
    }

    package init(_ kind: Kind, file: String, byte: Int, offset: JournalOffset? = nil) {
        self.kind = kind
        self.file = file
        self.byte = byte
        self.offset = offset
    }
}

extension JournalDamage.Kind {
    /// A stable name for scripts: `frame.payload checksum`, `chain`, …
    package var identifier: String {
        switch self {
        case .frame(let fault): "frame.\(fault)"
        case .group(let field): "group.\(field)"
        case .chain: "chain"
        case .commit: "commit"
        case .segmentHeader(let field): "segment.\(field)"
        case .compacted(let field): "compacted.\(field)"
        case .trailer: "trailer"
        case .manifest(let field): "manifest.\(field)"
        case .checkpoint(let field): "checkpoint.\(field)"
        case .missingFile: "file.missing"
        case .fileLength: "file.length"
        case .unknownKind(let kind): "frame.unknown kind \(kind)"
        case .newerFormat(let version): "format.newer \(version)"
        case .newerFeatures(let features): "format.newer features \(Hex.encode(features))"
        case .newerLayout(let layout): "format.newer layout \(layout)"
        case .newerPart(let what): "format.newer \(what)"
        case .payload(let field): "payload.\(field)"
        case .above(let word): word
        }
    }
}

extension JournalDamage: CustomStringConvertible {
    package var description: String { "\(file), byte \(byte): \(kind.identifier)" }
}
