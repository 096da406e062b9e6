internal import FoundationEssentials
internal import StratusBytes
internal import StratusEngine
internal import StratusIndex
internal import StratusJournal

// What is said of devices: a commit each.

/// Registers a device, or gives it another token.
struct DeviceRegistration: Transaction {
    let user: UserID
    /// As the host gave it.
    let userName: String
    let device: PushDevice

    /// Of a user. Registrations at once may exceed it.
    static let limit = 256

    func draft(
        _ reading: StoreReading, _ context: PreparationContext, sink: PartSink
    ) throws(EngineError) -> Draft? {
        try reading.checkAccount(of: .user(user), in: .private(owner: user))
        var draft = Draft(reading)
        var numbers = NumberAssignment(reading, context)
        guard let number = try numbers.user(user, name: userName) else { return nil }
        draft.readSet.append(.device(reading.deviceKey(device.name, of: number)))
        let last = try reading.device(named: device.name, of: number)
        if let last, PushDevice(last) == device {
            draft.results = [.unchanged]
            return draft
        }
        if last == nil, try reading.devices(of: number).count >= Self.limit {
            throw .refused(.limitExceeded, "a user has at most \(Self.limit) devices")
        }
        try numbers.write(to: &draft)
        let entry = DeviceEntry(
            user: number, name: device.name,
            registration: DeviceEntry.Registration(
                environment: device.environment.stored, token: device.token,
                start: last?.start.rawValue ?? 0))
        try draft.buffer.add(.device, limit: context.payloadLimit) { entry.write(to: &$0) }
        return draft
    }
}

/// Removes a device.
struct DeviceRemoval: Transaction {
    let user: UserID
    let name: String
    /// Where the entry lies that registered it, unless there is another one by now; nil: any.
    var registration: JournalOffset?

    func draft(
        _ reading: StoreReading, _ context: PreparationContext, sink: PartSink
    ) throws(EngineError) -> Draft? {
        var draft = Draft(reading)
        guard let number = try reading.user(user) else {
            draft.readSet.append(.user(user.bits))
            draft.results = [.unchanged]
            return draft
        }
        draft.readSet.append(.device(reading.deviceKey(name, of: number)))
        guard let device = try reading.device(named: name, of: number),
            registration == nil || registration == device.offset
        else {
            draft.results = [.unchanged]
            return draft
        }
        let entry = DeviceEntry(user: number, name: device.name, registration: nil)
        try draft.buffer.add(.device, limit: context.payloadLimit) { entry.write(to: &$0) }
        return draft
    }
}

/// Says how far a device was sent its pushes, where it is still registered and was not sent more.
struct PushProgress: Transaction {
    let key: DeviceKey
    let position: PushPosition

    func draft(
        _ reading: StoreReading, _ context: PreparationContext, sink: PartSink
    ) throws(EngineError) -> Draft? {
        var draft = Draft(reading)
        draft.readSet.append(.device(key))
        draft.readSet.append(.pushPosition(key))
        guard let device = try reading.device(key), device.start == position.start else {
            draft.results = [.unchanged]
            return draft
        }
        let last = try reading.pushPosition(of: device, key)
        guard last.token.position < position.token.position else {
            draft.results = [.unchanged]
            return draft
        }
        let entry = PushPositionEntry(
            user: key.user, device: device.name, token: position.token.data)
        try draft.buffer.add(.pushPosition, limit: context.payloadLimit) { entry.write(to: &$0) }
        return draft
    }
}
