internal import StratusBytes

/// Features of the format that came after its first version, as manifest and segments state them:
/// a bit each, in three groups that say what a program may do that does not know the bit. Rules:
/// `Formats/README.md`, "Features".
package struct FeatureSet: Equatable, Sendable {
    /// It may read and write.
    package var compatible: UInt32 = 0
    /// It may read, and not write.
    package var readOnlyCompatible: UInt32 = 0
    /// It may not even read.
    package var incompatible: UInt32 = 0

    package init() {}

    /// Those that this code knows: none came after the first version yet.
    private static let known = FeatureSet()

    /// In bytes, with four that are reserved.
    static let length = 16

    /// Reads the set at `place`. Fails where something that is not known forbids reading.
    init(
        _ bytes: Span<UInt8>, at place: Int, file name: String
    ) throws(JournalDamage) {
        compatible = bytes.uint32(at: place)
        readOnlyCompatible = bytes.uint32(at: place + 4)
        incompatible = bytes.uint32(at: place + 8)
        let unknown = incompatible & ~Self.known.incompatible
        guard unknown == 0 else {
            throw JournalDamage(.newerFeatures(unknown), file: name, byte: place + 8)
        }
    }

    /// Fails where something that is not known forbids writing; `file` has the set at `place`.
    func checkWriting(file name: String, at place: Int) throws(JournalDamage) {
        let unknown = readOnlyCompatible & ~Self.known.readOnlyCompatible
        guard unknown == 0 else {
            throw JournalDamage(.newerFeatures(unknown), file: name, byte: place + 4)
        }
    }

    func write(to writer: inout ByteWriter) {
        writer.uint32(compatible)
        writer.uint32(readOnlyCompatible)
        writer.uint32(incompatible)
        writer.uint32(0)
    }
}
