package import StratusAssets
internal import StratusBytes
package import StratusJournal

/// The zones of a store that an archive has, and the users and chunks that they need:
/// `Formats/Backup.md`, "Selection".
package struct SelectedZones: Sendable {
    private let zones: Set<UInt32>
    private let owners: Set<UInt32>
    private let chunks: Set<UInt64>

    /// - Parameters:
    ///   - zones: their numbers, also those of zones that are gone.
    ///   - owners: the users in whose databases they are; 0: also the public one.
    ///   - chunks: the fingerprints of those that records of the zones name.
    package init(zones: Set<UInt32>, owners: Set<UInt32>, chunks: Set<UInt64>) {
        self.zones = zones
        self.owners = owners
        self.chunks = chunks
    }

    package func contains(zone: UInt32) -> Bool { zones.contains(zone) }
    /// Whether databases of a user are among those that the zones lie in. That of all is everybody's.
    package func contains(owner: UInt32) -> Bool { owners.contains(owner) || owners.contains(0) }

    /// Whether the zones need a chunk; may be true for one that they do not, never the reverse.
    package func mayNeed(_ address: ChunkAddress) -> Bool { chunks.contains(address.fingerprint) }
}

/// What an archive of some zones has in the place of an entry.
package enum SelectedEntry {
    case whole
    case nothing
    case instead(EntryKind, zone: UInt32, payload: [UInt8])

    /// What `payload` writes, in an entry of a kind.
    static func instead(
        _ kind: EntryKind, zone: UInt32, _ payload: (inout ByteWriter) -> Void
    ) -> SelectedEntry {
        var writer = ByteWriter()
        payload(&writer)
        return .instead(kind, zone: zone, payload: writer.bytes)
    }

    /// The number of a zone or a share alone.
    static func leftOut(_ number: UInt32) -> SelectedEntry {
        let zone = ZoneEntry(
            number: number, database: 0, state: .leftOut, capabilities: [], name: "")
        return .instead(.zone, zone: number) { zone.write(to: &$0) }
    }
}
