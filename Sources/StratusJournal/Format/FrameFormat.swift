internal import StratusBytes

/// The layout of a frame: `Formats/Journal.md`, "Frames".
package enum FrameFormat {
    static let headerChecksum = 0
    static let payloadChecksum = 8
    static let length = 16
    static let ordinal = 20
    /// From here to the end of the frame the payload's checksum holds, wherever the frame lies.
    static let content = 24
    static let version = 24
    static let zone = 32
    static let kind = 36
    static let flags = 37
    static let keyNumber = 38
    package static let headerLength = 40

    static let lastFlag: UInt32 = 1 << 31
    /// An entry flagged last ends with the time of its commit.
    package static let timeLength = 8
    /// The longest payload, in any segment.
    package static let payloadLimit = 16 << 20

    package static func frameLength(payload: Int) -> Int { (headerLength + payload + 7) & ~7 }

    static func seed(salt: UInt64, offset: JournalOffset) -> UInt64 { salt &+ offset.rawValue }
}

/// The header of a frame that was found whole.
package struct FrameHeader: Equatable, Sendable {
    package var kind: EntryKind
    package var zone: UInt32
    package var version: Version
    /// Of the payload, in bytes, the commit time included.
    package var payloadLength: Int
    /// The entry's place in its commit, from 0.
    package var ordinal: UInt32
    /// Whether the commit ends here.
    package var isLast: Bool
    package var payloadChecksum: UInt64

    /// Header, payload and padding, in bytes.
    package var frameLength: Int { FrameFormat.frameLength(payload: payloadLength) }
}

/// Why bytes are no frame.
package enum FrameFault: Error, Equatable, Sendable {
    /// Eight zero bytes or more where a header should be.
    case zero
    case headerChecksum
    case payloadChecksum
    /// The checksum holds, and yet a field has a value that the format does not allow.
    case field(StaticString)
    /// The frame would end behind the place where it may.
    case length

    package static func == (left: FrameFault, right: FrameFault) -> Bool {
        left.description == right.description
    }
}

extension FrameFault: CustomStringConvertible {
    package var description: String {
        switch self {
        case .zero: "no frame"
        case .headerChecksum: "header checksum"
        case .payloadChecksum: "payload checksum"
        case .field(let name): "field \(name)"
        case .length: "length"
        }
    }
}

extension FrameHeader {
    /// Decodes and verifies the header at `place`, before any of it is believed. The frame may
    /// not reach beyond `end`; `place` and `end` are places in `bytes`, though the bytes of the
    /// payload need not be there yet.
    package init(
        _ bytes: Span<UInt8>, at place: Int, end: Int, offset: JournalOffset, salt: UInt64
    ) throws(FrameFault) {
        guard place + FrameFormat.headerLength <= min(bytes.count, end) else { throw .length }
        let stated = bytes.uint64(at: place)
        let checked = place + FrameFormat.payloadChecksum..<place + FrameFormat.headerLength
        if stated == 0, bytes.isZero(in: checked) { throw .zero }
        let seed = FrameFormat.seed(salt: salt, offset: offset)
        guard Checksum.xxh3(bytes, in: checked, seed: seed) == stated else {
            throw .headerChecksum
        }
        self.init(decoding: bytes, at: place)
        guard payloadLength <= FrameFormat.payloadLimit else { throw .field("length") }
        guard kind.rawValue != 0 else { throw .field("kind") }
        guard bytes.uint8(at: place + FrameFormat.flags) == 0 else { throw .field("flags") }
        guard bytes.uint16(at: place + FrameFormat.keyNumber) == 0 else {
            throw .field("keyNumber")
        }
        guard !isLast || payloadLength >= FrameFormat.timeLength else { throw .field("length") }
        guard kind.isEntry || (ordinal == 0 && !isLast) else { throw .field("ordinal") }
        // An entry was written at its own offset first, or is a copy of an earlier one.
        guard !kind.isEntry || (version.offset > .zero && version.offset <= offset) else {
            throw .field("version")
        }
        guard place + frameLength <= end else { throw .length }
    }

    /// Decodes the header at `place`, which was verified before.
    init(decoding bytes: Span<UInt8>, at place: Int) {
        payloadChecksum = bytes.uint64(at: place + FrameFormat.payloadChecksum)
        payloadLength = Int(bytes.uint32(at: place + FrameFormat.length))
        let position = bytes.uint32(at: place + FrameFormat.ordinal)
        ordinal = position & ~FrameFormat.lastFlag
        isLast = position & FrameFormat.lastFlag != 0
        version = Version(rawValue: bytes.uint64(at: place + FrameFormat.version))
        zone = bytes.uint32(at: place + FrameFormat.zone)
        kind = EntryKind(rawValue: bytes.uint8(at: place + FrameFormat.kind))
    }

    /// Verifies the payload of the frame whose header lies at `place`.
    package func verifyPayload(_ bytes: Span<UInt8>, at place: Int) throws(FrameFault) {
        let end = place + frameLength
        guard end <= bytes.count else { throw .length }
        let content = place + FrameFormat.content..<end
        guard Checksum.xxh3(bytes, in: content) == payloadChecksum else {
            throw .payloadChecksum
        }
        let padding = place + FrameFormat.headerLength + payloadLength..<end
        guard bytes.isZero(in: padding) else { throw .field("padding") }
    }
}
