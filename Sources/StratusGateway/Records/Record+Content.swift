package import Stratus

extension Record {
    /// The assets of all fields, also those in lists.
    package var assets: [Asset] { allKeys.flatMap { self[$0]?.assets ?? [] } }

    /// The same type and fields, as a record that was never saved.
    package func copied(as id: ID) -> Record {
        var copy = Record(recordType: recordType, recordID: id)
        copy.take(from: self)
        return copy
    }

    /// All values of another record, with their encryption flags.
    package mutating func take(from other: Record) {
        for key in other.allKeys { self[key] = other[key] }
        let encrypted = other.encryptedValues
        for key in encrypted.allKeys { encryptedValues[key] = encrypted[key] }
    }
}
