import FoundationEssentials
import Stratus
import StratusFiles

// Paths of the command line that lead to something else than what is expected there.

extension ToolError {
    static let noStore = "store.none"
    static let noArchive = "backup.none"

    /// Whether a path leads to a regular file.
    static func isFile(_ path: String) -> Bool {
        (try? SourceFile(FilePlace(path), on: LinuxFileSystem())) != nil
    }

    /// That a file is at the path of a store; `error` where none is.
    static func file(_ path: String, insteadOfStore error: ToolError) -> ToolError {
        guard isFile(path) else { return error }
        let hint =
            Archive.isArchive(at: path)
            ? "it is an archive: 'stratus backups show' and 'stratus diff' read it, 'stratus restore' "
                + "makes a store of it"
            : "the directory that the files of a store are in is the store"
        return ToolError(
            .noStore, id: noStore, "not a store: \(path) is a file", hint: hint)
    }
}

extension Archive {
    /// The archive that a path names, perhaps by a link. Whatever is wrong with it is said of the
    /// archive, not of a store.
    static func opened(_ path: String) async throws -> Archive {
        let file = try file(path)
        do {
            return try await open(at: file)
        } catch {
            guard error.code == .badContainer else { throw error }
            throw ToolError.none(path)
        }
    }

    /// What `body` finds in the directory `path`.
    static func naming<Result>(
        folder path: String, _ body: () async throws(StoreError) -> Result
    ) async throws -> Result {
        do throws(StoreError) {
            return try await body()
        } catch {
            guard error.code == .badContainer else { throw error }
            guard ToolError.isFile(path) else {
                throw ToolError(
                    .noStore, id: ToolError.noArchive, "there is no directory \(path)")
            }
            throw ToolError(
                .noStore, id: ToolError.noArchive,
                "expected a directory with archives: \(path) is a file",
                hint: "'stratus backups show \(path)' looks into one archive")
        }
    }

    private static let linkLimit = 40

    /// Where the file is that a path leads to. Beside that one lie those that it goes on from.
    private static func file(_ path: String) throws(ToolError) -> String {
        let isStream = ["/dev/fd/", "/proc/self/fd/"].contains(where: path.hasPrefix)
        if isStream || ["-", "/dev/stdin"].contains(path) {
            throw .usage(
                "archive", "expected an archive in a file, found \(path): its end is read first",
                hint: "write it to a file, and name that")
        }
        do throws(SystemError) {
            _ = try SourceFile(FilePlace(path), on: LinuxFileSystem())
        } catch {
            switch error.code {
            case .isDirectory:
                throw ToolError(
                    .noStore, id: ToolError.noArchive, "not an archive: \(path) is a directory",
                    hint: "'stratus backups list \(path)' lists the archives in it")
            case .invalid:
                throw ToolError(
                    .noStore, id: ToolError.noArchive, "not an archive: \(path) is no regular file")
            case _ where error.isOfPath: throw .none(path)
            default: throw ToolError(error, "cannot read the archive", path)
            }
        }
        var file = path
        for _ in 0..<linkLimit {
            let target = try? FileManager.default.destinationOfSymbolicLink(atPath: file)
            guard let target else { break }
            file = target.hasPrefix("/") ? target : LocalStorage.parent(of: file) + "/" + target
        }
        return file
    }
}

extension ToolError {
    fileprivate static func none(_ path: String) -> ToolError {
        ToolError(.noStore, id: noArchive, "there is no archive \(path)")
    }
}

extension Invocation {
    /// Fails where the database that is meant does not have the zone that `--zone` names, and others
    /// have one of the name: it says who.
    func demandZone(in snapshot: Snapshot, of container: Container) throws {
        let zone = zoneID
        func isIn(_ database: DatabaseSnapshot) -> Bool {
            (try? database.recordZone(for: zone)) != nil
        }
        // In the shared one the owner is named.
        if database == .shared || isIn(database(of: snapshot)) { return }
        var owners: [(name: String, option: String)] = []
        if isIn(snapshot.publicDatabase(asHost: user)) {
            owners.append(("the public database", "--database public"))
        }
        for user in try snapshot.allUsers()
        where owners.count <= Self.shownOwners
            && isIn(snapshot.privateDatabase(asHost: user.recordName))
        {
            let name = user.userName ?? user.recordName
            owners.append((name, "--as \(name)"))
        }
        guard let first = owners.first else { return }
        let shown = owners.prefix(Self.shownOwners).map(\.name)
        let more = owners.count > shown.count ? " and others" : ""
        throw ToolError(
            .notFound, id: "zone.none", "there is no such zone: \(zone.zoneName)",
            hint: shown.joined(separator: ", ") + more
                + (owners.count == 1 ? " has it: " : " have one: ") + first.option)
    }

    private static let shownOwners = 5
}
