/// A file of the machine that is read once, from its beginning: of a caller, not of a store.
package final class SourceFile: Sendable {
    private let place: FilePlace
    private let file: OpenDescriptor
    /// As it was opened.
    package let status: FileStatus

    /// Opens the file at `place`. Fails where it is no regular file, or is one of `store`.
    package convenience init(
        _ place: FilePlace, outside store: (any Storage)? = nil,
        on system: any FileSystem
    ) throws(SystemError) {
        try self.init(place.open(outside: store, on: system), place)
    }

    /// What was opened at `place`.
    init(_ file: OpenDescriptor, _ place: FilePlace) throws(SystemError) {
        status = try Self.status(file)
        guard status.kind == .file else {
            throw SystemError(status.kind == .directory ? .isDirectory : .invalid, in: "open")
        }
        self.place = place
        self.file = file
    }

    private static func status(_ file: OpenDescriptor) throws(SystemError) -> FileStatus {
        try file.call { system, descriptor throws(SystemError) in
            try system.status(descriptor)
        }
    }

    /// Appends some of the bytes from `position` on to `bytes`; none at the end.
    package func read(
        into bytes: inout OutputSpan<UInt8>, at position: Int
    ) throws(SystemError) {
        _ = try file.call { system, descriptor throws(SystemError) in
            try system.read(descriptor, into: &bytes, at: position, .blocking)
        }
    }

    /// Some of the bytes from `position` on, at most `count`; none at the end.
    package func read(at position: Int, upTo count: Int) throws(SystemError) -> [UInt8] {
        try [UInt8](capacity: count) { bytes throws(SystemError) in
            try read(into: &bytes, at: position)
        }
    }

    /// All bytes, at most the first `limit`.
    package func bytes(limit: Int) throws(SystemError) -> [UInt8] {
        var bytes: [UInt8] = []
        while bytes.count < limit {
            let next = try read(
                at: bytes.count, upTo: min(limit - bytes.count, max(1 << 16, bytes.count)))
            if next.isEmpty { break }
            bytes += next
        }
        return bytes
    }

    /// Whether the opened file is the one that the place means; if not, it was changed or replaced
    /// since its entry was listed.
    package var isMeant: Bool { place.isMeant(status) }

    /// Whether the file, and what its place leads to, is still as it was opened.
    package func isUnchanged() -> Bool {
        guard let now = try? Self.status(file) else { return false }
        return now == status && place.leads(to: status, on: file.system)
    }
}
