// What lies where in a manifest's file, in words for people.
extension Manifest {
    /// The part that holds `byte` of the file, which is `length` bytes long, and its bytes:
    /// `Formats/Manifest.md`, "Layout".
    package func part(at byte: Int, length: Int) -> (name: String, bytes: Range<Int>) {
        if byte < checkpointPlace { return ownPart(at: byte) }
        // At the end of the file, if it is whole.
        let copyEnd = length - 8
        let copy = max(checkpointPlace, copyEnd - checkpointPlace)
        if byte < copy {
            return (
                "the checkpoint of a manifest, which 'stratus reindex' makes anew, or zeros behind it",
                checkpointPlace..<copy
            )
        }
        guard byte < copyEnd else { return ("the length of the copy", max(copy, copyEnd)..<length) }
        let part = ownPart(at: byte - copy)
        let start = part.bytes.lowerBound + copy
        return (part.name + ", in the copy", start..<start + part.bytes.count)
    }

    /// Of what stands before the checkpoint.
    private func ownPart(at byte: Int) -> (name: String, bytes: Range<Int>) {
        let segmentsStart = checkpointPlace - 8 - segments.count * Self.segmentLength
        let ancestorsStart = segmentsStart - ancestors.count * Self.ancestorLength
        if byte < ancestorsStart { return ("the head of a manifest", 0..<ancestorsStart) }
        if byte < segmentsStart {
            return ("the ancestors of a manifest", ancestorsStart..<segmentsStart)
        }
        let number = (byte - segmentsStart) / Self.segmentLength
        guard number < segments.count else {
            return ("the checksum of a manifest", checkpointPlace - 8..<checkpointPlace)
        }
        let start = segmentsStart + number * Self.segmentLength
        return (
            "what a manifest says of \(segments[number].fileName)",
            start..<start + Self.segmentLength
        )
    }
}
