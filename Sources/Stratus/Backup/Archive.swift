public import FoundationEssentials
internal import StratusArchive
internal import StratusBytes
package import StratusFiles
package import StratusJournal
internal import StratusEngine

/// A backup of a store, in one file: `Formats/Backup.md`.
///
/// A full archive stands alone. One that was made since another holds what changed, and is read
/// together with that one, its base, which lies in the same directory.
public struct Archive: Sendable {
    /// What an archive may be restricted to: a database, or one of its zones.
    public struct Part: Hashable, Sendable {
        /// The owner of the database, as ``Container/privateDatabase(for:)`` takes it or, in what an
        /// archive says of itself, by the user record name; nil: the public database.
        public var owner: String?
        /// The zone's name; nil: all zones of the database, in archives that go on from this one
        /// also those that are made later.
        public var zoneName: String?

        private init(owner: String?, zoneName: String?) {
            self.owner = owner
            self.zoneName = zoneName
        }

        /// The database that is everybody's.
        public static let publicDatabase = Part(owner: nil, zoneName: nil)

        /// All that is a user's: the private database.
        public static func user(_ name: String) -> Part { Part(owner: name, zoneName: nil) }

        /// One zone, of a user or, where `owner` is nil, of the public database.
        public static func zone(_ name: String, of owner: String?) -> Part {
            Part(owner: owner, zoneName: name)
        }
    }

    /// What an archive says of itself.
    public struct Information: Hashable, Sendable {
        /// A zone as it was.
        public struct Zone: Hashable, Sendable {
            /// The user record name of the owner of its database; nil: the public database.
            public var owner: String?
            /// The zone's name.
            public var zoneName: String
            /// How many records it had.
            public var recordCount: Int
            /// Its content hash, 64 hexadecimal digits; nil where it was not computed.
            public var contentHash: String?

            /// A zone that was so.
            public init(
                owner: String?, zoneName: String, recordCount: Int, contentHash: String?
            ) {
                self.owner = owner
                self.zoneName = zoneName
                self.recordCount = recordCount
                self.contentHash = contentHash
            }
        }

        /// 32 hexadecimal digits, as of the base.
        public var archiveID: String
        /// Nil: the archive is full.
        public var baseID: String?
        /// 32 hexadecimal digits.
        public var storeID: String
        /// When it was made.
        public var created: Date
        /// When the last commit in it was made; nil where there is none.
        public var lastCommit: Date?
        /// The range of the journal that the archive itself covers, as offsets.
        public var range: Range<UInt64>
        /// The first state that can be restored, but for those at marks, ends at or behind this
        /// offset; without history that is the last one.
        public var floor: UInt64
        /// Whether each state that ends at or behind ``floor`` can be restored.
        public var keepsHistory: Bool
        /// That of the store, which rises with each restore.
        public var incarnation: Int
        /// The chain over the journal up to the end, 16 hexadecimal digits.
        public var journalChain: String
        /// Of the file, in bytes.
        public var length: Int
        /// How many archives belong together, this one the last.
        public var chainLength: Int
        /// What it is restricted to; empty: it is of the whole store.
        public var parts: [Part]
        /// How many zones it has, in the state at the end: ``Archive/zones()``.
        public var zoneCount: Int
        /// How many records those have together.
        public var recordCount: Int
    }

    /// The file.
    public let path: String
    /// The full archive first, then those that go on from each other, this one the last.
    let chain: [ArchiveFile]
    private let folder: LocalStorage
    /// A directory for temporary files.
    let scratch: String
    /// Where the randomness and the times of what is made of it come from.
    package var options = JournalOptions()

    /// What the archive says of itself.
    public var information: Information { Information(chain) }

    /// The zones of all databases that it has, in the state at the end.
    ///
    /// - Throws: ``StoreError`` with the cause `damaged` where the file is not what it was when the
    ///   archive was opened.
    public nonisolated(nonsending) func zones() async throws(StoreError) -> [Information.Zone] {
        var zones: [Information.Zone] = []
        do {
            try await forEachZone { zones.append($0) }
        } catch {
            throw StoreError(translating: error)
        }
        return zones
    }

    /// Gives `body` the same one after the other: there may be so many that they are not held together.
    package nonisolated(nonsending) func forEachZone(
        _ body: (Information.Zone) throws -> Void
    ) async throws {
        var zones = last.zones()
        var page: [Information.Zone] = []
        repeat {
            (page, zones) = try await Self.page(from: zones)
            for zone in page { try body(zone) }
        } while !page.isEmpty
    }

