import StratusBytes
internal import StratusFiles
package import StratusJournal

/// What a journal is folded into by the tests: the list of its commits.
package struct ModelFold: CommitParticipant {
    package private(set) var commits: [FoldedCommit] = []
    /// How many preambles were read.
    package private(set) var preambleCount = 0
    /// How often something was taken back.
    package private(set) var abandonCount = 0
    /// What every segment begins with, at most as long as the shortest segment allows.
    private let preamble: [UInt8]
    /// What the participant tells the test.
    package let outcomes = ModelOutcomes()

    private var open: FoldedCommit?
    private var savepointCount = 0
    private let entryKind = EntryKind(rawValue: 32)

    package init(preamble: [UInt8] = []) { self.preamble = preamble }

    package func preamble(limit: Int) -> [UInt8] { preamble }

    package var numbers: [UInt64] { commits.map(\.number) }

    /// The fold as it was when ``encoded`` was taken; nil where the bytes are no such thing.
    package init?(decoding bytes: [UInt8], preamble: [UInt8]) {
        self.init(preamble: preamble)
        let span = bytes.span
        let end = bytes.count - 8
        guard end >= 0, Checksum.xxh3(span, in: 0..<end) == span.uint64(at: end) else { return nil }
        var cursor = ByteCursor()
        while cursor.position < end {
            guard let commit = try? FoldedCommit(&cursor, span) else { return nil }
            commits.append(commit)
        }
    }

    /// All of it, for a checkpoint.
    package var encoded: [UInt8] {
        var writer = ByteWriter()
        for commit in commits { commit.write(to: &writer) }
        writer.uint64(Checksum.xxh3(writer.bytes.span))
        return writer.bytes
    }

    package mutating func apply(
        _ header: FrameHeader, at offset: JournalOffset, payload: Span<UInt8>
    ) throws(JournalDamage.Kind) {
        if header.kind == .preamble {
            preambleCount += 1
            guard payload.array == preamble else { throw .payload("preamble") }
            return
        }
        guard header.kind == entryKind, payload.count >= ModelCommit.prefixLength else {
            throw .payload("length")
        }
        let number = payload.uint64(at: 0)
        var commit = open ?? FoldedCommit(number: number)
        let place = commit.offsets.count
        let expected = ModelCommit.payload(of: number, place, length: payload.count)
        guard commit.number == number, header.ordinal == place, payload.equals(expected),
            header.version.offset == offset, header.zone == UInt32(truncatingIfNeeded: number)
        else { throw .payload("content") }
        commit.lengths.append(payload.count)
        commit.offsets.append(offset.rawValue)
        open = commit
    }

    package mutating func endGroup() {}

    package mutating func complete(end: JournalOffset, time: Int64) {
        guard var commit = open else { preconditionFailure("nothing to complete") }
        commit.time = time
        commits.append(commit)
        open = nil
    }

    package mutating func setSavepoint() {
        savepointCount = commits.count
        open = nil
    }

    package mutating func rollBack() {
        abandonCount += 1
        commits.removeLast(commits.count - savepointCount)
        open = nil
    }
}

extension ModelFold {
    package static func stage(
        _ commit: ModelCommit, in stage: inout CommitStage<ModelFold>
    ) throws(JournalError) {
        let time = stage.writer.clock.now()
        switch commit.course {
        case .refused: break
        case .short:
            let part = buffer(of: commit, 0..<commit.lengths.count)
            try stage.append(part, isLast: true, time: time)
        case .long(let count):
            for start in stride(from: 0, to: commit.lengths.count, by: count) {
                let end = min(start + count, commit.lengths.count)
                let part = buffer(of: commit, start..<end)
                try stage.append(part, isLast: end == commit.lengths.count, time: time)
            }
        case .abandoned(let count):
            for place in 0..<min(count, commit.lengths.count) {
                let part = buffer(of: commit, place..<place + 1)
                try stage.append(part, isLast: false, time: time)
            }
            try stage.abandon()
        }
    }

    private static func buffer(of commit: ModelCommit, _ places: Range<Int>) -> CommitBuffer {
        var buffer = CommitBuffer()
        for place in places {
            do {
                try buffer.append(
                    EntryKind(rawValue: 32), zone: UInt32(truncatingIfNeeded: commit.number)
                ) { $0.append(commit.payload(place)) }
            } catch {
                preconditionFailure("the model's entries are short: \(error)")
            }
        }
        return buffer
    }

    package mutating func publish(
        _ view: JournalView, of identity: StoreIdentity, head: JournalOffset
    ) {
        outcomes.publish(commits, view, head)
    }

    package mutating func takeChanges() {}
}
