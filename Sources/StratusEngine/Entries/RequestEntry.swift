package import StratusBytes
package import StratusJournal

/// The entry of a long-lived request: `Formats/Record.md`, "Request".
package struct RequestEntry: Equatable, Sendable {
    /// How urgent it is.
    package enum Priority: UInt8, Sendable {
        case low = 0
        case normal = 1
        case high = 2
    }

    /// So long a request is kept, in microseconds between the times of the commits.
    package static let lifetime: Int64 = 604_800_000_000
    /// So many requests of a user are kept at once, with so many bytes together.
    package static let countLimit = 1000
    package static let bytesLimit = 64 << 20

    /// The user who asked.
    package var caller: Hash128
    package var id: String
    package var scope: SubscriptionEntry.Scope
    package var priority: Priority
    /// What the host calls the caller; empty where that is a record name, or too long to be kept.
    package var hostName: String
    /// Of the caller; empty: the one without a name.
    package var device: String
    /// What lies before it is read; zero of what changes records.
    package var point: JournalOffset
    package var body: RequestBody

    package init(
        caller: UserID, id: String, scope: SubscriptionEntry.Scope, priority: Priority,
        hostName: String, device: String, point: JournalOffset, body: RequestBody
    ) {
        self.caller = caller.bits
        self.id = id
        self.scope = scope
        self.priority = priority
        // What a user's own entry would keep of the name.
        self.hostName = UserEntry(number: 1, user: caller, name: hostName, created: 0).hostName
        self.device = device
        self.point = point
        self.body = body
    }

    /// Whether a request committed at one time is forgotten at another, both in microseconds.
    package static func isExpired(_ time: Int64, at now: Int64) -> Bool {
        now > time.addingReportingOverflow(lifetime).partialValue
    }

    package func write(to writer: inout ByteWriter) {
        writer.append(OperationEntry.identity(caller, id))
        writer.uint8(scope.rawValue)
        writer.uint8(priority.rawValue)
        writer.countedText(hostName)
        writer.countedText(device)
        writer.varint(point.rawValue)
        body.write(to: &writer)
    }

    package init(_ bytes: Span<UInt8>) throws(FormatError) {
        var cursor = ByteCursor()
        (caller, id) = try OperationEntry.readIdentity(bytes, &cursor)
        scope = try SubscriptionEntry.Scope(bytes, &cursor)
        guard let priority = Priority(rawValue: try cursor.uint8(bytes)) else {
            throw .newer("priority")
        }
        self.priority = priority
        hostName = try cursor.text(bytes, upTo: UserEntry.hostNameLimit)
        device = try cursor.text(bytes, upTo: NameRules.limit)
        let point = try cursor.varint(bytes)
        guard point < JournalOffset.limit else { throw .value("offset") }
        self.point = JournalOffset(rawValue: point)
        body = try RequestBody(bytes, &cursor)
        if body.isChange, point != 0 { throw .value("offset") }
        try ExtensionBlock.end(bytes, &cursor)
    }
}

/// The entry of what became of a long-lived request: `Formats/Record.md`, "Request state".
package struct RequestStateEntry: Equatable, Sendable {
    package enum State: Equatable, Sendable {
        /// It was run.
        case finished([Failure])
        /// Its outcome was given to the caller.
        case delivered
        case cancelled

        /// Whether nothing is left of the request.
        package var isEnd: Bool { if case .finished = self { false } else { true } }
    }

    /// Why items failed of which no receipt says so.
    package struct Failure: Equatable, Sendable {
        /// The place of the first in the request, and how many follow one another; without any, the
        /// call failed as a whole.
        package var start: Int
        package var count: Int
        package var code: Int
        package var reason: String

        /// The places of the items.
        package var range: Range<Int> { start..<start + count }

        package init(start: Int, count: Int, code: Int, reason: String) {
            self.start = start
            self.count = count
            self.code = code
            self.reason = reason
        }
    }

    private enum Kind {
        static let finished: UInt8 = 1
        static let delivered: UInt8 = 2
        static let cancelled: UInt8 = 3
    }

    private static let reasonLimit = 1024

    package var caller: Hash128
    package var id: String
    /// Where the entry of the request lies.
    package var request: JournalOffset
    /// When that was committed, in microseconds since 1970: a clock may have gone back since, and
    /// what became of a request is known for as long as the request.
    package var submitted: Int64
    package var state: State

    package init(
        caller: Hash128, id: String, request: JournalOffset, submitted: Int64, state: State
    ) {
        self.caller = caller
        self.id = id
        self.request = request
        self.submitted = submitted
        self.state = state
    }

    package func write(to writer: inout ByteWriter) {
        writer.append(OperationEntry.identity(caller, id))
        writer.varint(request.rawValue)
        writer.signedVarint(submitted)
        switch state {
        case .finished(let failures):
            writer.uint8(Kind.finished)
            writer.varint(failures.count)
            for failure in failures {
                writer.varint(failure.start)
                writer.varint(failure.count)
                writer.varint(max(0, failure.code))
                // At most four bytes each.
                let scalars = failure.reason.unicodeScalars.prefix(Self.reasonLimit / 4)
                writer.countedText(String(String.UnicodeScalarView(scalars)))
            }
        case .delivered: writer.uint8(Kind.delivered)
        case .cancelled: writer.uint8(Kind.cancelled)
        }
    }

    package init(_ bytes: Span<UInt8>) throws(FormatError) {
        var cursor = ByteCursor()
        (caller, id) = try OperationEntry.readIdentity(bytes, &cursor)
        let request = try cursor.varint(bytes)
        guard request > 0, request < JournalOffset.limit else { throw .value("offset") }
        self.request = JournalOffset(rawValue: request)
        submitted = try cursor.signedVarint(bytes)
        switch try cursor.uint8(bytes) {
        case Kind.finished: state = .finished(try Self.failures(bytes, &cursor))
        case Kind.delivered: state = .delivered
        case Kind.cancelled: state = .cancelled
        default: throw .newer("state")
        }
        try ExtensionBlock.end(bytes, &cursor)
    }

    private static func failures(
        _ bytes: Span<UInt8>, _ cursor: inout ByteCursor
    ) throws(FormatError) -> [Failure] {
        let count = try cursor.count(bytes, upTo: cursor.remaining(bytes))
        var failures: [Failure] = []
        var next = 0
        for _ in 0..<count {
            let start = try cursor.count(bytes, upTo: Int(Int32.max))
            let length = try cursor.count(bytes, upTo: Int(Int32.max))
            // One of the whole call is alone.
            guard length > 0 ? start >= next : start == 0 && count == 1 else {
                throw .value("item")
            }
            next = start + length
            let code = try cursor.count(bytes, upTo: Int(Int32.max))
            let reason = try cursor.text(bytes, upTo: reasonLimit)
            failures.append(Failure(start: start, count: length, code: code, reason: reason))
        }
        return failures
    }
}
