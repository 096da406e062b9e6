package import StratusBytes
internal import StratusFiles

// What a collection of unreferenced chunks does to segments.
extension ChunkStore {
    /// The numbers of all segments, the oldest first.
    package func segmentNumbers() throws(ChunkError) -> [UInt64] {
        do {
            return try storage.list().compactMap(ChunkSegmentHeader.number(ofFile:)).sorted()
        } catch {
            throw .storage(error)
        }
    }

    /// How many bytes the file of a segment has, which is more than ``usedLength(of:)``.
    package func length(of number: UInt64) throws(ChunkError) -> Int {
        try measure(number) { segment throws(ChunkError) in segment.file.length }
    }

    /// How many bytes the frames of a segment take, as they say; 0 where it has none that holds.
    package func usedLength(of number: UInt64) throws(ChunkError) -> Int {
        try measure(number) { segment throws(ChunkError) in
            var place = ChunkSegmentHeader.length
            while place + ChunkFrame.headerLength <= segment.file.length {
                let bytes: [UInt8]
                do throws(StorageError) {
                    bytes = try segment.file.read(place..<place + ChunkFrame.headerLength)
                } catch {
                    throw .storage(error)
                }
                guard
                    let frame = try? ChunkFrame(
                        header: bytes.span, at: place, salt: segment.header.salt)
                else { break }
                place += ChunkFrame.frameLength(storedLength: frame.storedLength)
            }
            return place - ChunkSegmentHeader.length
        }
    }

    private func measure(
        _ number: UInt64, _ body: (Segment) throws(ChunkError) -> Int
    ) throws(ChunkError) -> Int {
        do throws(ChunkError) {
            return try body(
                segment(number, ChunkSegmentHeader.fileName(number), .blocking))
        } catch {
            switch error {
            case .damaged: return 0
            case .storage(let error) where error.kind == .notFound || error.kind == .truncated:
                return 0
            default: throw error
            }
        }
    }

    /// Appends the chunk that lies at `place` once more, as it is stored, verified.
    package func copy(
        _ address: ChunkAddress, at place: ChunkLocation
    ) throws(ChunkError) -> ChunkLocation {
        let (frame, bytes) = try frame(address, at: place, .blocking)
        do throws(ChunkDamage.Kind) {
            _ = try frame.content(of: bytes)
        } catch {
            throw .damaged(ChunkDamage(error, file: place.file, byte: place.byte))
        }
        return try append(EncodedChunk(frame, stored: bytes[frame.storedRange]))
    }

    /// Deletes a segment in which nothing is named; false where a reader keeps the file. The last
    /// one, whose number would be given again, goes when there is another, which is made for it.
    package func delete(_ number: UInt64) throws(ChunkError) -> Bool {
        precondition(number < currentNumber, "what is being written is not deleted")
        if try segmentNumbers().last == number {
            guard try usedLength(of: number) > 0 else { return false }
            try beginNext()
        }
        // A reader may open it between the two.
        defer { forget(number) }
        do {
            return try storage.delete(ChunkSegmentHeader.fileName(number))
        } catch {
            throw .storage(error)
        }
    }
}

// What a copy of a store takes.
extension ChunkStore {
    /// The first bytes of a segment, for a store with the identity `storeID`: of the frames behind it
    /// nothing depends on that.
    package func header(
        ofSegment number: UInt64, for storeID: Hash128
    ) throws(ChunkError) -> [UInt8] {
        var header = try segment(number, ChunkSegmentHeader.fileName(number), .blocking).header
        header.storeID = storeID
        return header.encoded()
    }

    /// The frame of a chunk as it lies in its segment, header and padding with it; that its bytes are
    /// what was stored is verified.
    ///
    /// - Parameter verifiesAddress: whether it is verified, too, that the address is that of its bytes:
    ///   they are unpacked and hashed for it.
    package func storedFrame(
        _ address: ChunkAddress, at place: ChunkLocation, verifyingAddress verifiesAddress: Bool
    ) throws(ChunkError) -> [UInt8] {
        let (frame, bytes) = try frame(address, at: place, .blocking)
        if verifiesAddress {
            do throws(ChunkDamage.Kind) {
                _ = try frame.content(of: bytes)
            } catch {
                throw .damaged(ChunkDamage(error, file: place.file, byte: place.byte))
            }
            return bytes
        }
        guard Checksum.xxh3(bytes.span, in: frame.storedRange) == frame.checksum,
            bytes.span.isZero(in: frame.storedRange.upperBound..<bytes.count)
        else {
            throw .damaged(ChunkDamage(.frame("checksum"), file: place.file, byte: place.byte))
        }
        return bytes
    }
}
