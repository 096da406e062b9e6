internal import StratusBytes

/// The layout of a frame: `Formats/Journal.md`, "Frames".
///
/// A frame is its place in the journal and in its commit, which a copy of it changes, and its
/// content, which a copy keeps with its checksum.
package enum FrameFormat {
    static let headerChecksum = 0
    static let payloadChecksum = 8
    static let length = 16
    static let ordinal = 20
    /// Only an entry flagged last has it: its content begins as many bytes later.
    static let time = 24
    static let timeLength = 8
    static let lastFlag: UInt32 = 1 << 31

    // Of the content.
    static let version = 0
    static let zone = 8
    static let kind = 12
    static let flags = 13
    static let reserved = 14
    private static let contentHeaderLength = 16

    /// Where the content begins in a frame.
    static func content(isLast: Bool) -> Int { isLast ? time + timeLength : time }

    /// Everything before the payload, in bytes: of an entry that is not flagged last, and the
    /// most.
    package static let headerLength = 40
    static let greatestHeaderLength = 48
    static func headerLength(isLast: Bool) -> Int {
        content(isLast: isLast) + contentHeaderLength
    }

    /// The longest payload, in any segment.
    package static let payloadLimit = 16 << 20

    package static func frameLength(payload: Int, isLast: Bool = false) -> Int {
        (headerLength(isLast: isLast) + payload + 7) & ~7
    }

    static func seed(salt: UInt64, offset: JournalOffset) -> UInt64 { salt &+ offset.rawValue }
}

/// The header of a frame that was found whole.
package struct FrameHeader: Equatable, Sendable {
    package var kind: EntryKind
    package var zone: UInt32
    package var version: Version
    /// In bytes.
    package var payloadLength: Int
    /// The entry's place in its commit, from 0.
    package var ordinal: UInt32
    /// In microseconds since 1970. Only the last entry of a commit has it.
    package var commitTime: Int64?
    package var payloadChecksum: UInt64

    /// Whether the commit ends here.
    package var isLast: Bool { commitTime != nil }

    /// Everything before the payload, in bytes.
    var headerLength: Int { FrameFormat.headerLength(isLast: isLast) }

    /// Header, payload and padding, in bytes.
    package var frameLength: Int {
        FrameFormat.frameLength(payload: payloadLength, isLast: isLast)
    }
}

/// Why bytes are no frame.
package enum FrameFault: Error, Equatable, Sendable {
    /// Eight zero bytes or more where a header should be.
    case zero
    case headerChecksum
    case payloadChecksum
    /// The checksum holds, and yet a field has a value that the format does not allow.
    case field(StaticString)
    /// The checksum holds, and the frame has flags that this version does not know.
    case newerFlags(UInt8)
    /// The frame would end behind the place where it may.
    case length

    package static func == (left: FrameFault, right: FrameFault) -> Bool {
        left.description == right.description
    }
}

extension FrameFault {
    /// Whether the header's checksum holds: the frame was written so, and no crash does that.
    var isOfWholeHeader: Bool {
        switch self {
        case .field, .newerFlags: true
        case .zero, .headerChecksum, .payloadChecksum, .length: false
        }
    }
}

extension FrameFault: CustomStringConvertible {
    package var description: String {
        switch self {
        case .zero: "no frame"
        case .headerChecksum: "header checksum"
        case .payloadChecksum: "payload checksum"
        case .field(let name): "field \(name)"
        case .newerFlags(let flags): "newer flags \(flags)"
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
        let limit = min(bytes.count, end)
        guard place + FrameFormat.headerLength <= limit else { throw .length }
        let stated = bytes.uint64(at: place)
        let isLast = Self.isLast(bytes, at: place)
        let headerEnd = place + FrameFormat.headerLength(isLast: isLast)
        guard headerEnd <= limit else { throw .length }
        let checked = place + FrameFormat.payloadChecksum..<headerEnd
        if stated == 0, bytes.isZero(in: checked) { throw .zero }
        let seed = FrameFormat.seed(salt: salt, offset: offset)
        guard Checksum.xxh3(bytes, in: checked, seed: seed) == stated else {
            throw .headerChecksum
        }
        self.init(decoding: bytes, at: place)
        guard payloadLength <= FrameFormat.payloadLimit else { throw .field("length") }
        guard kind.rawValue != 0 else { throw .field("kind") }
        let content = place + FrameFormat.content(isLast: isLast)
        let flags = bytes.uint8(at: content + FrameFormat.flags)
        guard flags == 0 else { throw .newerFlags(flags) }
        guard bytes.uint16(at: content + FrameFormat.reserved) == 0 else {
            throw .field("reserved")
        }
        guard kind.isEntry || (ordinal == 0 && !isLast) else { throw .field("ordinal") }
        guard !kind.isEntry || version.offset > .zero else { throw .field("version") }
        guard place + frameLength <= end else { throw .length }
    }

    /// Decodes the header at `place`, which was verified before.
    init(decoding bytes: Span<UInt8>, at place: Int) {
        payloadChecksum = bytes.uint64(at: place + FrameFormat.payloadChecksum)
        payloadLength = Int(bytes.uint32(at: place + FrameFormat.length))
        ordinal = bytes.uint32(at: place + FrameFormat.ordinal) & ~FrameFormat.lastFlag
        let isLast = Self.isLast(bytes, at: place)
        commitTime = isLast ? bytes.uint64(at: place + FrameFormat.time).asInt64 : nil
        let content = place + FrameFormat.content(isLast: isLast)
        version = Version(rawValue: bytes.uint64(at: content + FrameFormat.version))
        zone = bytes.uint32(at: content + FrameFormat.zone)
        kind = EntryKind(rawValue: bytes.uint8(at: content + FrameFormat.kind))
    }

    /// Writes the frame as a segment has it but for the checksum of its header, which is 0.
    func write(_ payload: Span<UInt8>, to frames: inout ByteWriter) {
        frames.uint64(0)
        frames.uint64(payloadChecksum)
        frames.uint32(UInt32(payloadLength))
        frames.uint32(ordinal | (isLast ? FrameFormat.lastFlag : 0))
        if let commitTime { frames.int64(commitTime) }
        frames.uint64(version.rawValue)
        frames.uint32(zone)
        frames.uint32(UInt32(kind.rawValue))
        frames.append(payload)
        frames.pad(to: JournalOffset.unit)
    }

    /// Whether the frame at `place` says that its commit ends there.
    static func isLast(_ bytes: Span<UInt8>, at place: Int) -> Bool {
        bytes.uint32(at: place + FrameFormat.ordinal) & FrameFormat.lastFlag != 0
    }

    /// Verifies the payload of the frame whose header lies at `place`.
    package func verifyPayload(_ bytes: Span<UInt8>, at place: Int) throws(FrameFault) {
        let end = place + frameLength
        guard end <= bytes.count else { throw .length }
        let content = place + FrameFormat.content(isLast: isLast)..<end
        guard Checksum.xxh3(bytes, in: content) == payloadChecksum else {
            throw .payloadChecksum
        }
        let padding = place + headerLength + payloadLength..<end
        guard bytes.isZero(in: padding) else { throw .field("padding") }
    }
}