    private static let zonesInPage = 1000

    /// The next zones, none behind the last one, and what follows them.
    private nonisolated(nonsending) static func page(
        from zones: ArchiveZones
    ) async throws(StoreError) -> ([Information.Zone], ArchiveZones) {
        try await answering { () async throws(EngineError) in
            try await IOThreads(count: 1).run {
                var (page, zones) = ([Information.Zone](), zones)
                while page.count < zonesInPage, let zone = try zones.next() {
                    page.append(Information.Zone(zone))
                }
                return (page, zones)
            }
        }
    }

    var last: ArchiveFile { chain[chain.count - 1] }
    var fileSystem: any FileSystem { folder.fileSystem }

    /// What the chain holds; made for each use, since few of the archives of a list are read.
    func storage() throws -> ArchiveStorage { try ArchiveStorage(chain, in: folder) }

    /// Opens the archive in the file `path`; those that it goes on from must lie beside it.
    ///
    /// What describes the archive is verified here, what it holds by ``verify(progress:)``.
    ///
    /// - Throws: ``StoreError`` with the cause `damaged` and the place where a byte is not what was
    ///   written, `badContainer` where there is no such file, `invalidArguments` where a base is
    ///   missing.
    public nonisolated(nonsending) static func open(
        at path: String
    ) async throws(StoreError) -> Archive {
        try await open(at: path, on: LinuxFileSystem())
    }

    /// The same in a directory of `system`.
    package nonisolated(nonsending) static func open(
        at path: String, on system: any FileSystem,
        scratch: String = StoreVerification.scratchDirectory
    ) async throws(StoreError) -> Archive {
        try await answering { () async throws(EngineError) in
            try await IOThreads(count: 1).run {
                try Archive(path, on: system, scratch: scratch)
            }
        }
    }

    /// Whether the file at `path` begins as an archive does.
    package static func isArchive(
        at path: String, on system: any FileSystem = LinuxFileSystem()
    ) -> Bool {
        ArchiveDirectory.isArchive(at: path, on: system)
    }

    init(
        _ path: String, on system: any FileSystem,
        scratch: String = StoreVerification.scratchDirectory
    ) throws {
        var directory = try ArchiveDirectory(at: LocalStorage.parent(of: path), on: system)
        try self.init(path, in: &directory, scratch: scratch)
    }

    /// The archive in the file `path` of `directory`.
    init(
        _ path: String, in directory: inout ArchiveDirectory,
        scratch: String = StoreVerification.scratchDirectory
    ) throws {
        guard let name = path.split(separator: "/").last else {
            throw StorageError(.notFound, file: path)
        }
        self.path = path
        self.scratch = scratch
        chain = try directory.chain(endingWith: String(name))
        folder = directory.folder
    }

    /// The archives in the directory `path`, in the order in which they end; and the files that
    /// begin like one, or cannot be looked into, and cannot be opened, with the reason.
    public nonisolated(nonsending) static func list(
        in path: String
    ) async throws(StoreError) -> (
        archives: [Archive], refused: [(file: String, error: StoreError)]
    ) {
        try await list(in: path, on: LinuxFileSystem())
    }

    /// The same in a directory of `system`.
    package nonisolated(nonsending) static func list(
        in path: String, on system: any FileSystem
    ) async throws(StoreError) -> (
        archives: [Archive], refused: [(file: String, error: StoreError)]
    ) {
        try await answering { () async throws(EngineError) in
            try await IOThreads(count: 1).run {
                var directory = try ArchiveDirectory(at: path, on: system)
                var archives: [Archive] = []
                var refused: [(file: String, error: StoreError)] = []
                for name in try directory.files() {
                    let file = path.hasSuffix("/") ? path + name : path + "/" + name
                    do {
                        archives.append(try Archive(file, in: &directory))
                    } catch {
                        refused.append((file, StoreError(translating: error)))
                    }
                }
                archives.sort { left, right in
                    let (left, right) = (left.last.table, right.last.table)
                    return (left.storeID, left.end) < (right.storeID, right.end)
                }
                return (archives, refused)
            }
        }
    }

