package import StratusBytes
package import StratusJournal

/// The entry of an operation that was done: `Formats/Record.md`, "Operation".
package struct OperationEntry: Equatable, Sendable {
    /// Where the entry of a record lies.
    package enum Place: Equatable, Sendable {
        /// So many units before the entry of the operation.
        case before(UInt64)
        case at(JournalOffset)
    }

    /// A record that was saved.
    package struct Saved: Equatable, Sendable {
        package var place: Place
        /// In milliseconds since 1970.
        package var modified: Int64
        package var created: Int64
        package var creator: Hash128

        package init(place: Place, modified: Int64, created: Int64, creator: Hash128) {
            self.place = place
            self.modified = modified
            self.created = created
            self.creator = creator
        }

        /// Where it lies, told from where the entry of the operation does; nil where that cannot be.
        package func offset(from operation: JournalOffset) -> JournalOffset? {
            switch place {
            case .at(let offset): offset
            case .before(let units):
                units <= operation.rawValue
                    ? JournalOffset(rawValue: operation.rawValue - units) : nil
            }
        }
    }

    /// What became of an item.
    package enum Outcome: Equatable, Sendable {
        /// A deletion: the record is not there.
        case gone
        case saved(Saved)
        /// `server`: the version that it is in conflict with, or 0.
        case failed(code: Int, reason: String, server: UInt64)
    }

    private enum Kind {
        static let gone: UInt8 = 0
        /// By the caller, for the first time.
        static let inserted: UInt8 = 1
        static let saved: UInt8 = 2
        static let failed: UInt8 = 3
    }

    /// So long a repeat is known, in microseconds between the times of the commits.
    package static let lifetime: Int64 = 86_400_000_000
    private static let reasonLimit = 4096

    /// The user who asked.
    package var caller: Hash128
    package var id: String
    /// Of all that was asked for, in all zones.
    package var request: Hash128
    /// In the order of the names of the records.
    package var outcomes: [Outcome]
    /// When the long-lived request was committed that asked for it, in microseconds since 1970: it is
    /// known for as long as that may be kept. Nil of a call that was made at once.
    package var submitted: Int64?

    /// Until when the operation is known that was committed at `time`, both in microseconds.
    package func end(_ time: Int64) -> Int64 {
        let (begin, length) =
            submitted.map { (max(time, $0), RequestEntry.lifetime) } ?? (time, Self.lifetime)
        return begin.addingReportingOverflow(length).partialValue
    }

    /// What tells operations apart: in the entry it stands like this at the beginning.
    package static func identity(_ caller: Hash128, _ id: String) -> [UInt8] {
        var writer = ByteWriter()
        writer.hash(caller)
        writer.countedText(id)
        return writer.bytes
    }

    package func write(to writer: inout ByteWriter) {
        writer.append(Self.identity(caller, id))
        writer.hash(request)
        writer.varint(outcomes.count)
        for outcome in outcomes { write(outcome, to: &writer) }
        // Of a call that was made at once nothing follows.
        guard let submitted else { return }
        writer.uint8(1)
        writer.signedVarint(submitted)
    }

    private func write(_ outcome: Outcome, to writer: inout ByteWriter) {
        switch outcome {
        case .gone: writer.uint8(Kind.gone)
        case .saved(let saved):
            let isInsert = saved.creator == caller && saved.created == saved.modified
            writer.uint8(isInsert ? Kind.inserted : Kind.saved)
            switch saved.place {
            case .before(let units): writer.varint(units << 1)
            case .at(let offset): writer.varint(offset.rawValue << 1 | 1)
            }
            writer.signedVarint(saved.modified)
            if isInsert { return }
            writer.signedVarint(saved.created)
            writer.hash(saved.creator)
        case .failed(let code, let reason, let server):
            writer.uint8(Kind.failed)
            writer.varint(max(0, code))
            writer.varint(server)
            // At most four bytes each.
            let scalars = reason.unicodeScalars.prefix(Self.reasonLimit / 4)
            writer.countedText(String(String.UnicodeScalarView(scalars)))
        }
    }

    /// More than what the outcome of an item takes that was done, or that failed for a reason of so
    /// many bytes.
    package static func greatestLength(reason: Int? = nil) -> Int {
        reason.map { 32 + min($0, reasonLimit) } ?? 48
    }

    package init(
        caller: Hash128, id: String, request: Hash128, outcomes: [Outcome],
        submitted: Int64? = nil
    ) {
        self.caller = caller
        self.id = id
        self.request = request
        self.outcomes = outcomes
        self.submitted = submitted
    }

    package init(_ bytes: Span<UInt8>) throws(FormatError) {
        var cursor = ByteCursor()
        (caller, id) = try Self.readIdentity(bytes, &cursor)
        request = try cursor.hash(bytes)
        let count = try cursor.count(bytes, upTo: cursor.remaining(bytes))
        outcomes = []
        outcomes.reserveCapacity(count)
        for _ in 0..<count {
            outcomes.append(try Self.readOutcome(bytes, &cursor, caller: caller))
        }
        if cursor.remaining(bytes) > 0 {
            guard try cursor.uint8(bytes) == 1 else { throw .newer("flags") }
            submitted = try cursor.signedVarint(bytes)
        }
        try cursor.end(bytes)
    }

    /// Reads the beginning, where it is said which operation it is.
    package static func readIdentity(
        _ bytes: Span<UInt8>, _ cursor: inout ByteCursor
    ) throws(FormatError) -> (caller: Hash128, id: String) {
        let caller = try cursor.hash(bytes)
        let id = try cursor.text(bytes, upTo: NameRules.limit)
        guard !id.isEmpty else { throw .value("operationID") }
        return (caller, id)
    }

    private static func readOutcome(
        _ bytes: Span<UInt8>, _ cursor: inout ByteCursor, caller: Hash128
    ) throws(FormatError) -> Outcome {
        let kind = try cursor.uint8(bytes)
        switch kind {
        case Kind.gone: return .gone
        case Kind.inserted, Kind.saved:
            let place = try readPlace(bytes, &cursor)
            let modified = try cursor.signedVarint(bytes)
            guard kind == Kind.saved else {
                return .saved(
                    Saved(place: place, modified: modified, created: modified, creator: caller))
            }
            let created = try cursor.signedVarint(bytes)
            let creator = try cursor.hash(bytes)
            guard creator != caller || created != modified else { throw .value("outcome") }
            return .saved(
                Saved(place: place, modified: modified, created: created, creator: creator))
        case Kind.failed:
            let code = try cursor.count(bytes, upTo: Int(Int32.max))
            let server = try cursor.varint(bytes)
            let reason = try cursor.text(bytes, upTo: reasonLimit)
            return .failed(code: code, reason: reason, server: server)
        default: throw .newer("outcome")
        }
    }

    private static func readPlace(
        _ bytes: Span<UInt8>, _ cursor: inout ByteCursor
    ) throws(FormatError) -> Place {
        let value = try cursor.varint(bytes)
        guard value >> 1 < JournalOffset.limit else { throw .value("place") }
        return value & 1 == 0 ? .before(value >> 1) : .at(JournalOffset(rawValue: value >> 1))
    }
}

/// The entry of what a device said with a change: `Formats/Record.md`, "Client token".
package struct ClientTokenEntry: Equatable, Sendable {
    package var caller: Hash128
    package var device: String
    package var token: [UInt8]

    package static let tokenLimit = 4096

    package init(caller: Hash128, device: String, token: some Collection<UInt8>) {
        self.caller = caller
        self.device = device
        self.token = Array(token)
    }

    /// What tells devices apart: in the entry it stands like this at the beginning.
    package static func identity(_ caller: Hash128, _ device: String) -> [UInt8] {
        OperationEntry.identity(caller, device)
    }

    package func write(to writer: inout ByteWriter) {
        writer.append(Self.identity(caller, device))
        writer.append(token)
    }

    package init(_ bytes: Span<UInt8>) throws(FormatError) {
        var cursor = ByteCursor()
        caller = try cursor.hash(bytes)
        device = try cursor.text(bytes, upTo: NameRules.limit)
        guard cursor.remaining(bytes) <= Self.tokenLimit else {
            throw .value("length")
        }
        token = bytes.array(in: cursor.position..<bytes.count)
    }
}
