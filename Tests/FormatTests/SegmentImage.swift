import StratusBytes
import Support

/// The bytes of a segment, read and changed as `Formats/Journal.md` says and by no other means:
/// what makes damage with checksums that hold.
struct SegmentImage {
    private(set) var bytes: [UInt8]
    /// The offset of the file's first byte.
    let base: UInt64

    init(_ bytes: [UInt8], base: UInt64) {
        self.bytes = bytes
        self.base = base
    }

    var salt: UInt64 { bytes.span.uint64(at: 48) }

    /// Where the groups begin.
    var groups: [Int] {
        var places: [Int] = []
        var place = 4096
        while place + 72 <= bytes.count, bytes[place + 36] == 1, !isLast(place) {
            places.append(place)
            place += Int(bytes.span.uint64(at: place + 48))
        }
        return places
    }

    /// Behind the last group.
    var head: Int {
        groups.last.map { $0 + Int(bytes.span.uint64(at: $0 + 48)) } ?? 4096
    }

    /// Where the frames of a group begin, the group frame first.
    func frames(ofGroup group: Int) -> [Int] {
        var places: [Int] = []
        var place = group
        let end = group + Int(bytes.span.uint64(at: group + 48))
        while place < end {
            places.append(place)
            place = self.end(ofFrame: place)
        }
        return places
    }

    /// Whether the frame ends its commit, whose time then stands before its content.
    private func isLast(_ frame: Int) -> Bool { bytes[frame + 23] >= 0x80 }

    func content(ofFrame place: Int) -> Int { place + (isLast(place) ? 32 : 24) }

    /// Where the payload of a frame begins.
    func payload(ofFrame place: Int) -> Int { content(ofFrame: place) + 16 }

    private func end(ofFrame place: Int) -> Int {
        let length = Int(bytes.span.uint32(at: place + 16))
        return place + (payload(ofFrame: place) - place + length + 7) / 8 * 8
    }

    mutating func flip(_ place: Int) { bytes[place] ^= 0x10 }

    mutating func zero(from place: Int) {
        for index in place..<bytes.count { bytes[index] = 0 }
    }

    mutating func overwrite(_ place: Int, with new: some Sequence<UInt8>) {
        for (index, byte) in zip(place..., new) { bytes[index] = byte }
    }

    mutating func set(kind: UInt8, ofFrame place: Int) {
        bytes[content(ofFrame: place) + 12] = kind
        seal(place)
    }

    /// Makes both checksums of a frame right.
    mutating func seal(_ place: Int) {
        let content = content(ofFrame: place)
        put(Checksum.xxh3(bytes.span, in: content..<end(ofFrame: place)), at: place + 8)
        let seed = salt &+ base &+ UInt64(place / 8)
        put(Checksum.xxh3(bytes.span, in: place + 8..<content + 16, seed: seed), at: place)
    }

    /// Of the last frame.
    var lastPayload: [UInt8] {
        let place = payload(ofFrame: lastFrame)
        return Array(bytes[place..<place + Int(bytes.span.uint32(at: lastFrame + 16))])
    }

    private var lastFrame: Int { frames(ofGroup: groups[groups.count - 1]).last ?? 0 }

    /// Gives the last frame, which ends a commit, another payload, and its group the length that
    /// follows from that.
    mutating func replaceLast(payload: [UInt8]) {
        let group = groups[groups.count - 1]
        let place = lastFrame
        let start = self.payload(ofFrame: place)
        zero(from: start)
        overwrite(start, with: payload)
        let length = payload.count
        overwrite(place + 16, with: (0..<4).map { UInt8(truncatingIfNeeded: length >> ($0 * 8)) })
        put(UInt64(end(ofFrame: place) - group), at: group + 48)
        seal(place)
        seal(group)
    }

    /// The same, of another kind and with another zone.
    mutating func replaceLast(kind: UInt8, zone: UInt8, payload: [UInt8]) {
        replaceLast(payload: payload)
        overwrite(content(ofFrame: lastFrame) + 8, with: [zone, 0, 0, 0, kind])
        seal(lastFrame)
    }

    /// Of the preamble, which is the first frame of the first group but one.
    var preamble: [UInt8] {
        let frame = frames(ofGroup: groups[0])[1]
        let place = payload(ofFrame: frame)
        return Array(bytes[place..<place + Int(bytes.span.uint32(at: frame + 16))])
    }

    /// Gives the preamble another payload, and ends the segment behind it.
    mutating func setPreamble(_ payload: [UInt8]) {
        let group = groups[0]
        let place = frames(ofGroup: group)[1]
        let start = self.payload(ofFrame: place)
        zero(from: start)
        overwrite(start, with: payload)
        let length = payload.count
        overwrite(place + 16, with: (0..<4).map { UInt8(truncatingIfNeeded: length >> ($0 * 8)) })
        overwrite(group + 44, with: [1, 0, 0, 0])
        put(UInt64(end(ofFrame: place) - group), at: group + 48)
        seal(place)
        seal(group)
    }

    mutating func put(_ value: UInt64, at place: Int) {
        for index in 0..<8 {
            bytes[place + index] = UInt8(truncatingIfNeeded: value >> (8 * UInt64(index)))
        }
    }

    /// A segment or a manifest with other bytes, by their places, and a checksum that is right; of a
    /// manifest with a copy that says the same.
    static func with(_ changes: [Int: UInt8], _ file: [UInt8]) -> [UInt8] {
        var image = SegmentImage(file, base: 0)
        for (place, byte) in changes { image.bytes[place] = byte }
        // Fourth letter of the magic: J of a segment, M of a manifest.
        if file[3] == UInt8(ascii: "J") {
            image.put(Checksum.xxh3(image.bytes.span, in: 0..<4088), at: 4088)
        } else {
            let end =
                120 + 16 * Int(image.bytes.span.uint32(at: 112))
                + 80 * Int(image.bytes.span.uint32(at: 12))
            let generation = file.span.uint64(at: 16)
            image.put(
                Checksum.xxh3(image.bytes.span, in: 0..<end, seed: generation), at: end)
            let copy = file.count - 8 - (end + 8)
            image.bytes.replaceSubrange(copy..<file.count - 8, with: image.bytes[..<(end + 8)])
        }
        return image.bytes
    }
}

extension SampleMaker {
    /// The files of the segments, in order.
    var segmentNames: [String] { files.keys.filter { $0.hasPrefix("journal-") }.sorted() }

    func segment(_ number: Int) throws -> [UInt8] { disk.contents(path(number)) }

    /// Replaces a segment's file.
    func replace(_ image: SegmentImage, _ number: Int) {
        disk.replaceContents(path(number), image.bytes)
    }

    /// Changes a segment's bytes; the base is read from its name.
    func edit(_ number: Int, _ body: (inout SegmentImage) -> Void) throws {
        let digits = segmentNames[number].dropFirst("journal-".utf8.count)
        var image = SegmentImage(
            try segment(number), base: UInt64(digits, radix: 16) ?? 0)
        body(&image)
        replace(image, number)
    }

    private func path(_ number: Int) -> String { "\(storePath)/\(segmentNames[number])" }
}