    /// Reads every byte of the archive and of those that it goes on from, and all that they mean.
    ///
    /// - Returns: What is not as it was written; empty where nothing is.
    public nonisolated(nonsending) func verify(
        progress: @escaping Container.ReadingProgress = { _, _ in }
    ) async throws(StoreError) -> [StoreError.Place] {
        try await answering { () async throws(EngineError) -> [StoreError.Place] in
            try await IOThreads(count: 1).run { [self] in
                let total = chain.reduce(0) { $0 + $1.contentLength }
                var done = 0
                var findings: [StoreError.Place] = []
                for archive in chain {
                    let damage = try archive.verify { length in
                        done += length
                        progress(done, total * 2)
                    }
                    findings += damage.compactMap { StoreError($0).place }
                }
                guard findings.isEmpty else { return findings }
                findings = try verifyContent()
                progress(total * 2, total * 2)
                return findings
            }
        }
    }

    /// The store that the archive holds, to be read like any other.
    ///
    /// - Throws: ``StoreError`` where what it holds is damaged.
    public nonisolated(nonsending) func container(
        memoryLimit: Int = 64 << 20
    ) async throws(StoreError) -> Container {
        try await answering { () async throws(EngineError) -> Container in
            let threads = IOThreads(count: Container.threadCount)
            return try await threads.run {
                try opened(memoryLimit: memoryLimit, threads: threads)
            }
        }
    }

    /// The same. Blocks the calling thread.
    func opened(memoryLimit: Int, threads: IOThreads) throws -> Container {
        let table = last.table
        let storage = try storage()
        var foundation = StoreFoundation(
            ScratchStorage(over: storage, in: scratch), memoryLimit: memoryLimit,
            threads: threads, rebuilds: true)
        foundation.options = options
        foundation.historyFloor = JournalOffset(
            rawValue: table.keepsHistory ? table.floor : table.end)
        foundation.selection = ZoneSelection(table.selection)
        do {
            return try Container(reading: foundation)
        } catch {
            throw Self.damage(error, in: storage)
        }
    }

    /// Why the store in an archive cannot be opened. A file that is missing is missing in the archive.
    private static func damage(_ error: any Error, in storage: ArchiveStorage) -> StoreError {
        var error = StoreError(translating: error)
        if error.code == .badContainer {
            error = StoreError(.damaged(JournalDamage(.missingFile, file: "", byte: 0)))
        }
        return error.located(in: storage)
    }

    /// What is wrong with the store that the chain holds, and with what the table says of its zones.
    private func verifyContent() throws -> [StoreError.Place] {
        let storage = try storage()
        let content: StoreVerification
        do {
            content = try StoreVerification(storage, scratch: scratch)
        } catch {
            throw Self.damage(error, in: storage)
        }
        let places = content.findings.map { $0.place.located(in: storage) }
        guard places.isEmpty else { return places }
        let store = try opened(
            memoryLimit: StoreVerification.memoryLimit, threads: IOThreads(count: 1))
        do {
            try store.compareZones(at: store.snapshot(), with: last)
        } catch {
            let error = StoreError(translating: error).located(in: storage)
            guard error.cause == .damaged else { throw error }
            return error.places
        }
        return []
    }
}

extension Archive.Information {
    fileprivate init(_ chain: [ArchiveFile]) {
        let last = chain[chain.count - 1]
        let table = last.table
        archiveID = Hex.encode(last.archiveID)
        baseID = table.baseID.map { Hex.encode($0) }
        storeID = Hex.encode(table.storeID)
        created = Date(timeIntervalSince1970: Double(table.made) / 1_000_000)
        lastCommit =
            table.lastTime == 0
            ? nil : Date(timeIntervalSince1970: Double(table.lastTime) / 1_000_000)
        range = table.start..<table.end
        floor = table.floor
        keepsHistory = table.keepsHistory
        incarnation = Int(table.incarnation)
        journalChain = Hex.encode(table.chain)
        length = last.length
        chainLength = chain.count
        parts = table.selection.map { Archive.Part($0) }
        zoneCount = table.zoneCount
        recordCount = table.recordCount
    }
}

extension Archive.Information.Zone {
    init(_ zone: ArchiveTable.Zone) {
        self.init(
            owner: zone.owner.isEmpty ? nil : zone.owner, zoneName: zone.name,
            recordCount: zone.recordCount,
            contentHash: zone.content.map { ContentSum($0).hash(of: zone.name).description })
    }
}

extension Archive.Part {
    fileprivate init(_ selected: ArchiveTable.Selected) {
        owner = selected.owner.isEmpty ? nil : selected.owner
        zoneName = selected.zone.isEmpty ? nil : selected.zone
    }
}

extension Hex {
    static func encode(_ hash: Hash128) -> String {
        encode(hash.high) + encode(hash.low)
    }
}
