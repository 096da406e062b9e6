import FoundationEssentials
import Stratus
import StratusBytes
import StratusFiles
import StratusJournal

// Stores that something is wrong with.
extension SampleMaker {
    static func damaged() async throws -> [String: StoreFiles] {
        var samples: [String: StoreFiles] = [:]
        for (name, files) in try await rows() { samples["damaged/row-" + name] = files }
        for (name, files) in try await manifests() { samples["damaged/manifest-" + name] = files }
        for (name, files) in try await segmentFiles() {
            samples["damaged/segment-" + name] = files
        }
        for (name, files) in try await contents() { samples["damaged/" + name] = files }
        for (name, files) in try await damagedPreambles() {
            samples["damaged/preamble-" + name] = files
        }
        for (name, files) in try await damagedLinks() { samples["damaged/" + name] = files }
        for (name, files) in try await damagedShares() { samples["damaged/" + name] = files }
        for (name, files) in try await damagedSubscriptions() {
            samples["damaged/" + name] = files
        }
        for (name, files) in try await damagedAssets() { samples["damaged/" + name] = files }
        for (name, files) in try await damagedCompacted() {
            samples["damaged/compacted-" + name] = files
        }
        for (name, files) in try await checkpoints() {
            samples["damaged/checkpoint-" + name] = files
        }
        return samples
    }

    /// A store of one segment with six saves.
    private static func small(
        _ durability: Container.Durability = .full, closing: Bool = false, saves: Int = 6
    ) async throws -> SampleMaker {
        let maker = SampleMaker(seed: 20)
        let container = try maker.open(durability)
        try await maker.fill(container.privateDatabase(for: "alice"), saves: saves)
        if closing { try await container.close() }
        return maker
    }

    /// A store of two segments, the first of them sealed.
    private static func twoSegments() async throws -> SampleMaker {
        let maker = SampleMaker(seed: 21)
        let container = try maker.open()
        try await maker.fill(container.privateDatabase(for: "alice"), saves: 16, length: 900)
        return maker
    }

    /// One for each row of the table of recovery that a sample can show.
    private static func rows() async throws -> [(String, StoreFiles)] {
        let sealed = try await twoSegments()
        try sealed.edit(0) { $0.flip($0.groups[3] + 100) }

        let acknowledged = try await small()
        try acknowledged.edit(0) { $0.flip($0.groups[4] + 100) }
        let first = try await twoSegments()
        try first.edit(1) { $0.flip($0.groups[0] + 20) }

        let unacknowledged = try await small(.none)
        try unacknowledged.edit(0) { $0.flip($0.groups[4] + 100) }

        let closed = try await small(closing: true)
        try closed.edit(0) { $0.flip($0.groups[4] + 100) }
        let stated = try await small(closing: true)
        try await stated.fill(
            stated.open().privateDatabase(for: "alice"), saves: 1, from: 6)
        try stated.edit(0) { $0.flip($0.groups[4] + 100) }

        let torn = try await small(saves: 7)
        try torn.edit(0) { $0.zero(from: $0.groups[$0.groups.count - 1] + 24) }

        let stale = try await small()
        try await stale.fill(stale.open().privateDatabase(for: "alice"), saves: 1, from: 6)
        let old = SegmentImage(try stale.segment(0), base: 0)
        let frame = old.bytes[4096..<4096 + 72]
        try stale.edit(1) { image in
            image.zero(from: 4096)
            image.overwrite(4096, with: frame)
        }

        let last = try await small()
        try last.edit(0) { $0.flip($0.groups[$0.groups.count - 1] + 150) }

        let behind = try await small(closing: true)
        try behind.edit(0) { $0.overwrite($0.head, with: Array("what lies here is nothing".utf8)) }
        return [
            ("a-sealed-segment", sealed.files), ("b-acknowledged-group", acknowledged.files),
            ("b-first-group-of-segment", first.files),
            ("c-unacknowledged-group", unacknowledged.files),
            ("d-before-stated-end", stated.files), ("d-closed", closed.files),
            ("e-clean-tail", try await small().files),
            ("f-torn-tail", torn.files), ("g-stale-bytes", stale.files),
            ("j-last-group", last.files), ("k-behind-stated-end", behind.files),
        ]
    }

    private static func manifests() async throws -> [(String, StoreFiles)] {
        let whole = try await small(closing: true).files
        let two = try await twoSegments().files
        func with(
            _ bytes: [UInt8]?, named other: String? = nil, in files: StoreFiles = whole
        ) -> StoreFiles {
            var files = files
            let name = newest(files)
            files[name] = nil
            files[other ?? name] = bytes
            return files
        }
        let bytes = whole[newest(whole)] ?? []
        var flipped = bytes
        flipped[60] ^= 1
        var twice = flipped
        twice[bytes.count - 20] ^= 1
        let order = SegmentImage.with([128: 4], two[newest(two)] ?? [])
        return [
            ("truncated", with(Array(bytes.dropLast(8)))), ("flipped", with(flipped)),
            ("flipped-twice", with(twice)),
            ("empty", with([])), ("missing", with(nil)),
            ("renamed", with(bytes, named: Manifest.fileName(generation: 9))),
            ("closed-not-last", with(order, in: two)),
            ("newer-format", with(SegmentImage.with([8: 2, 10: 2], bytes))),
            ("newer-features", with(SegmentImage.with([81: 1], bytes))),
            ("environment", with(SegmentImage.with([50: 3], bytes))),
        ]
    }

