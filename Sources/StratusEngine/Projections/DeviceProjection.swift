package import StratusBytes
package import StratusIndex
package import StratusJournal

extension EntryKind {
    package static let device = EntryKind(rawValue: 59)
    package static let pushPosition = EntryKind(rawValue: 60)
}

extension KeySpace {
    /// The last entry of a device; `isDeleted` where that removed it. The row stays then, so that
    /// an index that is made anew has no earlier entry in its place.
    package static var devices: KeySpace { KeySpace(47, "devices", staysWithStore: true) }
    /// How far a device was sent its pushes. Of a removed device it stays as well.
    package static var pushPositions: KeySpace {
        KeySpace(48, "pushPositions", staysWithStore: true)
    }
}

/// What tells a device from all others.
package struct DeviceKey: Hashable, Sendable {
    package var user: UInt32
    /// The hash of the device's name.
    package var name: Hash128

    package init(user: UInt32, name: Hash128) {
        self.user = user
        self.name = name
    }

    /// Nil where a row of ``KeySpace/devices`` has another one.
    package init?(_ key: IndexKey) {
        guard key.count == 25 else { return nil }
        user = key.uint32(at: 5)
        name = Hash128(high: key.uint64(at: 9), low: key.uint64(at: 17))
    }
}

extension IndexKey {
    package static func device(_ device: DeviceKey) -> IndexKey {
        KeySpace.devices.key().appending(device.user).appending(device.name)
    }
    /// Those of a user.
    package static func devices(of user: UInt32) -> Range<IndexKey> {
        KeySpace.devices.key().appending(user).asPrefix
    }
    package static func pushPosition(_ device: DeviceKey) -> IndexKey {
        KeySpace.pushPositions.key().appending(device.user).appending(device.name)
    }
}

/// The devices that are sent pushes, and how far each of them was.
struct DeviceProjection: Projection {
    package static let entries = [
        EntryForm(.device, "device"), EntryForm(.pushPosition, "push position"),
    ]
    package static let keyspaces: [KeySpace] = [.devices, .pushPositions]

    package mutating func apply(
        _ entry: inout FoldedEntry, _ payload: Span<UInt8>, to state: inout FoldState
    ) throws(FormatError) {
        if entry.header.kind == .pushPosition {
            let position = try PushPositionEntry(payload)
            guard state.numbers.hasUser(position.user) else { throw .value("user number") }
            let key = DeviceKey(user: position.user, name: entry.hash(position.device))
            state.index.set(.pushPosition(key), entry.location())
            // But for its first one the position replaces another one of about the same length.
            state.noteDead(payload: payload.count)
            return
        }
        let device = try DeviceEntry(payload)
        guard state.numbers.hasUser(device.user) else { throw .value("user number") }
        try Self.check(device, at: entry.offset)
        let key = DeviceKey(user: device.user, name: entry.hash(device.name))
        state.index.set(.device(key), entry.location(isDeleted: device.registration == nil))
        // Wakes those who wait for devices, and those who wait for the user's notifications.
        state.changes?.note(.devices)
        state.changes?.note(.database(device.user))
    }

    /// That a registration began before the entry that goes on with it.
    private static func check(
        _ device: DeviceEntry, at offset: JournalOffset
    ) throws(FormatError) {
        if let registration = device.registration, registration.start >= offset.rawValue {
            throw .value("start")
        }
    }

    package static func validate(
        _ payload: Span<UInt8>, of entry: JournalEntry, _ numbers: inout NumberCheck
    ) throws(FormatError) {
        if entry.kind == .pushPosition {
            numbers.useUser(try PushPositionEntry(payload).user)
            return
        }
        let device = try DeviceEntry(payload)
        numbers.useUser(device.user)
        try check(device, at: entry.offset)
    }

    package static func describe(
        _ payload: Span<UInt8>, _ kind: EntryKind, _ schema: Schema
    ) throws(FormatError) -> EntryDescription {
        if kind == .pushPosition {
            let position = try PushPositionEntry(payload)
            return EntryDescription(detail: "\(position.device) of user \(position.user)")
        }
        let device = try DeviceEntry(payload)
        let state = device.registration.map { "\($0.environment), \($0.token.count) bytes" }
        return EntryDescription(
            detail: "\(device.name) of user \(device.user), \(state ?? "removed")")
    }
}
