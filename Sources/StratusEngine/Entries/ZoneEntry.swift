package import StratusBytes

/// What has become of a zone.
package enum ZoneState: UInt8, Sendable {
    case alive = 1
    case deleted = 2
    /// The user's data were removed as a whole.
    case purged = 3
    /// In an archive of other zones: of this one, or of a share that had the number, nothing is known.
    case leftOut = 4
}

/// What a zone can do: CloudKit's bits, as of ``RecordZone/Capabilities-swift.struct``.
package struct ZoneCapabilities: OptionSet, Sendable {
    package let rawValue: UInt8

    package init(rawValue: UInt8) { self.rawValue = rawValue }

    package static let fetchChanges = ZoneCapabilities(rawValue: 1)
    package static let sharing = ZoneCapabilities(rawValue: 4)
    /// All, which a zone has that a user made.
    package static let custom = ZoneCapabilities(rawValue: 15)
}

/// The entry of a zone: `Formats/Record.md`, "Zone".
package struct ZoneEntry: Equatable, Sendable {
    /// Never used again, also when a zone of the same name is made anew.
    package var number: UInt32
    package var database: UInt32
    package var state: ZoneState
    package var capabilities: ZoneCapabilities
    /// ``DeviceHash`` of the device that made or deleted it; nil: not known.
    package var device: UInt64?
    /// Empty of one that was left out.
    package var name: String
    /// Of a zone that was restored from elsewhere, or from this store's past, with its history.
    package var lineage: ZoneLineage?

    /// Of the zone that each database has without its being made.
    package static let defaultName = "_defaultZone"

    package func write(to writer: inout ByteWriter) {
        writer.varint(number)
        writer.varint(database)
        writer.uint8(state.rawValue)
        writer.uint8(capabilities.rawValue)
        writer.uint16(UInt16(lineage?.sources.count ?? 0))
        writer.uint64(device ?? 0)
        writer.countedText(name)
        lineage?.write(to: &writer)
    }

    package init(
        number: UInt32, database: UInt32, state: ZoneState,
        capabilities: ZoneCapabilities, device: UInt64? = nil, name: String
    ) {
        self.number = number
        self.database = database
        self.state = state
        self.capabilities = capabilities
        self.device = device
        self.name = name
    }

    /// What has become of the zone at `place`.
    package init(
        _ place: ZonePlace, state: ZoneState, device: UInt64? = nil, name: String
    ) {
        self.init(
            number: place.number, database: place.database, state: state,
            capabilities: place.capabilities, device: device, name: name)
    }

    package init(_ bytes: Span<UInt8>) throws(FormatError) {
        var cursor = ByteCursor()
        number = try cursor.varint32(bytes)
        database = try cursor.varint32(bytes)
        guard let state = ZoneState(rawValue: try cursor.uint8(bytes)) else {
            throw .newer("state")
        }
        self.state = state
        capabilities = ZoneCapabilities(rawValue: try cursor.uint8(bytes))
        let sourceCount = Int(try cursor.uint16(bytes))
        let device = try cursor.uint64(bytes)
        self.device = device == 0 ? nil : device
        name = try cursor.text(bytes, upTo: 255)
        guard number > 0, number < 1 << 31, database < 1 << 31,
            name.isEmpty == (state == .leftOut), sourceCount <= ZoneLineage.sourceLimit
        else { throw .value("zone") }
        guard capabilities.isSubset(of: .custom) else { throw .newer("capabilities") }
        if sourceCount > 0 { lineage = try ZoneLineage(sourceCount, bytes, &cursor) }
        try ExtensionBlock.end(bytes, &cursor)
    }
}
