import Stratus
import StratusFiles
import StratusJournal
import Support
import Testing

/// A store, or what is left of one, as files with their names.
typealias StoreFiles = [String: [UInt8]]

/// A folder below `Formats/samples`.
struct Sample: Sendable, CustomTestStringConvertible {
    /// `valid/…` or `damaged/…`.
    let name: String

    var testDescription: String { name }

    static let folder = "Formats/samples"
    static let expectation = "expected.txt"
    static let tokens = "tokens.txt"
    static let systemFields = "system-fields.txt"
    static let description = "description"

    static let all = ["valid", "damaged"].flatMap { kind in
        PackageFiles.names(in: "\(folder)/\(kind)").map { Sample(name: "\(kind)/\($0)") }
    }

    /// Those that are stores.
    static let stores = all.filter { sample in
        PackageFiles.names(in: sample.path).allSatisfy {
            $0 != tokens && $0 != systemFields && $0 != description && !isArchive($0)
        }
    }
    /// Those that are archives, the last of them by name the last of a chain.
    static let archives = all.filter { PackageFiles.names(in: $0.path).contains(where: isArchive) }
    /// Those that are indexes.
    static let indexes = all.filter { PackageFiles.names(in: $0.path).contains(description) }

    static func isArchive(_ name: String) -> Bool { name.hasSuffix(".archive") }

    static let valid = stores.filter { $0.name.hasPrefix("valid/") }
    static let damaged = stores.filter { $0.name.hasPrefix("damaged/") }

    var path: String { "\(Self.folder)/\(name)" }

    var expected: String? { PackageFiles.text("\(path)/\(Self.expectation)") }

    var files: StoreFiles {
        var files: StoreFiles = [:]
        for name in PackageFiles.names(in: path) where name != Self.expectation {
            files[name] = PackageFiles.bytes("\(path)/\(name)")
        }
        return files
    }
}

/// The store's directory on every disk of these tests.
let storePath = "store"

extension SimulatedDisk {
    /// A disk that holds a store.
    convenience init(holding files: StoreFiles) throws {
        self.init()
        try process().makeDirectory(storePath)
        for (name, bytes) in files { replaceContents("\(storePath)/\(name)", bytes) }
    }

    /// The files of the store, the lock file left out.
    var storeFiles: StoreFiles {
        var files: StoreFiles = [:]
        for path in paths where path.hasPrefix(storePath + "/") {
            let name = String(path.dropFirst(storePath.utf8.count + 1))
            if name != "writer" { files[name] = contents(path) }
        }
        return files
    }

    func storage(writing: Bool) throws -> LocalStorage {
        try LocalStorage(
            at: storePath, writing ? .writing(creating: false) : .reading, on: process())
    }
}
