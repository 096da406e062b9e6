package import Stratus

extension RestoredRecords: JSONBody {
    enum Key: String {
        case added, replaced, deleted, kept, unchanged, proved, history, access, failures
    }

    init(_ keys: JSONKeys<Key>) throws(Mismatch) {
        self.init()
        added = try keys.required(.added)
        replaced = try keys.required(.replaced)
        deleted = try keys.required(.deleted)
        kept = try keys.required(.kept)
        unchangedCount = try keys.required(.unchanged)
        isProved = try keys.required(.proved)
        keepsHistory = try keys.required(.history)
        access = try keys.required(.access)
        for failure in try keys.required(.failures, as: [SharingFailure].self) {
            sharingFailures[failure.share] = StoreError(failure.code, failure.reason)
        }
    }

    /// For answers and output: the names of records in their order.
    package var json: JSONObject {
        [
            "added": .strings(added.sorted()), "replaced": .strings(replaced.sorted()),
            "deleted": .strings(deleted.sorted()), "kept": .strings(kept.sorted()),
            "unchanged": .integer(unchangedCount), "proved": .boolean(isProved),
            "history": .boolean(keepsHistory), "access": .array(access.map { .object($0.json) }),
            "failures": .array(failures.map { .object($0.json) }),
        ]
    }

    private var failures: [SharingFailure] {
        sharingFailures.map { SharingFailure($0, $1) }.sorted {
            $0.share.recordName < $1.share.recordName
        }
    }

    /// What an answer to `store/restore` or `store/revert` says.
    ///
    /// - Throws: ``StoreError`` with `invalidArguments` where it says something else.
    package init(answer: JSONObject) throws(StoreError) {
        do throws(Mismatch) {
            try self.init(JSONKeys(answer))
        } catch {
            throw StoreError(error)
        }
    }
}

/// Why a share was not made again.
private struct SharingFailure: JSONBody {
    enum Key: String { case zone, share, code, reason }

    let share: Record.ID
    let code: StoreError.Code
    let reason: String

    init(_ share: Record.ID, _ error: StoreError) {
        self.share = share
        (code, reason) = (error.code, error.reason)
    }

    init(_ keys: JSONKeys<Key>) throws(Mismatch) {
        share = Record.ID(
            recordName: try keys.required(.share),
            zoneID: RecordZone.ID(zoneName: try keys.required(.zone)))
        code = StoreError.Code(rawValue: try keys.required(.code))
        reason = try keys.required(.reason)
    }

    var json: JSONObject {
        [
            "zone": .string(share.zoneID.zoneName), "share": .string(share.recordName),
            "code": .integer(code.rawValue), "reason": .string(reason),
        ]
    }
}

extension RestoredAccess: JSONBody {
    enum Key: String { case user, zone, share, publicPermission, participants, roles }

    init(_ keys: JSONKeys<Key>) throws(Mismatch) {
        self.init(user: try keys.required(.user))
        roles = try keys.optional(.roles) ?? []
        guard let name = try keys.optional(.share, as: String.self) else { return }
        share = Record.ID(
            recordName: name, zoneID: RecordZone.ID(zoneName: try keys.required(.zone)))
        publicPermission =
            try keys.required(.publicPermission, as: PermissionWord.self).permission
        participants = try keys.required(.participants)
    }

    /// For answers and output.
    package var json: JSONObject {
        guard let share else { return ["user": .string(user), "roles": .strings(roles)] }
        return [
            "user": .string(user), "zone": .string(share.zoneID.zoneName),
            "share": .string(share.recordName),
            "publicPermission": .string(publicPermission.word),
            "participants": .strings(participants),
        ]
    }
}

extension RestoreMode: JSONWord {}
