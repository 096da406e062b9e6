import FoundationEssentials

/// The package as it lies on disk.
package enum PackageFiles {
    package static let root = #filePath.split(separator: "/", omittingEmptySubsequences: false)
        .dropLast(3).joined(separator: "/")

    /// The names in a folder, sorted; none where there is no such folder.
    package static func names(in folder: String) -> [String] {
        let names = try? FileManager.default.contentsOfDirectory(atPath: "\(root)/\(folder)")
        return (names ?? []).sorted()
    }

    /// The paths of everything below a folder, from the package's root.
    package static func paths(below folder: String) -> [String] {
        let paths = try? FileManager.default.subpathsOfDirectory(atPath: "\(root)/\(folder)")
        return (paths ?? []).sorted().map { "\(folder)/\($0)" }
    }

    package static func bytes(_ path: String) -> [UInt8]? {
        FileManager.default.contents(atPath: "\(root)/\(path)").map { [UInt8]($0) }
    }

    package static func text(_ path: String) -> String? {
        bytes(path).map { String(decoding: $0, as: UTF8.self) }
    }
}
