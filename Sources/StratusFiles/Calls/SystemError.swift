internal import CLinux
internal import Glibc

/// A system call failed.
package struct SystemError: Error, Equatable, Sendable {
    package enum Code: Equatable, Sendable {
        case interrupted
        case exists
        case notFound
        case noSpace
        case inputOutput
        case wouldBlock
        case permission
        /// The process, or the system, has as many files open as it may.
        case tooManyFiles
        /// The process, its user or its control group has as many threads as it may.
        case tooManyThreads
        /// A request named a path outside the directories that the host permits.
        case outsideBounds
        /// A request named a path inside the directory of a store.
        case insideStore
        case other(Int32)

        package static let nameTooLong = Code.other(ENAMETOOLONG)
    }

    package var code: Code
    /// The name of the call.
    package var call: StaticString

    package init(_ code: Code, in call: StaticString) {
        self.code = code
        self.call = call
    }

    package static func == (left: SystemError, right: SystemError) -> Bool {
        left.code == right.code && left.call.description == right.call.description
    }
}

/// Failures that a caller of a call tells apart.
extension SystemError.Code {
    package static let badDescriptor = Self.other(EBADF)
    package static let notDirectory = Self.other(ENOTDIR)
    package static let isDirectory = Self.other(EISDIR)
    package static let invalid = Self.other(EINVAL)
    package static let notSupported = Self.other(EOPNOTSUPP)
    package static let tooManyLinks = Self.other(ELOOP)
    /// The file system takes no such name.
    package static let badName = Self.other(EILSEQ)
}

extension SystemError {
    init(number: Int32, in call: StaticString) {
        let code: Code =
            switch number {
            case EINTR: .interrupted
            case EEXIST: .exists
            case ENOENT: .notFound
            case ENOSPC, EDQUOT, EFBIG: .noSpace
            case EIO: .inputOutput
            case EAGAIN: .wouldBlock
            case EACCES, EPERM, EROFS: .permission
            case EMFILE, ENFILE: .tooManyFiles
            default: .other(number)
            }
        self.init(code, in: call)
    }
}

extension SystemError {
    /// Whether nothing is where the path leads that the call could use.
    package var isOfPath: Bool {
        switch code {
        case .notFound, .notDirectory, .isDirectory, .tooManyLinks, .other(ENAMETOOLONG): true
        default: false
        }
    }
}

extension SystemError: CustomStringConvertible {
    package var description: String { "\(call): \(reason)" }

    private var reason: String {
        switch code {
        case .interrupted: "interrupted"
        case .exists: "the name exists"
        case .notFound: "no such file"
        case .noSpace: "no space left"
        case .inputOutput: "input/output error"
        case .wouldBlock: "would block"
        case .permission: "not permitted"
        case .tooManyFiles: "too many open files"
        case .tooManyThreads: "the system gives no further thread"
        case .outsideBounds: "the path leads out of the permitted directories"
        case .insideStore: "the path leads into the directory of a store"
        case .other(let number): Self.text(of: number) ?? "error \(number)"
        }
    }

    private static func text(of number: Int32) -> String? {
        // Safe: the text is a C string that lives as long as the process.
        guard let text = unsafe clinux_error_text(number) else { return nil }
        return unsafe String(cString: text).lowercased()
    }
}
