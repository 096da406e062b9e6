/// How the process ends. Published: a number is never given another meaning.
package enum ExitCode: Hashable, Sendable {
    case ok
    /// An answer about the data, not a failure of the tool.
    case differences
    case usage
    case partial
    /// Done, on a store whose opening reported possible loss.
    case possibleLoss
    case noStore
    case locked
    case newerFormat
    case damaged
    case notFound
    case tokenExpired
    case noSpace
    case permission
    case invalidBackup
    case exists
    case `internal`
    /// The process was asked to stop, or its reader has gone (SIGPIPE).
    case signal(Int32)

    /// What a reader that closed its pipe leaves behind, as the shell would report it.
    package static let brokenPipe = ExitCode.signal(13)

    package var number: Int32 {
        switch self {
        case .ok: 0
        case .differences: 1
        case .usage: 2
        case .partial: 3
        case .possibleLoss: 4
        case .noStore: 10
        case .locked: 11
        case .newerFormat: 12
        case .damaged: 13
        case .notFound: 14
        case .tokenExpired: 15
        case .noSpace: 16
        case .permission: 17
        case .invalidBackup: 18
        case .exists: 19
        case .internal: 70
        case .signal(let number): 128 + number
        }
    }

    package var meaning: String {
        switch self {
        case .ok: "done"
        case .differences: "differences or damage found"
        case .usage: "the command line is not understood"
        case .partial: "done in part: some items were skipped"
        case .possibleLoss: "done, but the last writes to the store may be lost"
        case .noStore: "no store there"
        case .locked: "another writer holds the store"
        case .newerFormat: "the store has a newer format"
        case .damaged: "the store is damaged and cannot be opened"
        case .notFound: "no such zone, record, field, offset, token or path"
        case .tokenExpired: "the token has expired, or that moment is not kept"
        case .noSpace: "no space left"
        case .permission: "not permitted"
        case .invalidBackup: "the backup is not valid"
        case .exists: "the name is taken, and nothing was replaced"
        case .internal: "the tool has failed"
        case .signal: "stopped by signal N"
        }
    }

    /// All but the signals.
    package static let published: [ExitCode] = [
        .ok, .differences, .usage, .partial, .possibleLoss, .noStore, .locked, .newerFormat,
        .damaged, .notFound,
        .tokenExpired, .noSpace, .permission, .invalidBackup, .exists,
        .internal,
    ]

    /// What help says of them all.
    static var descriptions: [(name: String, summary: String)] {
        published.map { (String($0.number), $0.meaning) } + [("128+N", signal(0).meaning)]
    }
}
