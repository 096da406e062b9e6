package import StratusBytes
package import StratusIndex
package import StratusJournal

extension EntryKind {
    package static let zone = EntryKind(rawValue: 34)
}

extension KeySpace {
    package static var zones: KeySpace {
        KeySpace(16, "zones", names: .elsewhere, isRestated: true)
    }
    package static var zoneNumbers: KeySpace {
        KeySpace(17, "zoneNumbers", names: .elsewhere, isRestated: true)
    }
}

extension IndexKey {
    package static func zone(_ database: UInt32, _ name: Hash128) -> IndexKey {
        KeySpace.zones.key().appending(database).appending(name)
    }
    package static func zoneNumber(_ zone: UInt32) -> IndexKey {
        KeySpace.zoneNumbers.key().appending(zone)
    }
}

/// Zones by name and by number.
struct ZoneProjection: Projection {
    package static let entries = [
        EntryForm(.zone, "zone", definesNumbers: true, selection: .rewritten)
    ]
    package static let keyspaces: [KeySpace] = [.zones, .zoneNumbers]

    package mutating func apply(
        _ entry: inout FoldedEntry, _ payload: Span<UInt8>, to state: inout FoldState
    ) throws(FormatError) {
        let zone = try ZoneEntry(payload)
        try state.numbers.add(zone)
        let place = ZonePlace(zone, at: entry.offset)
        if zone.state != .leftOut {
            state.index.set(.zone(zone.database, entry.hash(zone.name)), place.value)
        }
        state.index.set(.zoneNumber(zone.number), place.value)
        if place.isGone { state.index.drop(partition: zone.number, at: entry.stamp) }
    }

    package static func selected(
        _ payload: Span<UInt8>, of entry: JournalEntry, by zones: SelectedZones
    ) throws(FormatError) -> SelectedEntry {
        let zone = try ZoneEntry(payload)
        return zones.contains(zone: zone.number) ? .whole : .leftOut(zone.number)
    }

    package static func validate(
        _ payload: Span<UInt8>, of entry: JournalEntry, _ numbers: inout NumberCheck
    ) throws(FormatError) { numbers.define(try ZoneEntry(payload)) }

    package static func describe(
        _ payload: Span<UInt8>, _ kind: EntryKind, _ schema: Schema
    ) throws(FormatError) -> EntryDescription {
        let zone = try ZoneEntry(payload)
        if zone.state == .leftOut { return EntryDescription(detail: "left out") }
        let source = zone.lineage.map { ", restored from the store \($0.sources[0].storeID)" }
        return EntryDescription(detail: "\(zone.name) \(zone.state)\(source ?? "")")
    }
}
