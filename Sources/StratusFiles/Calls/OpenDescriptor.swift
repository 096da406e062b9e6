/// A descriptor that is closed when it is no longer referenced; every call on it is repeated while
/// signals interrupt it.
final class OpenDescriptor: Sendable {
    let system: any FileSystem
    let descriptor: FileDescriptor

    init(
        on system: any FileSystem,
        _ open: (any FileSystem) throws(SystemError) -> FileDescriptor
    ) throws(SystemError) {
        self.system = system
        descriptor = try retrying { () throws(SystemError) in try open(system) }
    }

    deinit {
        // Data that matters was synced before, so a failure here loses nothing.
        try? system.close(descriptor)
    }

    func call<Result>(
        _ body: (any FileSystem, FileDescriptor) throws(SystemError) -> Result
    ) throws(SystemError) -> Result {
        try retrying { () throws(SystemError) in try body(system, descriptor) }
    }
}

/// Repeats a call while signals interrupt it.
func retrying<Result>(
    _ body: () throws(SystemError) -> Result
) throws(SystemError) -> Result {
    while true {
        do {
            return try body()
        } catch {
            if error.code != .interrupted { throw error }
        }
    }
}
