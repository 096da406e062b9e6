internal import StratusEngine
internal import StratusJournal

// The devices of users, and what they are sent: `Formats/Notification.md`, "Pushes".

extension Container {
    /// Registers a device of a user for pushes, or gives it another token or environment. Where all
    /// is as it was, nothing is written.
    ///
    /// A device is sent what is committed behind its registration. With another token it goes on
    /// where it was; once it was removed, registering it begins anew.
    ///
    /// - Parameter user: named as in ``publicDatabase(as:device:)``.
    /// - Throws: ``StoreError`` with `limitExceeded` where the user has 256 devices already,
    ///   `invalidArguments` for an empty name of a user, for a device
    ///   whose name has not 1 to 255 bytes or whose token has not 1 to 4,096, and with what
    ///   ``AccountStatus`` says where the account of the user cannot be used.
    public nonisolated(nonsending) func registerDevice(
        _ device: PushDevice, for user: String
    ) async throws(StoreError) {
        try await answer { () async throws(EngineError) in
            let id = try namedUser(user)
            try limits?.admit(id)
            try device.check()
            _ = try await engine().commit(
                DeviceRegistration(user: id, userName: user, device: device))
        }
    }

    /// Ends the pushes of a device. It is no error that there is none, or that the account of the
    /// user cannot be used.
    ///
    /// - Parameter user: named as in ``publicDatabase(as:device:)``.
    /// - Throws: ``StoreError`` with `invalidArguments` for an empty name of a user.
    public nonisolated(nonsending) func removeDevice(
        named name: String, for user: String
    ) async throws(StoreError) {
        try await answer { () async throws(EngineError) in
            let id = try namedUser(user)
            try limits?.admit(id)
            _ = try await engine().commit(DeviceRemoval(user: id, name: name))
        }
    }

    /// The devices of a user that are registered, in the order of the bytes of their names.
    ///
    /// A copy of a store has no devices, whatever the original has: each registers anew.
    ///
    /// - Parameter user: named as in ``publicDatabase(as:device:)``.
    /// - Throws: ``StoreError`` with `invalidArguments` for an empty name.
    public nonisolated(nonsending) func devices(
        for user: String
    ) async throws(StoreError) -> [PushDevice] {
        try await deviceStates(for: user).map { $0.device }
    }

    /// The same, with how far each was sent its pushes.
    package nonisolated(nonsending) func deviceStates(
        for user: String
    ) async throws(StoreError) -> [PushDeviceState] {
        try await answer { () async throws(EngineError) -> [PushDeviceState] in
            let id = try namedUser(user)
            return try await read { reading throws(EngineError) -> [PushDeviceState] in
                guard let number = try reading.user(id) else { return [] }
                var states: [PushDeviceState] = []
                for device in try reading.devices(of: number) {
                    let position = try reading.pushPosition(
                        of: device, reading.deviceKey(device.name, of: number))
                    states.append(
                        PushDeviceState(
                            device: PushDevice(device),
                            position: position.token.position.offset.rawValue))
                }
                return states
            }
        }
    }

    /// Sends all registered devices their pushes, through `sender`, until the task is cancelled or
    /// the container closed. A host runs it once, beside its other work.
    ///
    /// Each device is sent its notifications in their order, one at a time: of those that wait the
    /// latest of each subscription, and none of what the device itself changed alone. How far it was
    /// sent them is committed as its position, so that the next run continues there. A notification is
    /// sent at least once: once more where the position behind it was not committed. No commit of
    /// others waits for a push.
    ///
    /// A device that is registered meanwhile is sent its pushes at once, one that is removed none.
    /// While the account of a user cannot be used, the user's devices are sent nothing.
    ///
    /// It returns once `sender` has answered all that it was asked, also when it is cancelled.
    ///
    /// - Throws: ``StoreError`` with `permissionFailure` where the store was opened for reading
    ///   only, and where the store cannot be read or written: then no device is sent any more.
    ///   Where entries of one device or its user are damaged, the others go on, and the damage is
    ///   thrown at the end.
    public nonisolated(nonsending) func deliverPushes(
        through sender: some PushSender
    ) async throws(StoreError) {
        try await answer { () async throws(EngineError) in
            let delivery = PushDelivery(container: self, engine: try engine(), sender: sender)
            try await delivery.run()
        }
    }
}
