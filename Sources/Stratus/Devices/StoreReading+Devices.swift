internal import FoundationEssentials
internal import StratusBytes
internal import StratusEngine
internal import StratusIndex
internal import StratusJournal

/// A device that is registered, as the store keeps it.
struct StoredDevice: Sendable {
    /// Where its entry lies.
    let offset: JournalOffset
    let name: String
    let registration: DeviceEntry.Registration

    /// Where its registration began: what lies before is not sent to it.
    var start: JournalOffset {
        registration.start == 0 ? offset : JournalOffset(rawValue: registration.start)
    }
}

/// How far a device was sent its pushes.
struct PushPosition: Sendable {
    /// Where the registration began that it is of.
    var start: JournalOffset
    var token: NotificationToken
    /// Whether others waited before it, or may have, of which no push said so yet. Known as long as the
    /// task of the device is there: the position that the store has lies before them.
    var hasMore = false
}

// What the store says of devices.
extension StoreReading {
    /// Where this store began to write. What lies before it, another store wrote, of which this one
    /// was salvaged: its devices are no devices of this store, which would send everything once more.
    private var ownStart: JournalOffset {
        identity.ancestors.last { $0.lineage != identity.lineage }?.end ?? .zero
    }

    func deviceKey(_ name: String, of user: UInt32) -> DeviceKey {
        DeviceKey(user: user, name: hash(name))
    }

    /// The device of a key; nil where none is registered.
    func device(_ key: DeviceKey) throws(EngineError) -> StoredDevice? {
        guard let value = try value(.device(key)) else { return nil }
        return try device(at: EntryLocation(value), of: key)
    }

    /// The device of a user that has this name.
    func device(
        named name: String, of user: UInt32
    ) throws(EngineError) -> StoredDevice? {
        guard let device = try device(deviceKey(name, of: user)) else { return nil }
        // The index knows only a hash of it.
        guard device.name.utf8.elementsEqual(name.utf8) else { throw .refused(.hashCollision) }
        return device
    }

    private func device(
        at place: EntryLocation, of key: DeviceKey
    ) throws(EngineError) -> StoredDevice? {
        guard !place.isDeleted, place.offset >= ownStart else { return nil }
        let entry = try entry(place)
        guard entry.kind == .device, let device = entry.withPayload({ try? DeviceEntry($0) }),
            let registration = device.registration, device.user == key.user
        else { throw .damaged(entry) }
        return StoredDevice(
            offset: place.offset, name: device.name, registration: registration)
    }

    /// The devices of a user, in the order of the bytes of their names.
    func devices(of user: UInt32) throws(EngineError) -> [StoredDevice] {
        var found: [StoredDevice] = []
        try scan(IndexKey.devices(of: user)) { key, value throws(EngineError) in
            let place = EntryLocation(value)
            guard let key = DeviceKey(key) else { throw damaged(at: place.offset) }
            if let device = try device(at: place, of: key) { found.append(device) }
            return true
        }
        return found.sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
    }

    /// The keys of all devices that are registered, and where their entries lie.
    func deviceKeys() throws(EngineError) -> [(key: DeviceKey, offset: JournalOffset)] {
        var found: [(key: DeviceKey, offset: JournalOffset)] = []
        let first = ownStart
        try scan(KeySpace.devices.range()) { key, value throws(EngineError) in
            let place = EntryLocation(value)
            guard let key = DeviceKey(key) else { throw damaged(at: place.offset) }
            if !place.isDeleted, place.offset >= first { found.append((key, place.offset)) }
            return true
        }
        return found
    }

    /// How far a device was sent its pushes: since its registration began where it was sent none.
    func pushPosition(
        of device: StoredDevice, _ key: DeviceKey
    ) throws(EngineError) -> PushPosition {
        // One from before is of a registration that has ended.
        guard let value = try value(.pushPosition(key)),
            EntryLocation(value).offset > device.start
        else { return firstPushPosition(of: device, key) }
        let entry = try entry(EntryLocation(value))
        guard entry.kind == .pushPosition,
            let position = entry.withPayload({ try? PushPositionEntry($0) }),
            position.user == key.user,
            let token = try? NotificationToken(data: Data(position.token))
        else { throw .damaged(entry) }
        return PushPosition(start: device.start, token: token)
    }

    /// That of a device that was sent nothing yet.
    func firstPushPosition(of device: StoredDevice, _ key: DeviceKey) -> PushPosition {
        // Nothing is too old for a device that waits for all there is.
        PushPosition(
            start: device.start,
            token: NotificationToken(
                user: key.user, at: identity.version(at: device.start), time: .max,
                head: identity.version(at: device.start), shared: nil, of: identity))
    }
}
