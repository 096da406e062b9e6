internal import StratusAssets
internal import StratusBytes
internal import StratusFiles
package import StratusJournal
internal import StratusEngine

/// A place in the files of a store.
package enum StorePlace: Sendable {
    /// In the journal.
    case offset(UInt64)
    /// A byte of one of the files, by its name.
    case byte(Int, file: String)
}

/// What lies at a place of a store.
package struct Explanation: Sendable {
    /// What became of the version of a record that an entry holds.
    package enum Fate: Sendable, Equatable {
        case newest
        /// The newest version, or the deletion, is at that offset.
        case replaced(by: UInt64)
    }

    /// In words for people: what part of a file it is, or why it is none.
    package var part: String
    /// Nil where no file has the place.
    package var file: String?
    /// The bytes of the file that the part fills, as far as that is known.
    package var bytes: Range<Int>?
    /// Of a place in the journal.
    package var offset: UInt64?
    /// The frame that the place lies in.
    package var line: JournalLog.Line?
    /// Of the version of a record.
    package var fate: Fate?
}

extension Container {
    /// What lies at a place of the store.
    ///
    /// - Throws: ``StoreError`` with the code `invalidArguments` where the store has no such file, or the
    ///   file no such byte; with the cause `damaged` where the place lies in damage.
    package func explain(_ place: StorePlace) throws(StoreError) -> Explanation {
        do {
            switch place {
            case .offset(let offset): return try explain(JournalOffset(rawValue: offset))
            case .byte(let byte, let file): return try explain(byte, of: file)
            }
        } catch {
            throw StoreError(translating: error)
        }
    }

    private func explain(_ offset: JournalOffset) throws -> Explanation {
        let reading = reading.waiting
        var found = Explanation(part: "", offset: offset.rawValue)
        guard offset < reading.head else {
            found.part = "behind the end of the journal, which is at offset \(reading.head)"
            return found
        }
        guard
            let segment = reading.view.segments.first(where: {
                $0.base <= offset && offset < $0.limit
            })
        else {
            found.part = "a gap between two segments: nothing of the store was ever there"
            return found
        }
        found.file = segment.listed.fileName
        if segment.listed.isCompacted {
            try find(offset, in: segment, &found)
            if found.line == nil { found.part = "nothing that was kept: compaction dropped it" }
            return found
        }
        if offset < segment.listed.firstGroup {
            found.part = "the header of a segment"
            found.bytes = 0..<segment.listed.firstGroup.bytes(since: segment.base)
        } else if offset >= segment.end {
            found.part = "behind the end of a segment, which is at offset \(segment.end)"
            found.bytes = segment.end.bytes(since: segment.base)..<segment.lengthInBytes
        } else {
            try find(offset, in: segment, &found)
            if found.line == nil {
                found.part = "the frame of a group of entries, or zeros up to the next"
            }
        }
        return found
    }

    /// Finds the frame of a segment in which `offset` lies.
    private func find(
        _ offset: JournalOffset, in segment: JournalView.Segment, _ found: inout Explanation
    ) throws {
        var log = log(from: segment.base.rawValue, to: offset.rawValue + 1, skipsDamaged: true)
        var last: JournalLog.Line?
        while let line = try log.nextLine() { last = line }
        if let damage = log.takeSkipped().last, damage.offset ?? .zero > last?.entry.offset ?? .zero
        {
            throw JournalError(damage)
        }
        guard let last else { return }
        let end = last.entry.offset.advanced(byBytes: last.entry.header.frameLength)
        let isInside = segment.listed.isCompacted ? last.entry.offset == offset : offset < end
        if isInside { try take(last, &found) }
    }

    private func take(_ line: JournalLog.Line, _ found: inout Explanation) throws {
        let entry = line.entry
        found.line = line
        found.part = entry.kind.isEntry ? "an entry" : "a frame of the journal's own"
        if line.group == nil, entry.kind.isEntry {
            found.part = "an entry, in a block of a compacted segment"
        } else {
            found.bytes = line.byte..<line.byte + entry.header.frameLength
        }
        guard entry.kind == .record || entry.kind == .tombstone,
            let name = describe(entry).recordName
        else { return }
        let reading = reading.waiting
        guard let value = try reading.value(.record(entry.zone, reading.hash(name))) else { return }
        let newest = EntryLocation(value).offset
        found.fate = newest == entry.offset ? .newest : .replaced(by: newest.rawValue)
    }
}

// Bytes of files.
extension Container {
    private func explain(_ byte: Int, of file: String) throws -> Explanation {
        let storage = foundation.storage
        guard try storage.list().contains(file) else {
            throw StoreError(.invalidArguments, "the store has no file \(file)")
        }
        let length = try storage.open(file).length
        guard 0..<length ~= byte else {
            throw StoreError(
                .invalidArguments, "\(file) has no byte \(byte): it has \(length) bytes")
        }
        if let segment = reading.view.segments.first(where: { $0.listed.fileName == file }) {
            return try explain(byte, in: segment)
        }
        var found = Explanation(part: "", file: file)
        let manifest = try Journal.newestManifest(in: storage)
        if let manifest, file == manifest.fileName {
            (found.part, found.bytes) = manifest.part(at: byte, length: length)
        } else if manifest?.checkpoint?.files.contains(file) == true {
            found.part = "a table of the index, which 'stratus reindex' makes anew"
        } else if ChunkStore.isSegment(file) {
            found.part = "a segment of the chunks of assets"
        } else if file == "writer" {
            found.part = "who has, or had, the store open for writing"
        } else if file == LocalStorage.listenerFile {
            found.part = "where the process is, or was, reached that has the store open"
        } else {
            found.part = "a file that the newest manifest does not list"
        }
        return found
    }

    private func explain(_ byte: Int, in segment: JournalView.Segment) throws -> Explanation {
        guard segment.listed.isCompacted else {
            return try explain(segment.base.advanced(byBytes: byte & ~7))
        }
        let blocks = try reading.view.blocks(of: segment)
        var found = Explanation(part: "", file: segment.listed.fileName)
        if byte < blocks.lowerBound {
            (found.part, found.bytes) = ("the header of a compacted segment", 0..<blocks.lowerBound)
            return found
        }
        guard byte < blocks.upperBound else {
            (found.part, found.bytes) = (
                "the directory of a compacted segment", blocks.upperBound..<segment.lengthInBytes
            )
            return found
        }
        // The entries of a block have no bytes of their own: it may be compressed.
        var log = log(from: segment.base.rawValue, to: segment.end.rawValue)
        var first: JournalLog.Line?
        var last: JournalLog.Line?
        var end = blocks.upperBound
        while let line = try log.nextLine() {
            if line.byte > byte {
                end = line.byte
                break
            }
            if line.byte != first?.byte { first = line }
            last = line
        }
        guard let first, let last else { return found }
        found.part =
            "a block of a compacted segment, with the entries from offset \(first.entry.offset) to "
            + "\(last.entry.offset)"
        found.bytes = first.byte..<end
        found.offset = first.entry.offset.rawValue
        return found
    }
}
