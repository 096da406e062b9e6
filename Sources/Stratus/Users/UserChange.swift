internal import StratusBytes
internal import StratusEngine
internal import StratusIndex
internal import StratusJournal

// What the host says of a user: a commit each, which makes the user known.

/// Replaces the profile of a user.
struct ProfileChange: Transaction {
    let user: UserID
    /// As the host gave it.
    let userName: String
    let profile: UserProfile

    func draft(
        _ reading: StoreReading, _ context: PreparationContext, sink: PartSink
    ) throws(EngineError) -> Draft? {
        var draft = Draft(reading)
        var numbers = NumberAssignment(reading, context)
        guard let number = try numbers.user(user, name: userName) else { return nil }
        draft.readSet.append(.identity(number))
        let last = try reading.identity(of: number)
        let before = Set(last?.formerAddresses ?? [])
        let wanted = try IdentityEntry(profile, of: number, formerAddresses: before)
        if let last, last.isSame(as: wanted) {
            draft.results = [.unchanged]
            return draft
        }
        var given = before.union((last?.addresses ?? []).map { reading.hash(of: $0.key) })
        for address in wanted.addresses {
            let hash = reading.hash(of: address.key)
            draft.readSet.append(.address(hash))
            if let holder = try reading.user(ofAddress: hash), holder != number {
                throw .refused(
                    .constraintViolation, "another user has the address '\(address.text)'")
            }
            given.remove(hash)
        }
        // All that was ever given up, but for what another user has taken: whichever of the earlier
        // entries are kept, the last ones of all users make the same rows.
        var former: Set<Hash128> = []
        for hash in given {
            draft.readSet.append(.address(hash))
            let holder = try reading.user(ofAddress: hash)
            if holder == nil || holder == number { former.insert(hash) }
        }
        guard former.count <= IdentityEntry.formerAddressLimit else {
            throw .refused(
                .limitExceeded,
                "a user gives up at most \(IdentityEntry.formerAddressLimit) addresses over time")
        }
        let entry = try IdentityEntry(profile, of: number, formerAddresses: former)
        try numbers.write(to: &draft)
        try draft.buffer.add(.identity, limit: context.payloadLimit) { entry.write(to: &$0) }
        return draft
    }
}

/// Replaces the roles of a user.
struct RolesChange: Transaction {
    let user: UserID
    /// As the host gave it.
    let userName: String
    let roles: Set<String>

    func draft(
        _ reading: StoreReading, _ context: PreparationContext, sink: PartSink
    ) throws(EngineError) -> Draft? {
        var draft = Draft(reading)
        draft.readSet.append(KeySpace.schemaText.key())
        let declared = try reading.grants().roles
        if let unknown = roles.subtracting(declared).sorted().first {
            throw .refused(
                .invalidArguments,
                "expected a role that the schema declares with CREATE ROLE, found '\(unknown)'")
        }
        guard roles.count <= RolesEntry.limit else {
            throw .refused(.limitExceeded, "a user has at most \(RolesEntry.limit) roles")
        }
        if try reading.roles(of: user) == roles {
            draft.results = [.unchanged]
            return draft
        }
        var numbers = NumberAssignment(reading, context)
        guard let number = try numbers.user(user, name: userName) else { return nil }
        draft.readSet.append(.roles(number))
        try numbers.write(to: &draft)
        let entry = RolesEntry(user: number, names: roles)
        try draft.buffer.add(.roles, limit: context.payloadLimit) { entry.write(to: &$0) }
        return draft
    }
}