    /// The name of the manifest of the highest generation.
    private static func newest(_ files: StoreFiles) -> String {
        files.keys.filter { $0.hasPrefix(Manifest.filePrefix) }.max() ?? ""
    }

    private static func segmentFiles() async throws -> [(String, StoreFiles)] {
        let maker = try await twoSegments()
        let whole = maker.files
        let names = maker.segmentNames
        let first = whole[names[0]] ?? []
        func with(_ bytes: [UInt8]?) -> StoreFiles {
            var files = whole
            files[names[0]] = bytes
            return files
        }
        var flipped = first
        flipped[40] ^= 1
        var trailer = SegmentImage(first, base: 0)
        let frame = trailer.frames(ofGroup: trailer.groups[trailer.groups.count - 1])[1]
        trailer.put(1, at: trailer.payload(ofFrame: frame) + 16)
        trailer.seal(frame)
        let foreign = SampleMaker(seed: 22)
        try await foreign.fill(foreign.open().privateDatabase(for: "alice"), saves: 1)
        return [
            ("missing", with(nil)), ("truncated", with(Array(first.dropLast(4096)))),
            ("header-flipped", with(flipped)), ("foreign", with(try foreign.segment(0))),
            ("newer-format", with(SegmentImage.with([8: 2, 10: 2], first))),
            ("newer-features", with(SegmentImage.with([104: 2], first))),
            ("newer-layout", with(SegmentImage.with([60: 2], first))),
            ("trailer-false", with(trailer.bytes)),
        ]
    }

    /// Wrong in content, with checksums that hold.
    private static func contents() async throws -> [(String, StoreFiles)] {
        func changed(_ body: (inout SegmentImage, Int) -> Void) async throws -> StoreFiles {
            let maker = try await small()
            try maker.edit(0) { image in
                body(&image, image.frames(ofGroup: image.groups[image.groups.count - 1])[1])
            }
            return maker.files
        }
        let one = try await diverging(as: "one")
        let other = try await diverging(as: "two")
        let stranger = SegmentImage(try other.segment(0), base: 0)
        let group = stranger.groups[4]
        let end = stranger.groups[5]
        try one.edit(0) { $0.overwrite(group, with: stranger.bytes[group..<end]) }
        return [
            ("group-exchanged", one.files),
            (
                "kind-unknown",
                try await changed { image, frame in image.set(kind: 100, ofFrame: frame) }
            ),
            (
                "ordinal-false",
                try await changed { image, frame in
                    image.overwrite(frame + 20, with: [1])
                    image.seal(frame)
                }
            ),
            (
                "reserved-flag",
                try await changed { image, frame in
                    image.overwrite(image.content(ofFrame: frame) + 13, with: [1])
                    image.seal(frame)
                }
            ),
            (
                "payload-newer-flags",
                try await changed { image, frame in
                    // A varint of three bytes, two of them in the place of type and modifier: 16384.
                    image.overwrite(image.payload(ofFrame: frame), with: [0x80, 0x80, 0x01])
                    image.seal(frame)
                }
            ),
            (
                "names-newer-kind",
                try await changed { image, _ in
                    // No names, and a column of a kind that there is not.
                    image.replaceLast(kind: 36, zone: 0, payload: [0, 0, 1, 0, 1, 9])
                }
            ),
            (
                "names-collation-of-number",
                try await changed { image, _ in
                    // No names, and a column of integers that are compared by their bytes.
                    image.replaceLast(kind: 36, zone: 0, payload: [0, 0, 1, 0, 1, 0x82])
                }
            ),
            (
                "zone-newer-state",
                try await changed { image, _ in
                    image.replaceLast(
                        kind: 34, zone: 0,
                        payload: [1, 1, 5, 15, 0, 0] + [UInt8](repeating: 0, count: 8) + [1, 0x61])
                }
            ),
            (
                "zone-left-out-named",
                try await changed { image, _ in
                    image.replaceLast(
                        kind: 34, zone: 0,
                        payload: [1, 0, 4, 0, 0, 0] + [UInt8](repeating: 0, count: 8) + [1, 0x61])
                }
            ),
            (
                "payload-without-meaning",
                try await changed { image, frame in
                    image.overwrite(image.payload(ofFrame: frame), with: [16])
                    image.seal(frame)
                }
            ),
            (
                "declared-number",
                try await changed { image, _ in
                    // The first index, with the number of the second.
                    image.replaceLast(kind: 46, zone: 0, payload: [1, 1, 0, 0, 1, 1])
                }
            ),
            (
                "declared-form",
                try await changed { image, _ in
                    image.replaceLast(kind: 46, zone: 0, payload: [0, 1, 0, 0, 1, 7])
                }
            ),
            (
                "built-rows-version",
                try await changed { image, _ in
                    // Of one record with one value of eight bytes.
                    let name = [UInt8](repeating: 7, count: 16)
                    let value = [UInt8](repeating: 1, count: 8)
                    image.replaceLast(
                        kind: 47, zone: 1, payload: [0, 1] + name + [0, 1, 8] + value)
                }
            ),
        ]
    }

    /// Two histories of one store that part at the fourth group and are equally long.
    private static func diverging(as name: String) async throws -> SampleMaker {
        let maker = SampleMaker(seed: 23)
        let container = try maker.open()
        let database = container.privateDatabase(for: "alice")
        try await maker.fill(database, saves: 2)
        for number in 0..<4 {
            try await database.save(maker.record("note-\(name)-\(number)", ["number": 1]))
        }
        return maker
    }
}
