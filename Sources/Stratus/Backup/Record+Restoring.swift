internal import FoundationEssentials

extension Record {
    /// `other` with the fields and the parent of this record; its edits are what differs.
    func copied(over other: Record) -> Record {
        var copy = other
        let zone = other.recordID.zoneID
        for key in allKeys {
            if let value = self[key]?.inZone(zone) { copy.set(key, to: value, as: self) }
        }
        for key in other.allKeys where self[key] == nil { copy[key] = nil }
        let above = parent.map {
            Reference(
                recordID: ID(recordName: $0.recordID.recordName, zoneID: zone), action: $0.action)
        }
        if copy.parent?.recordID.recordName != above?.recordID.recordName { copy.parent = above }
        return copy
    }

    /// `other` with the values that some fields have here, as far as `mode` lets it; and whether one has
    /// another value that stays.
    func copied(
        _ fields: [String], over other: Record, _ mode: RestoreMode
    ) throws(StoreError) -> (copy: Record, staysBehind: Bool) {
        var copy = other
        var staysBehind = false
        for key in fields {
            let own = other[key]
            guard let value = self[key]?.inZone(other.recordID.zoneID) else {
                if own == nil {
                    throw StoreError(.unknownItem, "the record had and has no field \(key)")
                        .with(other.recordID)
                }
                if mode == .mirror { copy[key] = nil } else { staysBehind = true }
                continue
            }
            let stays = mode == .skip || mode == .keep && other.isNewer(than: self)
            if own == nil || !stays {
                copy.set(key, to: value, as: self)
            } else if own != value {
                staysBehind = true
            }
        }
        return (copy, staysBehind)
    }

    /// Gives a field a value, encrypted if that of `other` is.
    private mutating func set(_ key: String, to value: RecordValue, as other: Record) {
        if self[key] == value { return }
        if other.isEncrypted(key) { encryptedValues[key] = value } else { self[key] = value }
    }

    /// That a record to be restored over this one is of the same type.
    func checkType(of record: Record) throws(StoreError) {
        guard recordType == record.recordType else {
            throw StoreError(
                .invalidArguments, "the record was of the type \(record.recordType) and is not now"
            ).with(recordID)
        }
    }

    func isNewer(than other: Record) -> Bool {
        guard let own = modificationDate, let other = other.modificationDate else { return true }
        return own > other
    }
}

extension RecordValue {
    /// The same, with references into another zone.
    fileprivate func inZone(_ zone: RecordZone.ID) -> RecordValue {
        switch self {
        case .reference(let reference):
            .reference(
                Reference(
                    recordID: Record.ID(
                        recordName: reference.recordID.recordName, zoneID: zone),
                    action: reference.action))
        case .list(let values): .list(values.map { $0.inZone(zone) })
        default: self
        }
    }
}
