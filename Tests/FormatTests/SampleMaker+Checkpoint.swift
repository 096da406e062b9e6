import Stratus
import StratusBytes
import StratusFiles
import StratusJournal
import Support
import Testing

// Stores whose manifest holds a checkpoint. No reader knows the format of its state, so that the
// journal is read from its beginning; a reader of the journal alone can begin at the checkpoint.
extension SampleMaker {
    static let checkpointFile = Manifest.Checkpoint.filePrefix + "0000000000000001"

    /// Two segments; the checkpoint lies in the second one, between two saves.
    static func checkpoint() async throws -> SampleMaker {
        let maker = SampleMaker(seed: 24)
        var container = try maker.open()
        try await maker.fill(container.privateDatabase(for: "alice"), saves: 8, length: 1500)
        try await container.close()
        let position = try maker.position()
        container = try maker.open()
        try await maker.fill(
            container.privateDatabase(for: "alice"), saves: 2, from: 8, length: 100)
        try await container.close()
        try maker.editManifest { manifest in
            manifest.set(
                Manifest.Checkpoint(
                    position: position, files: [checkpointFile], state: Array("state".utf8)))
        }
        maker.disk.replaceContents("\(storePath)/\(checkpointFile)", Array("index".utf8))
        return maker
    }

    static func checkpoints() async throws -> [(String, StoreFiles)] {
        let whole = try await checkpoint()
        let name = try #require(whole.files.keys.first { $0.hasPrefix(Manifest.filePrefix) })
        let bytes = whole.files[name] ?? []
        func with(_ bytes: [UInt8]) -> StoreFiles {
            var files = whole.files
            files[name] = bytes
            return files
        }
        func changed(_ body: (inout JournalPosition) -> Void) async throws -> StoreFiles {
            let maker = try await checkpoint()
            try maker.editManifest { manifest in
                guard var checkpoint = manifest.checkpoint else { return }
                body(&checkpoint.position)
                manifest.set(checkpoint)
            }
            return maker.files
        }
        let manifest = try Manifest(bytes, file: name)
        let end = manifest.checkpointPlace + Int(bytes.span.uint64(at: 64))
        var flipped = bytes
        flipped[end - 10] ^= 1
        // Shorter than any checkpoint, and zeros up to the copy.
        var short = bytes
        for place in manifest.checkpointPlace + 60..<end { short[place] = 0 }
        short = SegmentImage.with([64: 60, 65: 0], short)
        return [
            ("truncated", with(short)), ("flipped", with(flipped)),
            ("before-its-group", try await changed { $0.offset.rawValue -= 1 }),
            ("behind-the-end", try await changed { $0.offset.rawValue = 1 << 50 }),
            ("chain-false", try await changed { $0.chain ^= 1 }),
        ]
    }

    /// Where the journal ends, which is opened and closed for that.
    private func position() throws -> JournalPosition {
        disk.killProcesses()
        let storage = try disk.storage(writing: true)
        let manifest = try Journal.manifest(in: storage, creating: false, options: options)
        var writer = try Journal.open(in: storage, manifest, options: options, fold: NoFold())
            .writer
        let position = try #require(writer.position)
        try writer.close()
        return position
    }

    func editManifest(_ body: (inout Manifest) -> Void) throws {
        disk.killProcesses()
        var manifest = try #require(
            try Journal.newestManifest(in: disk.storage(writing: false)))
        body(&manifest)
        disk.replaceContents("\(storePath)/\(manifest.fileName)", manifest.encoded())
    }
}
