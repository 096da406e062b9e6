package import StratusBytes
package import StratusFiles

/// An index of the archives in a directory, for one operation: the head of each file is read once,
/// and its table once, when it is needed.
///
/// All archives that it opens share its descriptors, of which there are few.
package struct ArchiveDirectory {
    /// What is known of a file.
    private enum Entry {
        /// The head is whole; the table was not read yet.
        case headed(any StorageFile, ArchiveHead)
        case opened(ArchiveFile)
        /// It begins like an archive, or cannot be looked into.
        case refused(any Error)
        /// It does not begin like an archive.
        case stranger(ArchiveDamage)
    }

    package let folder: LocalStorage
    private var entries: [String: Entry] = [:]
    /// The files that may be archives, in the order of their names; nil: not looked for yet.
    private var candidates: [String]?
    /// Of these the ones whose head is whole. Copies have the same number.
    private var names: [Hash128: [String]] = [:]
    /// What archives are restricted to, which those of a chain have in common.
    private var selections: Set<[ArchiveTable.Selected]> = []

    /// A process may have several archives open, and 1,024 descriptors where nothing else was set.
    package static let descriptorLimit = 64

    package init(_ folder: LocalStorage) { self.folder = folder }

    /// Whether the file at `path` begins as an archive does.
    package static func isArchive(at path: String, on system: any FileSystem) -> Bool {
        let file = try? SourceFile(FilePlace(path), on: system)
        return (try? file?.bytes(limit: ArchiveHead.magic.count)) == ArchiveHead.magic
    }

    /// Opens the directory at `path`.
    package init(at path: String, on system: any FileSystem) throws(StorageError) {
        self.init(
            try LocalStorage(
                at: path, .reading, on: system, descriptorLimit: Self.descriptorLimit))
    }

    /// The files that begin like an archive or cannot be looked into, in the order of their names.
    package mutating func files() throws(StorageError) -> [String] {
        if let candidates { return candidates }
        var found: [String] = []
        for name in try folder.list() {
            switch look(name) {
            case .headed(_, let head): names[head.archiveID, default: []].append(name)
            case .opened(let archive): names[archive.archiveID, default: []].append(name)
            case .refused: break
            case .stranger, nil: continue
            }
            found.append(name)
        }
        candidates = found
        return found
    }

    /// The archive in the file `name` behind those that it goes on from, the full one first.
    package mutating func chain(endingWith name: String) throws -> [ArchiveFile] {
        var own = try open(name)
        var chain = [own]
        var seen: Set = [own.archiveID]
        var totals = own.totals
        while let baseID = own.table.baseID {
            let table = own.table
            guard seen.insert(baseID).inserted else {
                throw ArchiveDamage(.archive(.cycle), file: own.name, byte: 0)
            }
            let base = try find(baseID) {
                $0.table.end == table.start && $0.table.storeID == table.storeID
                    && $0.table.lineage == table.lineage
                    && $0.table.selection == table.selection
            }
            guard let base else {
                var damage = ArchiveDamage(.archive(.base), file: own.name, byte: 0)
                damage.missing = baseID
                throw damage
            }
            totals.add(base.totals)
            guard totals.excess == nil else {
                throw ArchiveDamage(.archive(.chain), file: chain[0].name, byte: 0)
            }
            chain.append(base)
            own = base
        }
        return chain.reversed()
    }

    /// The same of the archive of a number; nil where there is none.
    package mutating func chain(endingWith archiveID: Hash128) throws -> [ArchiveFile]? {
        guard let archive = try find(archiveID, where: { _ in true }) else { return nil }
        return try chain(endingWith: archive.name)
    }

    /// The first archive of a number that can be opened and that `isWanted`. A copy that ended
    /// early has the same head: its error counts only where there is no other.
    private mutating func find(
        _ archiveID: Hash128, where isWanted: (ArchiveFile) -> Bool
    ) throws -> ArchiveFile? {
        _ = try files()
        var failure: (any Error)?
        for name in names[archiveID] ?? [] {
            do {
                let archive = try open(name)
                if isWanted(archive) { return archive }
            } catch {
                failure = error
            }
        }
        if let failure { throw failure }
        return nil
    }

    private mutating func open(_ name: String) throws -> ArchiveFile {
        switch entries[name] ?? read(name) {
        case .opened(let archive): return archive
        case .refused(let error): throw error
        case .stranger(let damage): throw damage
        case .headed(let file, let head):
            do {
                let archive = try ArchiveFile(file, head, sharing: &selections)
                entries[name] = .opened(archive)
                return archive
            } catch {
                entries[name] = .refused(error)
                throw error
            }
        }
    }

    /// What an entry of the directory is; nil for what is no file, or none any longer.
    private mutating func look(_ name: String) -> Entry? {
        if let entry = entries[name] { return entry }
        do throws(StorageError) {
            guard try folder.isFile(name) else { return nil }
        } catch {
            entries[name] = .refused(error)
            return .refused(error)
        }
        let entry = read(name)
        if case .refused(let error as StorageError) = entry, error.kind == .notFound { return nil }
        return entry
    }

    /// Reads the head of a file.
    private mutating func read(_ name: String) -> Entry {
        let entry = headed(name)
        entries[name] = entry
        return entry
    }

    private func headed(_ name: String) -> Entry {
        let file: any StorageFile
        let bytes: [UInt8]
        do throws(StorageError) {
            file = try folder.open(name)
            bytes = try file.read(0..<min(file.length, ArchiveHead.length))
        } catch {
            return .refused(error)
        }
        do throws(ArchiveDamage) {
            return .headed(file, try ArchiveHead(bytes.span, file: name))
        } catch {
            return bytes.starts(with: ArchiveHead.magic) ? .refused(error) : .stranger(error)
        }
    }
}
